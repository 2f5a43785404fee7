#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""nvme_bypass.py newest|6.12...: a disk writes the data of READs through a bridge into the host's memory

Machine b has an NVMe disk, an NTB and a DMA engine, and serves the disk over kfi_ntb to machine a,
whose flat window shows all of its memory. QEMU reports each address that the disk gets for data:
none may be in b's memory. Where the kernel does not let the disk write to the bridge, all of them
are there, and the log says so. 6.12 can't tell, so the administrator has to name the disk. The data
is compared. The last line is "N passed, N failed".
"""

import argparse
import hashlib
import os
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from ntbsim import find              # noqa: E402
from scenario import PROMISE, Verdict, check  # noqa: E402
import bed                           # noqa: E402
import ntbsim                        # noqa: E402
import nvme                            # noqa: E402
import pair as vm                    # noqa: E402

DISK_MIB = 4
# Kernels without PCI_P2PDMA: parameter of kfi_ntb, parameter of nvmet-kfi that names the disk, and the topologies in
# which they work
UNCHECKED = {"6.12": ("places_unchecked=1", "bypass_disks", ("root",))}
HUGE_PAGES = 16
CMB_MIB = 4
# Data of READs is read into memory of disks.
STAGED = """set -e
cd {config}/subsystems/{nqn}/namespaces/1
echo 0 >enable
echo 1 >p2pmem
echo 1 >enable
"""
EVENTS = ("pci_nvme_read", "pci_nvme_write", "pci_nvme_io_cmd", "pci_nvme_admin_cmd", "pci_nvme_map_addr")


class Disk:
    """The NVMe disk of machine b, and the log of its addresses. Ntbsim puts a disk into both machines."""

    def __init__(self, seed):
        self.data = random.Random(seed).randbytes(DISK_MIB << 20)
        self.path = self.trace = None
        self.seen = 0

    def start(self, run_dir, logs):
        self.path = os.path.join(run_dir, "nvme")
        self.trace = os.path.join(logs, "trace")
        with open(self.path, "wb") as file:
            file.write(self.data)

    def stop(self):
        """Its directory is removed with it."""

    def stored(self):
        """Find out what it has after WRITEs."""
        with open(self.path, "rb") as file:
            self.data = file.read()

    def arguments(self, name, _memory):
        if name != "b":
            return ["-drive", "driver=null-co,size=1M,if=none,id=disk"]
        trace = [word for event in EVENTS for word in ("-trace", event)]
        return ["-drive", f"file={self.path},format=raw,if=none,id=disk", "-D", self.trace, *trace]

    def addresses(self, event="pci_nvme_read"):
        """Return [(address, bytes)] of the data of READs, or of WRITEs, since the last call."""
        with open(self.trace, encoding="utf-8") as file:
            file.seek(self.seen)
            text = file.read()
            self.seen = file.tell()
        found, wanted = [], False
        for line in text.splitlines():
            if "pci_nvme_map_addr" in line:
                at, size = re.search(r"addr 0x([0-9a-f]+) len (\d+)", line).groups()
                if wanted:
                    found.append((int(at, 16), int(size)))
            else:
                wanted = event in line
        return found


class Bypass:
    """One pair: b serves its disk to a over kfi_ntb"""

    def __init__(self, pair, disk):
        self.pair = pair
        self.disk = disk
        self.unchecked, self.named, _ = UNCHECKED.get(pair.series, ("", "bypass", ()))
        self.nvme = nvme.Nvme(pair, "ntb")
        self.window = self.cmb = None

    def bar(self, what, number):
        """Return the first and the last address of a BAR of a device of b."""
        words = self.pair.run("b", f"sed -n {number + 1}p {find(self.pair, 'b', what)}/resource").text.split()
        return int(words[0], 16), int(words[1], 16)

    def load(self, target="places=1", host="flat=1", bypass=True, staged=False):
        """Load modules with these parameters of kfi_ntb, connect. Return the device of the host."""
        named = f"{self.named}=nvme0n1" if bypass else ""
        self.pair.run("b", "modprobe nvme")
        options = f"{PROMISE['ntb'][0]} {self.unchecked}"
        self.pair.run("b", f"{bed.BELOW['ntb']} && modprobe kfi_ntb {options} {target} && modprobe nvmet && "
                      f"modprobe nvmet-kfi trtype=254 {named}")
        self.nvme.options = f"{options} {host}"
        self.nvme.load_host()
        self.window = self.bar("ntb", 4)
        self.cmb = self.bar("disk", 2)
        self.pair.run("b", nvme.TARGET.format(**self.nvme.words(disk="/dev/nvme0n1")))
        if staged:
            self.pair.run("b", STAGED.format(**self.nvme.words()))
        self.nvme.port()
        self.pair.run("a", f"echo {HUGE_PAGES} >/proc/sys/vm/nr_hugepages")
        device = self.nvme.connect(nr_io_queues=1)
        self.settle()
        return device

    def unload(self):
        self.nvme.disconnect()
        self.nvme.drop_target()
        self.pair.run("b", "rmmod nvmet_kfi kfi_ntb", 60)
        self.pair.run("a", "rmmod nvme_kfi kfi_ntb", 60)

    def settle(self):
        """Wait until the host has looked for partitions."""
        self.disk.addresses()
        for _ in range(20):
            time.sleep(1)
            if not self.disk.addresses():
                return
        raise vm.TimedOut("the host does not stop reading")

    def reads(self, device, size, depth, count):
        """Read at a, compare. Return the bytes that the disk has written to the window, to its own memory, and elsewhere."""
        self.disk.addresses()
        self.pair.run("a", f"hugeio read {device} {size} {depth} {count} /tmp/read", 120)
        text = self.pair.run("a", "sha256sum /tmp/read && rm /tmp/read").text
        check(text.split()[0] == hashlib.sha256(self.disk.data[:size * count]).hexdigest(),
              f"{count} reads of {size} bytes, {depth} at a time: other data")
        return self.by_way(self.disk.addresses())

    def writes(self, device, size, depth, count):
        """Write at a, compare. Return the bytes that the disk has read from the window, its own memory, and elsewhere."""
        self.pair.run("a", f"dd if=/dev/urandom of=/tmp/write bs={size} count={count} 2>/dev/null")
        self.disk.addresses()
        self.pair.run("a", f"hugeio write {device} {size} {depth} {count} /tmp/write", 120)
        found = self.by_way(self.disk.addresses("pci_nvme_write"))
        text = self.pair.run("a", "sha256sum /tmp/write && rm /tmp/write").text
        self.disk.stored()
        check(text.split()[0] == hashlib.sha256(self.disk.data[:size * count]).hexdigest(),
              f"{count} writes of {size} bytes, {depth} at a time: other data")
        return found

    def by_way(self, addresses):
        """Return the bytes at addresses of the window, of the disk's own memory, and at others."""
        found = [0, 0, 0]
        for at, length in addresses:
            where = [first <= at <= last for first, last in (self.window, self.cmb)] + [True]
            found[where.index(True)] += length
        return tuple(found)

    def count(self, name):
        """Return a number that the target shows."""
        return int(re.search(rf"^{name} (\d+)$", self.shown(), re.M).group(1))

    def shown(self):
        """Return what the target shows of its disks."""
        return self.pair.run("b", "cat /sys/kernel/debug/nvmet_kfi/places").text


