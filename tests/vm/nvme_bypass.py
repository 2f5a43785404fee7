#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""nvme_bypass.py 7.2|6.12...: a disk writes the data of READs through a bridge into the host's memory

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
import bed                               # noqa: E402
import ntbsim                            # noqa: E402
import nvme_bed                          # noqa: E402
import pair as vm                        # noqa: E402
from ntb_topologies import IDS, find     # noqa: E402
from scenario import PROMISE, Verdict, check  # noqa: E402

DISK_MIB = 4
# The kernel lets the disk reach the bridge in these topologies of ntbsim.py, or not.
REACHES = {"switch": True, "zen": True, "root": False}
# Kernels without PCI_P2PDMA: parameters of kfi_ntb and nvmet-kfi, and the topologies in which they work
UNCHECKED = {"6.12": ("places_unchecked=1", "bypass_disks=nvme0n1", ("root",))}
# Bytes of a read, reads at a time, number of reads
LOADS = ((4096, 1, 64), (4096, 16, 256), (65536, 16, 32), (1 << 20, 1, 2), (1 << 20, 16, 4))
HUGE_PAGES = 16
EVENTS = ("pci_nvme_read", "pci_nvme_io_cmd", "pci_nvme_admin_cmd", "pci_nvme_map_addr")
BUDGET = 300


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

    def arguments(self, name, _memory):
        if name != "b":
            return ["-drive", "driver=null-co,size=1M,if=none,id=disk"]
        trace = [word for event in EVENTS for word in ("-trace", event)]
        return ["-drive", f"file={self.path},format=raw,if=none,id=disk", "-D", self.trace, *trace]

    def addresses(self):
        """Return [(address, bytes)] of the data of READs since the last call."""
        with open(self.trace, encoding="utf-8") as file:
            file.seek(self.seen)
            text = file.read()
            self.seen = file.tell()
        found, reading = [], False
        for line in text.splitlines():
            if "pci_nvme_map_addr" in line:
                at, size = re.search(r"addr 0x([0-9a-f]+) len (\d+)", line).groups()
                if reading:
                    found.append((int(at, 16), int(size)))
            else:
                reading = "pci_nvme_read" in line
        return found


class Bypass:
    """One pair in one topology"""

    def __init__(self, pair, disk, topology):
        self.pair = pair
        self.disk = disk
        self.options = UNCHECKED.get(pair.series, ("", ""))
        self.reaches = REACHES[topology] or pair.series in UNCHECKED
        self.nvme = nvme_bed.Nvme(pair, "ntb")
        self.window = None

    def load(self):
        self.pair.run("b", "modprobe nvme")
        # Answers by the engine take another way than what the disk writes, so a missing fence shows.
        self.nvme.options = f"{PROMISE['ntb'][0]} places=1 direct=0 {self.options[0]}"
        self.pair.run("b", f"{bed.BELOW['ntb']} && modprobe kfi_ntb {self.nvme.options} && modprobe nvmet && "
                      f"modprobe nvmet-kfi trtype=254 bypass=1 {self.options[1]}")
        self.nvme.options = f"{PROMISE['ntb'][0]} flat=1"
        self.nvme.load_host()
        bar = self.pair.run("b", f"sed -n 5p {find(self.pair, 'b', 'ntb')}/resource").text.split()
        self.window = int(bar[0], 16), int(bar[1], 16)
        self.pair.run("b", nvme_bed.TARGET.format(**self.nvme.words(disk="/dev/nvme0n1")))
        self.nvme.port()
        self.pair.run("a", f"echo {HUGE_PAGES} >/proc/sys/vm/nr_hugepages")
        device = self.nvme.connect(nr_io_queues=1)
        self.settle()
        return device

    def settle(self):
        """Wait until the host has looked for partitions."""
        self.disk.addresses()
        for _ in range(20):
            time.sleep(1)
            if not self.disk.addresses():
                return
        raise vm.TimedOut("the host does not stop reading")

    def reads(self, device, size, depth, count):
        """Read at a, compare. Return the bytes that the disk has written to the window, and elsewhere."""
        self.disk.addresses()
        self.pair.run("a", f"hugeread {device} {size} {depth} {count} /tmp/read", 120)
        text = self.pair.run("a", "sha256sum /tmp/read && rm /tmp/read").text
        check(text.split()[0] == hashlib.sha256(self.disk.data[:size * count]).hexdigest(),
              f"{count} reads of {size} bytes, {depth} at a time: other data")
        first, last = self.window
        window = ram = 0
        for at, length in self.disk.addresses():
            if first <= at <= last:
                window += length
            else:
                ram += length
        return window, ram


def straight(s):
    """reads of the host: no byte of their data in the memory of the target, or all if the kernel refuses"""
    device = s.load()
    for size, depth, count in LOADS:
        want = (size * count, 0) if s.reaches else (0, size * count)
        found = s.reads(device, size, depth, count)
        check(found == want, f"{count} reads of {size} bytes, {depth} at a time: (window, memory) {found}, not {want}")
    text = s.pair.run("b", "cat /sys/kernel/debug/nvmet_kfi/places").text
    check(f"nvme0n1 over {bed_domain(s)}: {'yes' if s.reaches else 'no'}" in text, text)
    s.nvme.disconnect()
    s.nvme.drop_target()
    # The kernel keeps the pages of the window: a module that is loaded again finds them.
    s.pair.run("b", f"rmmod nvmet_kfi kfi_ntb && modprobe kfi_ntb places=1 {s.options[0]} && rmmod kfi_ntb && rmmod ntb_hw_intel", 60)


def bed_domain(s):
    """Return the name of b's end of the bridge."""
    return os.path.basename(find(s.pair, "b", "ntb"))


def hugeread():
    out = os.path.join(vm.BUILD, "nvme-tools")
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, "hugeread")
    subprocess.run(["gcc", "-static", "-O2", "-Wall", "-Werror", "-pthread", "-o", path,
                    os.path.join(bed.TOP, "tests", "nvme", "hugeread.c")], check=True)
    return path


def run_series(series, verdict, wanted, seed):
    logs = os.path.join(vm.BUILD, f"vm-{series}", "nvme-bypass")
    os.makedirs(logs, exist_ok=True)
    ko, tool = bed.build(series, verdict.progress, logs)
    nvme_bed.need(verdict.progress, logs)
    for topology in UNCHECKED[series][2] if series in UNCHECKED else REACHES:
        if wanted not in topology:
            continue
        disk = Disk(seed)
        devices = bed.Devices(disk, ntbsim.Ntbsim(
            bar2=bed.WINDOW, bar4=bed.MEMORY, topology=topology,
            others=[{"driver": "nvme", "drive": "disk", "serial": "bypass"}]))
        with vm.Pair(series, os.path.join(logs, topology), ko=[ko, vm.script("stock-modules", series)],
                     programs=[tool, "/usr/sbin/nvme", hugeread()],
                     modules=["ioatdma", "nvme", "nvme_fabrics", "nvmet"], append="rootfstype=ramfs",
                     devices=devices, progress=verdict.progress) as pair:
            verdict.case(f"{series} {topology}", straight, BUDGET, Bypass(pair, disk, topology))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series", nargs="+", help="7.2, 6.12")
    parser.add_argument("-k", dest="wanted", default="", metavar="WORD", help="only topologies with this word in their name")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="of the disk's data")
    opts = parser.parse_args()
    print(f"seed {opts.seed}", flush=True)
    verdict = Verdict(vm.Progress())
    return bed.closing(verdict, opts.series, lambda series: run_series(series, verdict, opts.wanted, opts.seed))


if __name__ == "__main__":
    sys.exit(main())
