#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""mirror_stock.py [--seed N] [6.12 [GROUP...]]: mirrors in a stock kernel

Groups of tests/mirror/inside in a machine of a stock kernel, with both nodes: it has XFS, limits of
cgroups for disks, and persistent memory, which the kernels of ../uml do not have. The machine sees the
files of this one, read-only. The last line is "N passed, N failed".
"""

import argparse
import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import bed               # noqa: E402
import pair as vm        # noqa: E402
from scenario import Verdict, check, once_more  # noqa: E402

GROUPS = ("stock", "xfs")
MODULES = (*bed.HOST_MODULES, "dm_mod", "null_blk", "nd_e820", "nd_pmem", "crc32c_generic", "libcrc32c", "veth", "xfs")
# Persistent memory within the machine's memory
MEMORY = "memmap=64M!512M"
ENTER = f"""{bed.SEE_HOST}
modprobe -a {' '.join(MODULES)} && modprobe null_blk nr_devices=0 && ls /dev/pmem0
"""


def count(verdict, lines):
    """Print the cases of inside, and count them."""
    verdict.progress.end()
    print(lines, end="", flush=True)
    verdict.passed += len(re.findall("^ok ", lines, re.M))
    verdict.failed += len(re.findall("^not ok ", lines, re.M))
    check(re.search("^ok modules go$", lines, re.M), "the groups did not come to their end")


def run(opts, verdict, progress):
    out = os.path.join(vm.BUILD, "mirror-stock")
    os.makedirs(out, exist_ok=True)
    bed.build(opts.series, progress, out, "KFI_TESTS=y")
    progress.during("looking for dmsetup, fio and programs of file systems", [os.path.join(vm.HERE, "need"), "xfs"], os.path.join(out, "need.log"))
    modules = os.path.join(vm.BUILD, f"vm-{opts.series}", "modules", "src")
    words = " ".join([f"{bed.TOP}/tests/mirror/inside", modules, "sockets", "0", str(opts.seed), *opts.groups])
    with vm.Pair(opts.series, out, modules=MODULES, memory="1G", append=MEMORY, qemu_extra=bed.HOST_FILES, names=("a",), progress=progress) as pair:
        pair.run("a", ENTER)
        progress(f"{opts.series}: {' '.join(opts.groups)}")
        pair.run("a", f"UML_OUT={bed.SHM} MIRROR_CONFIG={bed.SHM}/config {bed.IN_HOST}{words}", 1500, check=False)
        count(verdict, pair.run("a", f"cat {bed.SHM}/cases").text)
        pair.check_logs()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("series", nargs="?", default="6.12")
    parser.add_argument("groups", nargs="*", default=GROUPS, metavar="GROUP")
    opts = parser.parse_args()
    print(f"seed {opts.seed}", flush=True)
    progress = vm.Progress()
    verdict = Verdict(progress)
    return bed.closing(verdict, [opts.series], lambda series: once_more(series, verdict, lambda: run(opts, verdict, progress)),
                       what="the machine")


if __name__ == "__main__":
    sys.exit(main())
