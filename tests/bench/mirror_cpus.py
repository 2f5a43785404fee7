# SPDX-License-Identifier: GPL-2.0
"""The mirrors on one CPU and on two

The cases mirror-... of kfi_bench in an emulated machine of a stock kernel with two CPUs, one of
which is taken off line and put back in turns. As in User Mode Linux, both copies of each mirror are
in this machine. It sees the files of this computer, read-only, so the programs that make the mirrors
are those of this computer. Only quotients are valid. A round runs each mirror once; a round during
which the host had no CPU for an emulated one does not count, see scale.py.
"""

import os
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "vm"))
import bed               # noqa: E402
import pair as vm        # noqa: E402
import scale             # noqa: E402

SERIES = "6.12"
CASE = "mirror-cpus"
CASES = ("write-4k-1", "write-4k-16")
CPUS = (1, 2)
STOCK = ("9p", "9pnet_virtio", "dm_mod", "null_blk", "drbd", "raid1", "nvme_tcp", "nvmet_tcp", "veth")
MODULES = ("kfi", "kfi_loop", "kfi_sockets", "kfi_mirror", "kfi_bench_tcp")
FILES = "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"
SHM = "/dev/shm"
ENTER = f"""
modprobe -a {' '.join(STOCK)} && modprobe null_blk nr_devices=0 && modprobe drbd minor_count=4 &&
mkdir -p /host {SHM} && mount -t tmpfs tmpfs {SHM} &&
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=131072 host /host || exit
for dir in dev proc sys; do mount -o rbind /$dir /host/$dir || exit; done
for dir in run tmp var/lib/drbd; do [ ! -d /host/$dir ] || mount -t tmpfs tmpfs /host/$dir || exit; done
mkdir /host/run/lock
"""
PATIENCE = 120  # seconds for one case on one number of CPUs


def name(cpus, case):
    """Return the name under which report.py knows a case on so many CPUs."""
    return f"{CASE}-{cpus}-{case}"


def load(pair):
    pair.run("a", ENTER)
    pair.run("a", bed.TWO_NODES)
    place = "/lib/modules/$(uname -r)/extra"
    for module in MODULES:
        pair.run("a", f"insmod {place}/{module}.ko")
    pair.run("a", f"""
        exec 7</run/netns/ca 8</run/netns/cb
        insmod {place}/kfi_bench.ko net_a=7 net_b=8 addr_a=10.78.0.1 addr_b=10.78.0.2""")
    pair.run("a", f"PATH=/usr/sbin:/usr/bin:/sbin:/bin TMPDIR={SHM} NVME_CONFIG={SHM}/config chroot /host {HERE}/mirrors up", 180)


def rounds_of(pair, case, rounds, ms, said):
    """Run a case until there are @rounds that were not disturbed. Return the lines of kfi_bench."""
    lines, done, end = [], 0, time.monotonic() + PATIENCE
    while done < rounds and time.monotonic() < end:
        start, before = time.monotonic(), scale.waited(pair)
        text = pair.run("a", f"echo 'mirror-{case} 1 {ms} wall' >{scale.RUN} && cat {scale.RUN}", timeout=300).text
        if scale.waited(pair) - before > scale.WAITED * (time.monotonic() - start):
            continue
        for line in text.splitlines():
            word = line.split()
            if word[0] not in ("variant", "failed"):
                word[1] = str(done)
            elif done:
                continue
            lines.append(" ".join(word))
        done += 1
        said(f"{case}: {done} of {rounds}")
    if done < rounds:
        said(f"{case}: the host is too busy, {done} undisturbed rounds")
    return lines


def run(out, runs, rounds, ms):
    """Measure; write runs/mirror-cpus-N-CASE.txt."""
    logs = os.path.join(out, CASE)
    progress = vm.Progress()
    progress.during(f"{SERIES}: looking for what it needs", [os.path.join(vm.HERE, "need")], os.path.join(logs, "need.log"))
    progress.during(f"{SERIES}: building the modules", [os.path.join(vm.HERE, "modules"), SERIES, "KFI_BENCH=y"],
                    os.path.join(logs, "modules.log"))
    ko = os.path.join(vm.BUILD, f"vm-{SERIES}", "ko")
    with vm.Pair(SERIES, logs, ko=ko, modules=STOCK, progress=progress, names=("a",), memory="1G",
                 qemu_extra=["-virtfs", FILES]) as pair:
        load(pair)
        for cpus in CPUS:
            pair.run("a", f"echo {cpus - 1} >{scale.SECOND}")
            for case in CASES:
                lines = rounds_of(pair, case, rounds, ms, lambda text, cpus=cpus: progress(f"{cpus} CPUs, {text}"))
                (runs / f"{name(cpus, case)}.txt").write_text("".join(line + "\n" for line in lines))
        pair.check_logs()
