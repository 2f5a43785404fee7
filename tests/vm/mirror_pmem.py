#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""mirror_pmem.py [--kills N] [--seed N] [6.12 [GROUP...]]: mirrors whose logs are in persistent memory

Groups of tests/mirror/inside in a machine of a stock kernel, whose two nodes have their logs in
persistent memory, and one of them its leg (group torn). It has a shadow to which only persisted ranges
are copied (tests/mirror/shadow.c): a loss of power leaves the shadow, and a takeover reads nothing else.
Then some of them run with faults planted in kfi_mirror: it does not flush the caches of the CPUs, and
keeps a copy whose records were overwritten. That has to be noticed. If groups are named, these run, and
no faults are planted: group xfs needs a file system that the kernels of ../uml do not have. The machine
sees the files of this one, read-only. The last line is "N passed, N failed".
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import bed               # noqa: E402
import pair as vm        # noqa: E402
from scenario import Verdict, check, once_more  # noqa: E402

GROUPS = ("pmem", "torn", "basic", "leg", "power", "kill")
MODULES = (*bed.HOST_MODULES, "dm_mod", "null_blk", "nd_e820", "nd_pmem", "ext4", "crc32c_generic", "libcrc32c", "brd", "veth", "xfs")
# Persistent memory within the machine's memory, with a gap: the kernel joins what is side by side.
MEMORY = "memmap=8M!512M memmap=2M!576M"
ENTER = f"""{bed.SEE_HOST}
modprobe -a {' '.join(MODULES)} && modprobe null_blk nr_devices=0 && modprobe brd rd_nr=16 rd_size=4096 && ls /dev/pmem0 /dev/pmem1
"""
# Faults of log.c: what is there, and what takes its place
FAULTS = (("dax_flush(log->dax,", "(void)(log->dax,"),
          ("\tlog->failed = kfm_writes_missing(m);\n", ""),
          ("\treturn -EUCLEAN;\n", "\treturn 0;\n"))
# Groups that notice: the case, and what it has to say. After kills the nodes can't be ended: that group is the last.
NOTICED = {"pmem": ("records are overwritten", r"^# .*a\.leg .*b\.leg differ"),
           "power": ("what is acknowledged is in the log", r"^# [1-9]\d* of \d+ sectors are wrong"),
           "torn": ("sectors of a primary are torn", r"^# .*: torn, or another one"),
           "kill": ("1 kills, policy stop", r"^# [1-9]\d* of \d+ sectors are wrong")}


class Machine:
    """The machine, and where its modules are on this host"""

    def __init__(self, pair, modules, opts):
        self.pair = pair
        self.modules = modules
        self.opts = opts

    def inside(self, modules, kills, groups, timeout):
        """Run groups of tests/mirror/inside. Return their lines, whether they are good or not."""
        words = " ".join([f"{bed.TOP}/tests/mirror/inside", modules, "sockets", str(kills), str(self.opts.seed), *groups])
        self.pair.run("a", f"UML_OUT={bed.SHM} MIRROR_CONFIG={bed.SHM}/config MIRROR_PMEM='/dev/pmem0 /dev/pmem1' {bed.IN_HOST}{words}", timeout,
                      check=False)
        return self.pair.run("a", f"cat {bed.SHM}/cases").text


def faulty(series, modules):
    """Build a kfi_mirror with the faults. Return a directory like @modules."""
    work = os.path.join(vm.BUILD, f"vm-{series}", "mirror-faults")
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(os.path.join(modules, "ulps", "mirror"), os.path.join(work, "ulps", "mirror"),
                    ignore=shutil.ignore_patterns("*.o", "*.ko", ".*", "*.mod*"))
    for name in ("include", "kfi", "providers", "tests"):
        os.symlink(os.path.join(modules, name), os.path.join(work, name))
    path = os.path.join(work, "ulps", "mirror", "log.c")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for old, new in FAULTS:
        check(text.count(old) == 1, f"{path} does not have this once: {old}")
        text = text.replace(old, new)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    with open(os.path.join(work, "Kbuild"), "w", encoding="utf-8") as file:
        file.write("include $(src)/include/compat/Kbuild\nobj-m += ulps/mirror/\n")
    done = subprocess.run([os.path.join(vm.HERE, "kmake"), series, f"M={work}",
                           f"KBUILD_EXTRA_SYMBOLS={modules}/Module.symvers", "modules"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    check(done.returncode == 0, f"kfi_mirror with faults does not build:\n{done.stdout[-2000:]}")
    return work


def count(verdict, lines):
    """Print the cases of inside, and count them."""
    verdict.progress.end()
    print(lines, end="", flush=True)
    verdict.passed += len(re.findall("^ok ", lines, re.M))
    verdict.failed += len(re.findall("^not ok ", lines, re.M))
    check(re.search("^ok modules go$", lines, re.M), "the groups did not come to their end")


def faults_noticed(machine):
    """without a flush acknowledged writes are lost, and a copy with overwritten records is wrong: both are noticed"""
    lines = machine.inside(faulty(machine.pair.series, machine.modules), 1, NOTICED, 600)
    for case, said in NOTICED.values():
        found = re.search(f"^not ok {case}.*\n(#.*\n)*", lines, re.M)
        check(found and re.search(said, found.group(0), re.M), f"not noticed: {case}\n{lines}")


def run(opts, verdict, progress):
    out = os.path.join(vm.BUILD, "mirror-pmem")
    os.makedirs(out, exist_ok=True)
    bed.build(opts.series, progress, out, "KFI_TESTS=y")
    need = "xfs" if "xfs" in opts.groups else "pmem"
    progress.during("looking for dmsetup, fio and programs of file systems", [os.path.join(vm.HERE, "need"), need],
                    os.path.join(out, "need.log"))
    with vm.Pair(opts.series, out, modules=MODULES, memory="1G", append=MEMORY, qemu_extra=bed.HOST_FILES, names=("a",), progress=progress) as pair:
        pair.run("a", ENTER)
        machine = Machine(pair, os.path.join(vm.BUILD, f"vm-{opts.series}", "src"), opts)
        progress(f"{opts.series}: {' '.join(opts.groups)}")
        count(verdict, machine.inside(machine.modules, opts.kills, opts.groups, 1500))
        pair.check_logs()
        if opts.groups == GROUPS:
            verdict.case(opts.series, faults_noticed, 700, machine)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=3, help="with each table")
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
