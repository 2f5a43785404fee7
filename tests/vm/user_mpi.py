# SPDX-License-Identifier: GPL-2.0
"""Open MPI with two ranks on each of two machines, over kfi_sockets"""

import os
import subprocess

import bed
import pair as vm
from scenario import check
from user_demo import LIBRARY

MODULES = ("kfi", "kfi_sockets", "kfi_user")
PROVIDED = ("9p", "9pnet_virtio")
# Seconds for all ranks together
TIMEOUT = 1200
ROOT = "/openmpi"
# The root directory of Open MPI is a directory of the host, which nobody can write to.
ENTER = f"""
modprobe -a {' '.join(PROVIDED)} && mkdir -p {ROOT} &&
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=131072 openmpi {ROOT} || exit
for dir in dev proc sys run tmp; do mount -o rbind /$dir {ROOT}/$dir || exit; done
mount -t tmpfs none {ROOT}/mnt &&
cp /usr/sbin/mpi /usr/sbin/mpi-agent /usr/sbin/mpi-ranks {LIBRARY} /bin/busybox {ROOT}/mnt &&
mount -o bind /run/hosts {ROOT}/etc/hosts
"""
# mpi-agent sends a command to this port and waits until the connection is closed.
SERVE = f"while :; do nc -l -p 7472 -e chroot {ROOT} sh; done"


def enter(pair, name):
    """Load kfabric and mount the root directory of Open MPI."""
    bed.Kfi(pair).insmod(name, MODULES)
    hosts = "".join(f"{pair.address(each)} {each}\\n" for each in pair.vms)
    pair.run(name, rf"printf '127.0.0.1 localhost\n{hosts}' >/run/hosts")
    pair.run(name, ENTER)


def nothing_left(pair, name):
    """No object is left of processes that have ended."""
    kfi = bed.Kfi(pair)
    for what in ("domains", "endpoints"):
        left = kfi.json(name, f"show {what}")
        check(not left, f"{name}: {what} are left: {left}")
    pair.run(name, f"rmmod {' '.join(reversed(MODULES))}")


def run(series, out, progress):
    """Run all ranks. Return the output of mpirun."""
    ko, tool = bed.build(series, progress, out)
    user = os.path.join(bed.TOP, "tests", "user")
    program = os.path.join(out, "mpi")
    progress.during("building libkfi-fi.so", [os.path.join(bed.TOP, "tools", "build"), "library"],
                    os.path.join(out, "library.log"))
    progress("unpacking Open MPI")
    root = subprocess.run([os.path.join(user, "openmpi"), program], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()
    share = f"local,path={root},mount_tag=openmpi,security_model=none,readonly=on,multidevs=remap"
    programs = [tool, program, f"{user}/mpi-agent", f"{user}/mpi-ranks",
                f"{vm.BUILD}/tools/libkfi-fi.so:{LIBRARY}"]
    with bed.machines("sockets", series, out, ko, modules=PROVIDED, programs=programs,
                      memory="1200M", mtu=9000, qemu_extra=["-virtfs", share],
                      progress=progress) as pair:
        for name in pair.vms:
            progress(f"{name}: insmod {' '.join(MODULES)}, mount")
            enter(pair, name)
        server = pair.spawn("b", SERVE)
        progress("a: mpirun")
        said = pair.run("a", f"chroot {ROOT} /mnt/mpi-ranks 10.77.0.0/24", TIMEOUT, check=False)
        server.kill()
        with open(os.path.join(out, "mpirun.log"), "w", encoding="utf-8") as file:
            file.write(said.text)
        pair.check_logs()
        check(said.status == 0 and said.text.endswith("5 passed, 0 failed\n"),
              f"status {said.status}:\n{said.text}")
        for name in pair.vms:
            nothing_left(pair, name)
        pair.check_logs()
        return said.text
