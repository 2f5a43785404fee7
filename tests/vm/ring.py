#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""ring.py [--seed N] [-k WORD] [6.12]: three machines in a ring of three USB4 cables, as docs/small-cluster.md has it

Each machine reaches each other one. Machines a and b have the copies of the mirror r0, b and c those of r1; the third machine is the
witness of either. Under writes to both each cable is pulled, for less and for more than connections wait, and each machine loses its
power. At last one comes back under another name. After each case the consoles must be clean. The last line is "N passed, N failed".
"""

import argparse
import itertools
import os
import random
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import bed               # noqa: E402
import cables            # noqa: E402
import nvme              # noqa: E402
import pair as vm        # noqa: E402
import usb4sim           # noqa: E402
from scenario import Verdict, check, once_more, usable  # noqa: E402
from upgrade import Numbers, all_there  # noqa: E402

NAMES = "abc"
CABLES = ("a0-b0", "b1-c0", "c1-a1")
# Seconds for which a connection outlives its cable here, and pulls that are shorter and longer
HOLD = 3
PULLS = (1, 10)
OPTIONS = f"timeout_s=8 hold_s={HOLD} connect_timeout_ms=10000"
# The copies of each mirror, of which the first one is primary, and its witness
MIRRORS = {"r0": ("ab", "c", 700), "r1": ("bc", "a", 710)}
# Of each machine: what a mirror has there
LEGS = {"r0": "/dev/vda", "r1": "/dev/vdb"}
LEG_MIB = 64
CASES = []
case = bed.register_in(CASES)


class Legs(nvme.Disk):
    """Two files of the host for each machine: what was acknowledged outlives it."""

    def start(self, run_dir, _logs):
        self.path = os.path.join(run_dir, "leg")
        for name, mirror in itertools.product(NAMES, MIRRORS):
            with open(f"{self.path}-{name}-{mirror}", "wb") as file:
                file.truncate(self.mib << 20)

    def arguments(self, name, _memory):
        return [word for mirror in MIRRORS for word in
                ("-drive", f"file={self.path}-{name}-{mirror},format=raw,if=none,id={mirror}", "-device", f"virtio-blk-pci,drive={mirror},romfile=")]


def configuration(mirror):
    copies, witness, port = MIRRORS[mirror]
    lines = [f"uuid = 6ba7b810-9dad-11d1-80b4-00c04fd43{port}", "provider = usb4", "policy = quorum", f"port = {port}"]
    lines += [f"node {name} {{ leg = {LEGS[mirror]} address = {name} }}" for name in copies]
    lines += [f"node {witness} {{ leg = - meta = {LEGS[mirror]} log = - address = {witness} }}"]
    return "\n".join(lines)


class Ring:
    """Three machines, the writers of both mirrors, and where each is primary"""

    def __init__(self, pair, seed):
        self.pair = pair
        self.lot = random.Random(seed)
        self.kfi = bed.Kfi(pair, "usb4")
        self.primary = {}
        self.writers = {}

    def load(self, name, host=None):
        self.pair.run(name, f"hostname {host or name}; modprobe virtio_blk; {bed.BELOW['usb4']}")
        self.kfi.load(name, OPTIONS)

    def up(self, name, mirror, create=False):
        self.pair.run(name, f"""modprobe kfi_mirror && mkdir -p /etc/kfabric/mirror.d && echo '{configuration(mirror)}' >/etc/kfabric/mirror.d/{mirror}.conf &&
            kfi mirror up {"--create " if create else ""}{mirror}""")

    def others(self, name):
        return [other for other in NAMES if other != name]

    def wait_all_up(self):
        for name, other in itertools.permutations(NAMES, 2):
            cables.wait(lambda n=name, o=other: cables.is_up(self, n, f"{o}.0"), f"{name}: {other}.0 is not up")

    def insync(self):
        for mirror, name in self.primary.items():
            self.pair.run(name, f"kfi mirror wait {mirror} insync", 120)

    def write(self, mirror, first=1):
        self.writers[mirror] = Numbers(self, self.primary[mirror], first, mirror)
        self.writers[mirror].until_more()

    def until_more(self):
        for writer in self.writers.values():
            writer.until_more(90)

    def between(self, name, other):
        """Verified messages and RMA from one machine to another one"""
        self.kfi.serve(other, "rdm", 971, "usb4")
        self.kfi.perf(name, other, provider="usb4", type="rdm", service=971, op="send,write,read", size="64,65536", iterations=10, mode="latency",
                      verify=True)
        self.kfi.command(other, "perf stop")


@case(300)
def joined(s):
    """all cables come up, and each machine reaches each other one"""
    for name in NAMES:
        s.load(name)
    s.wait_all_up()
    for name, other in itertools.permutations(NAMES, 2):
        s.between(name, other)


@case(300)
def mirrored(s):
    """two mirrors, each with its copies on two machines and the third one as a witness"""
    for mirror, (copies, _, _) in MIRRORS.items():
        for name in NAMES:
            s.up(name, mirror, True)
        s.pair.run(copies[0], f"kfi mirror promote {mirror} force", 60)
        s.primary[mirror] = copies[0]
    s.insync()
    for mirror in MIRRORS:
        s.write(mirror)


@case(900)
def cables_pulled(s):
    """each cable is pulled under writes, for less and for more than connections wait: no write fails, and both mirrors get in sync again"""
    for number, seconds in itertools.product(s.lot.sample(range(len(CABLES)), len(CABLES)), PULLS):
        s.pair.progress(f"cable {number} is pulled for {seconds} s")
        s.pair.devices.command(f"cable {number} unplug")
        time.sleep(seconds)
        if seconds > HOLD:
            s.until_more()
        s.pair.devices.command(f"cable {number} plug")
        s.wait_all_up()
        s.until_more()
        s.insync()
    for name, other in itertools.permutations(NAMES, 2):
        s.between(name, other)


@case(1800)
def machines_killed(s):
    """each machine loses its power under writes: the others go on, a mirror whose primary is lost with its other copy, and nothing is lost"""
    for name in s.lot.sample(NAMES, len(NAMES)):
        s.until_more()
        s.pair.progress(f"{name} loses its power")
        lost = [mirror for mirror, primary in s.primary.items() if primary == name]
        last = {mirror: s.writers.pop(mirror).last() for mirror in lost}
        s.pair.kill(name)
        for mirror in lost:
            s.primary[mirror] = [copy for copy in MIRRORS[mirror][0] if copy != name][0]
            s.pair.run(s.primary[mirror], f"until kfi mirror promote {mirror}; do sleep 0.5; done", 90)
            all_there(s, s.primary[mirror], last[mirror], mirror)
            s.write(mirror, last[mirror] + 1)
        s.until_more()
        s.between(*s.others(name))
        s.pair.boot(name)
        s.load(name)
        s.wait_all_up()
        for mirror in MIRRORS:
            s.up(name, mirror)
        s.insync()
    for mirror, writer in s.writers.items():
        writer.job.kill()
        all_there(s, s.primary[mirror], writer.last(), mirror)
    s.writers.clear()


@case(600)
def renamed(s):
    """a machine comes back under another name, by which the others reach it, and then under the old one"""
    for mirror, name in itertools.product(MIRRORS, NAMES):
        if s.primary[mirror] == name:
            s.pair.run(name, f"kfi mirror demote {mirror}", 60)
    for mirror, name in itertools.product(MIRRORS, NAMES):
        s.pair.run(name, f"kfi mirror down {mirror}", 60)
    for host in ("third", "c"):
        s.pair.kill("c")
        s.pair.boot("c")
        s.load("c", host)
        for name in "ab":
            cables.wait(lambda n=name, h=host: cables.is_up(s, n, f"{h}.0"), f"{name}: {host}.0 is not up")
            s.kfi.serve("c", "rdm", 971, "usb4")
            s.kfi.perf(name, host, provider="usb4", type="rdm", service=971, op="send,write", size="64,65536", iterations=10, mode="latency", verify=True)
            s.kfi.command("c", "perf stop")


def run_series(series, verdict, opts):
    logs = os.path.join(vm.BUILD, f"vm-{series}", "ring")
    ko, tool = bed.build(series, verdict.progress, logs)
    devices = bed.Devices(Legs(LEG_MIB), usb4sim.Usb4sim(*CABLES, seed=opts.seed, uuid_per_boot=True))
    with vm.Pair(series, logs, names=tuple(NAMES), ko=ko, programs=[tool], modules=[*usb4sim.MODULES, "dm_mod", "virtio_blk"], append="rootfstype=ramfs",
                 devices=devices, progress=verdict.progress) as pair:
        ring = Ring(pair, opts.seed)
        for function, budget, _ in CASES:
            if function not in (joined, mirrored) and not any(word in function.__name__ for word in opts.wanted.split(",")):
                continue
            if not verdict.case(series, function, budget, ring):
                if usable(pair):
                    print(f"     what the machines were doing is in {ring.kfi.stuck()}")
                verdict.say(series, "the cases after that", 0, "they need what the failed case has left")
                return


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series", nargs="*", default=["6.12"])
    parser.add_argument("-k", dest="wanted", default="", metavar="WORD",
                        help="besides the first two, only cases with this word in their name, or one of these (A,B)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="of the order of troubles, and of frames that get lost")
    opts = parser.parse_args()
    verdict = Verdict(vm.Progress())
    print(f"seed {opts.seed}", flush=True)
    return bed.closing(verdict, opts.series, lambda series: once_more(series, verdict, lambda: run_series(series, verdict, opts)), "the three machines")


if __name__ == "__main__":
    sys.exit(main())