def hugeio():
    out = os.path.join(vm.BUILD, "nvme-tools")
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, "hugeio")
    subprocess.run(["gcc", "-static", "-O2", "-Wall", "-Werror", "-pthread", "-o", path,
                    os.path.join(bed.TOP, "tests", "nvme", "hugeio.c")], check=True)
    return path


def machines(series, topology, disk, logs, progress, *make_args):
    """Return a pair with a disk in b, a bridge and engines, and what they need; @make_args for the build of the modules."""
    os.makedirs(logs, exist_ok=True)
    ko, tool = bed.build(series, progress, logs, *make_args)
    nvme.need(progress, logs)
    devices = bed.Devices(disk, ntbsim.Ntbsim(
        bar2=bed.WINDOW, bar4=bed.MEMORY, topology=topology,
        others=[{"driver": "nvme", "drive": "disk", "serial": "bypass", "cmb_size_mb": CMB_MIB}]))
    return vm.Pair(series, logs, ko=[ko, vm.script("stock-modules", series)],
                   programs=[tool, "/usr/sbin/nvme", hugeio()],
                   modules=["ioatdma", "rdma_rxe", "rdma_cm", "nvme", "nvme_fabrics", "nvmet"], append="rootfstype=ramfs",
                   devices=devices, progress=progress)


# The kernel lets the disk reach the bridge in these topologies of ntbsim.py, or not.
REACHES = {"switch": True, "zen": True, "root": False}
# Bytes of a read, reads at a time, number of reads
LOADS = ((4096, 1, 64), (4096, 16, 256), (65536, 16, 32), (1 << 20, 1, 2), (1 << 20, 16, 4))
# The same for data in the disk's memory, which has room for half of its 4 MiB besides the disk's queues
STAGED_LOADS = ((8192, 4, 32), (65536, 1, 8), (65536, 8, 32), (1 << 20, 1, 2))
# Answers by the engine take another way than what the disk writes, so a missing fence shows.
TARGET = "places=1 direct=0"
BUDGET = 300


