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
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import bed                               # noqa: E402
import bypass_bed                        # noqa: E402
import pair as vm                        # noqa: E402
from bypass_bed import UNCHECKED         # noqa: E402
from ntb_topologies import find          # noqa: E402
from scenario import Verdict, check      # noqa: E402

# The kernel lets the disk reach the bridge in these topologies of ntbsim.py, or not.
REACHES = {"switch": True, "zen": True, "root": False}
# Bytes of a read, reads at a time, number of reads
LOADS = ((4096, 1, 64), (4096, 16, 256), (65536, 16, 32), (1 << 20, 1, 2), (1 << 20, 16, 4))
# The same for data in the disk's memory, which has room for half of its 4 MiB besides the disk's queues
STAGED_LOADS = ((8192, 4, 32), (65536, 1, 8), (65536, 8, 32), (1 << 20, 1, 2))
# Answers by the engine take another way than what the disk writes, so a missing fence shows.
TARGET = "places=1 direct=0"
BUDGET = 300


class Bed(bypass_bed.Bypass):
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
        disk = bypass_bed.Disk(seed)
        logs = os.path.join(vm.BUILD, f"vm-{series}", "nvme-bypass", topology)
        with bypass_bed.machines(series, topology, disk, logs, verdict.progress, "KFI_TESTS=y") as pair:
            s = Bed(pair, disk, topology)
            for case in CASES + (() if s.unchecked else CHECKED):
                verdict.case(f"{series} {topology}", case, BUDGET, s)


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
