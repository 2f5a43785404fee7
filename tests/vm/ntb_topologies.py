#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""ntb_topologies.py 6.12... [-k WORD]: do the devices of the simulator work on every bus on which tests put them?

For each topology of ntbsim.py: two machines boot, the kernel's own drivers accept the devices where
they are, ntb_perf copies by the engine through windows of 4 MiB, and the engine reads the CMB of a
disk. The last line is "N passed, N failed".
"""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import ntbsim                            # noqa: E402
import pair as vm                        # noqa: E402
from bed import WINDOW, closing          # noqa: E402
from ntb_scenario import PERF_HANDSHAKE, PERF_TRIES, build_guest  # noqa: E402
from scenario import Verdict, check      # noqa: E402

# A disk with memory of its own, in BAR 2. Nobody reads its data.
DRIVE = ["-drive", "driver=null-co,size=16M,if=none,id=cmb"]
DISK = {"driver": "nvme", "drive": "cmb", "serial": "cmb", "cmb_size_mb": 4}
CMB_BYTES = 65536
# How many devices are above each: bridges, in the path of sysfs
ABOVE = {"root": 0, "zen": 0, "switch": 3, "iommu": 1}
FIND = """
for dir in /sys/bus/pci/devices/*; do
	[ $(cat $dir/vendor) != %s ] || [ $(cat $dir/device) != %s ] || readlink -f $dir
done
"""
IDS = {"ntb": ("0x8086", "0x201c"), "dma": ("0x8086", "0x2021"), "disk": ("0x1b36", "0x0010")}
PERF_BYTES = 1 << 20
BUDGET = 120


def find(pair, name, what):
    """Return the directory in sysfs of a device."""
    found = pair.run(name, FIND % IDS[what]).text.split()
    check(len(found) == 1, f"{name}: {what}: {found}")
    return found[0]


def bridges(path):
    """Return the bridges above a device."""
    return path.split("/")[4:-1]


def where(pair, topology):
    """The devices are where the topology says, and below one bridge of a switch if there is one."""
    paths = {what: find(pair, "a", what) for what in IDS}
    for what, path in paths.items():
        above = bridges(path)
        expected = 0 if topology == "iommu" and what == "disk" else ABOVE[topology]
        check(len(above) == expected, f"{what} is at {path}")
    if topology == "switch":
        check(len({tuple(bridges(path)[:2]) for path in paths.values()}) == 1, f"not one switch: {paths}")
    size = int(pair.run("a", f"stat -c %s {paths['ntb']}/resource4").text)
    check(size >= 2 << 20, f"the window has {size} bytes")
    return paths


def perf(pair, file):
    """Run ntb_perf once. Return False if its handshake has failed: see PERF_TRIES in ntb_scenario.py"""
    for name in pair.vms:
        pair.run(name, "modprobe ntb_perf use_dma=1 total_order=20 chunk_order=16", 30)
    try:
        pair.run("a", f"echo 0 >{file}", PERF_HANDSHAKE)
    except vm.TimedOut:
        pair.devices.command("link 0 down")
        return False
    finally:
        for name in pair.vms:
            pair.run(name, "rmmod ntb_perf", 60)
        pair.devices.command("link 0 up")
    return True


def copies(pair, paths):
    """ntb_perf copies by the engine through a window."""
    for name in pair.vms:
        pair.run(name, "modprobe -a ntb_hw_intel ioatdma", 30)
    before = pair.devices.stats()["devices"]
    file = f"/sys/kernel/debug/ntb_perf/{os.path.basename(paths['ntb'])}/run"
    check(any(perf(pair, file) for _ in range(PERF_TRIES)), "ntb_perf does not begin")
    after = pair.devices.stats()["devices"]
    for device, counter in (("dma.a", "dma_bytes"), ("ntb0.b", "window_bytes_in")):
        grown = after[device][counter] - before[device][counter]
        check(grown >= PERF_BYTES, f"{device}: {counter} is {grown}")
    pair.run("a", "rmmod ioatdma", 30)


def reads_disk(pair, paths):
    """The engine reads the disk's memory."""
    text = pair.run("a", f"engine {paths['dma']} {paths['disk']} 2", 60).text.strip()
    check(text == f"{CMB_BYTES} bytes", f"engine says {text}")
    count = pair.devices.counters("dma.a")["foreign_bytes"]
    check(count == CMB_BYTES, f"{count} bytes came by messages")


class Bed:
    """A pair in one topology"""

    def __init__(self, pair, topology):
        self.pair = pair
        self.topology = topology


def works(bed):
    """the drivers accept the devices, the engine copies through a window and reads the memory of a disk"""
    paths = where(bed.pair, bed.topology)
    copies(bed.pair, paths)
    reads_disk(bed.pair, paths)


def run_series(series, verdict, wanted):
    logs = os.path.join(vm.BUILD, f"vm-{series}", "topologies")
    os.makedirs(logs, exist_ok=True)
    verdict.progress.during("looking for what it needs", [os.path.join(vm.HERE, "need")], os.path.join(logs, "need.log"))
    ko = vm.script("stock-modules", series)
    for topology in ntbsim.TOPOLOGIES:
        if wanted not in topology:
            continue
        with vm.Pair(series, logs, ko=ko, programs=[build_guest("engine", logs)], modules=["ioatdma"],
                     append="iomem=relaxed" + (" intel_iommu=on" if topology == "iommu" else ""),
                     devices=ntbsim.Ntbsim(bar2=WINDOW, bar4=WINDOW, topology=topology, others=[DISK]),
                     qemu_extra=DRIVE, progress=verdict.progress) as pair:
            verdict.case(f"{series} {topology}", works, BUDGET, Bed(pair, topology))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series", nargs="+", help="6.12")
    parser.add_argument("-k", dest="wanted", default="", metavar="WORD", help="only topologies with this word in their name")
    opts = parser.parse_args()
    verdict = Verdict(vm.Progress())
    return closing(verdict, opts.series, lambda series: run_series(series, verdict, opts.wanted))


if __name__ == "__main__":
    sys.exit(main())