class Bed(Bypass):
    """One pair in one topology"""

    def __init__(self, pair, disk, topology):
        super().__init__(pair, disk)
        self.reaches = REACHES[topology] or bool(self.unchecked)

    def all_by(self, device, size, depth, count, window):
        """Read: the disk writes all to the window, or nothing."""
        self.went(self.reads(device, size, depth, count), 0 if window else 2, size, depth, count)

    @staticmethod
    def went(found, way, size, depth, count):
        """Check that all bytes went one way, a position in what reads() returns."""
        want = tuple(size * count if n == way else 0 for n in range(3))
        check(found == want, f"{count} reads of {size} bytes, {depth} at a time: (window, CMB, memory) {found}, not {want}")


def straight(s):
    """reads of the host: no byte of their data in the memory of the target, or all if the kernel refuses; all of writes"""
    device = s.load(TARGET)
    for size, depth, count in LOADS:
        s.all_by(device, size, depth, count, s.reaches)
    text = s.shown()
    name = os.path.basename(find(s.pair, "b", "ntb"))
    check(f"nvme0n1 over {name}: {'yes' if s.reaches else 'no'}" in text, text)
    for size, depth, count in LOADS:
        found = s.writes(device, size, depth, count)
        check(found == (0, 0, size * count),
              f"{count} writes of {size} bytes, {depth} at a time: (window, CMB, memory) {found}")
    s.all_by(device, 4096, 16, 256, s.reaches)
    s.unload()
    # The kernel keeps the pages of the window: a module that is loaded again finds them.
    s.pair.run("b", f"modprobe kfi_ntb places=1 {s.unchecked} && rmmod kfi_ntb && rmmod ntb_hw_intel", 60)


def both(s):
    """both machines have a flat window and pages of the other's: the pages are no memory that it has to show"""
    device = s.load(f"{TARGET} flat=1", "flat=1 places=1")
    s.all_by(device, 65536, 16, 32, s.reaches)
    s.unload()


def hidden(s):
    """a host without a flat window: all goes through memory, and the host is not asked for a place"""
    device = s.load(TARGET, "")
    before = s.pair.devices.counters("ntb0.b")["doorbells"]
    s.all_by(device, 4096, 1, 64, False)
    # one for each command, and a few; an answer for a place would be as many more
    bells = s.pair.devices.counters("ntb0.b")["doorbells"] - before
    check(bells < 112, f"{bells} doorbells for 64 reads")
    s.unload()


def staged(s):
    """the disk may not write to the window: it writes to its own memory, and the engine reads that, or RAM if the kernel refuses"""
    device = s.load("direct=0", bypass=False, staged=True)
    first = s.count("staged")
    for size, depth, count in STAGED_LOADS:
        before = s.pair.devices.counters("dma.b")["foreign_bytes"]
        s.went(s.reads(device, size, depth, count), 1 if s.reaches else 2, size, depth, count)
        engine = s.pair.devices.counters("dma.b")["foreign_bytes"] - before
        check(engine == (size * count if s.reaches else 0), f"the engine has read {engine} bytes of the disk's memory")
    more = s.count("staged") - first		# the host may merge reads
    check((more > 0) == s.reaches, f"{more} reads were staged")
    s.unload()


def refused(s):
    """posts and registrations with a page of the disk's memory: only sends of ntb, whose engine reads it, are accepted"""
    for provider, accepts in (("loop", 0), ("sockets", 0), ("verbs", 0), ("ntb", 1)):
        below = "modprobe nvme" if provider == "loop" else bed.BELOW[provider]
        text = s.pair.run("b", f"modprobe nvme && {below} && modprobe kfi_{provider} && "
                          f"insmod $(find /lib/modules -name kfi_device_pages.ko) provider={provider} accepts={accepts} && "
                          f"rmmod kfi_device_pages kfi_{provider}; code=$?; dmesg | grep device_pages | tail -3; exit $code", 60,
                          check=False)
        check(text.status == 0, f"{provider}: {text.text}")


CASES = (straight, both, hidden)
# Only kernels with PCI_P2PDMA use the memory of disks.
CHECKED = (staged, refused)


def run_series(series, verdict, wanted, seed):
    for topology in UNCHECKED[series][2] if series in UNCHECKED else REACHES:
        if wanted not in topology:
            continue
        disk = Disk(seed)
        logs = os.path.join(vm.BUILD, f"vm-{series}", "nvme-bypass", topology)
        with machines(series, topology, disk, logs, verdict.progress, "KFI_TESTS=y") as pair:
            s = Bed(pair, disk, topology)
            for case in CASES + (() if s.unchecked else CHECKED):
                verdict.case(f"{series} {topology}", case, BUDGET, s)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series", nargs="+", help="newest, 6.12")
    parser.add_argument("-k", dest="wanted", default="", metavar="WORD", help="only topologies with this word in their name")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="of the disk's data")
    opts = parser.parse_args()
    print(f"seed {opts.seed}", flush=True)
    verdict = Verdict(vm.Progress())
    return bed.closing(verdict, opts.series, lambda series: run_series(series, verdict, opts.wanted, opts.seed))


if __name__ == "__main__":
    sys.exit(main())
