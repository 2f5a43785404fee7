# SPDX-License-Identifier: GPL-2.0
"""READs and WRITEs of machine b's NVMe disk through a bridge by machine a: the machines, and what is counted

QEMU reports each address that the disk gets for data, so it is known which bytes the disk has written
to b's memory, or read from there. nvme_bypass.py and bypass_demo.py use this.
"""

import hashlib
import os
import random
import re
import subprocess
import time

import bed
import ntbsim
import nvme_bed
import pair as vm
from ntb_topologies import find
from scenario import PROMISE, check

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
        self.nvme = nvme_bed.Nvme(pair, "ntb")
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
        self.pair.run("b", nvme_bed.TARGET.format(**self.nvme.words(disk="/dev/nvme0n1")))
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
    nvme_bed.need(progress, logs)
    devices = bed.Devices(disk, ntbsim.Ntbsim(
        bar2=bed.WINDOW, bar4=bed.MEMORY, topology=topology,
        others=[{"driver": "nvme", "drive": "disk", "serial": "bypass", "cmb_size_mb": CMB_MIB}]))
    return vm.Pair(series, logs, ko=[ko, vm.script("stock-modules", series)],
                   programs=[tool, "/usr/sbin/nvme", hugeio()],
                   modules=["ioatdma", "rdma_rxe", "rdma_cm", "nvme", "nvme_fabrics", "nvmet"], append="rootfstype=ramfs",
                   devices=devices, progress=progress)
