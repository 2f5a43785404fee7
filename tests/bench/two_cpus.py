# SPDX-License-Identifier: GPL-2.0
"""The gain of a second CPU for the mirrors

User Mode Linux has one CPU, so this runs in an emulated machine of a stock kernel with two CPUs, one
of which is taken off line and put back in turns. Both ends are in this machine, and only quotients are
valid there. It sees the files of this computer, read-only, so the programs that make the mirrors are
those of this computer.

Two emulated CPUs that do not run at the same time wait for each other in vain: so a run during which
the host had no CPU for one of them does not count, whatever its result, and is repeated.
"""

import glob
import os
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "vm"))
import bed               # noqa: E402
import pair as vm        # noqa: E402

RUN = "/sys/kernel/debug/kfi_bench/run"
SECOND = "/sys/devices/system/cpu/cpu1/online"
BENCH = """
    exec 7</run/netns/ca 8</run/netns/cb
    insmod /lib/modules/$(uname -r)/extra/kfi_bench.ko net_a=7 net_b=8 addr_a=10.78.0.1 addr_b=10.78.0.2"""
STOCK = (*bed.HOST_MODULES, "dm_mod", "null_blk", "drbd", "raid1", "nvme_tcp", "nvmet_tcp", "veth")
MIRRORS = f"""{bed.SEE_HOST}
    modprobe -a {' '.join(STOCK)} && modprobe null_blk nr_devices=0 && modprobe drbd minor_count=4 || exit
    modprobe -a kfi_loop kfi_sockets kfi_perf kfi_mirror kfi_bench_tcp
    {BENCH}
    NVME_CONFIG={bed.SHM}/config {bed.IN_HOST}{HERE}/mirrors up"""
NAME = "mirror-cpus"
SERIES = "6.12"
CASES = ("mirror-ram-4k-1", "mirror-ram-4k-16")     # of kfi_bench
MS = 100        # of a run
ROUNDS = 31
WAITED = 0.25   # of the time of a run, all threads together: more makes it void. 0.19 at most on an idle host of two CPUs
PATIENCE = 300  # seconds for one case until what is missing is given up


def waited(pair):
    """Return the seconds for which threads of the machine were runnable and had no CPU of the host.
    """
    nanoseconds = 0
    for path in glob.glob(f"/proc/{pair.vms['a'].process.pid}/task/*/schedstat"):
        with open(path, encoding="ascii") as file:
            nanoseconds += int(file.read().split()[1])
    return nanoseconds / 1e9


def undisturbed(pair, case):
    """Return the lines of a run of all variants of a case, or None if it was disturbed."""
    start, before = time.monotonic(), waited(pair)
    text = pair.run("a", f"echo '{case} 1 {MS} wall' >{RUN} && cat {RUN}", timeout=300).text
    return text.splitlines() if waited(pair) - before < WAITED * (time.monotonic() - start) else None


def numbered(lines, cpus, number):
    """Yield lines of kfi_bench with the number of CPUs appended to names."""
    for word in map(str.split, lines):
        if word[0] in ("variant", "failed"):
            yield " ".join([word[0], f"{word[1]}-{cpus}"] + word[2:])
        else:
            yield " ".join([f"{word[0]}-{cpus}", str(number)] + word[2:])


def rounds_of(pair, case, said):
    """Run rounds on one CPU and on two, until enough were not disturbed. Return lines."""
    lines, number, tries, end = {}, 0, 0, time.monotonic() + PATIENCE
    while number < ROUNDS and time.monotonic() < end:
        found = {}
        for cpus in ((1, 2), (2, 1))[tries % 2]:
            pair.run("a", f"echo {cpus - 1} >{SECOND}")
            found[cpus] = undisturbed(pair, case)
        tries += 1
        if None not in found.values():
            for cpus, each in found.items():
                lines.update(dict.fromkeys(numbered(each, cpus, number)))
            number += 1
        said(f"{case}: {number} rounds of {tries} were undisturbed")
    pair.run("a", f"echo 1 >{SECOND}")
    return lines


def run(out, runs):
    """Measure; write runs/CASE-cpus.txt, in which names of variants end with the number of CPUs."""
    logs = os.path.join(out, NAME)
    progress = vm.Progress()
    progress.during(f"{SERIES}: looking for what it needs", [os.path.join(vm.HERE, "need")], os.path.join(logs, "need.log"))
    progress.during(f"{SERIES}: building the modules", [os.path.join(vm.HERE, "modules"), SERIES, "KFI_BENCH=y"],
                    os.path.join(logs, "modules.log"))
    ko = [os.path.join(vm.BUILD, f"vm-{SERIES}", "ko"), vm.script("stock-modules", SERIES)]
    with vm.Pair(SERIES, logs, ko=ko, modules=STOCK, progress=progress, names=("a",), memory="1G", qemu_extra=bed.HOST_FILES) as pair:
        pair.run("a", bed.TWO_NODES)
        pair.run("a", MIRRORS, 240)
        for case in CASES:
            lines = rounds_of(pair, case, progress)
            (runs / f"{case}-cpus.txt").write_text("".join(line + "\n" for line in lines))
        pair.check_logs()
