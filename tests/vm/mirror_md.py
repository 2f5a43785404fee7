#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""mirror_md.py [--provider sockets|verbs] [--seed N]: md RAID 1 with one leg over NVMe over kfabric

What docs/mirror-md.md describes, between two machines of a stock 6.12: machine a has the array over
its own disk and over that of machine b; ext4 is on it, and files are written with fsync(). Machine b
is killed and comes back, then machine a is killed and b starts the array from its own disk. All that
was acknowledged is compared. The last line is "N passed, N failed".
"""

import argparse
import os
import random
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import bed               # noqa: E402
import mirror            # noqa: E402
import nvme              # noqa: E402
import pair as vm        # noqa: E402
from scenario import Verdict, check, once_more  # noqa: E402

SERIES = "6.12"
LEG_MIB = 64
OWN = mirror.Disks.devices["leg"]
ARRAY = "/dev/md0"
MDADM = "MDADM_NO_UDEV=1 mdadm"
# Reconnects follow quickly and never end, and requests fail soon after the target is lost.
CONNECT = {"reconnect_delay": 1, "ctrl_loss_tmo": -1, "keep_alive_tmo": 2, "nr_io_queues": 2}
FAIL_SECONDS = 2
RECORDS = 200


class Scenario:
    """The array of machine a"""

    def __init__(self, pair, provider, seed):
        self.pair = pair
        self.nvme = nvme.Nvme(pair, provider, named=True)
        self.files = mirror.Mirror(pair, provider)
        self.lot = random.Random(seed)
        self.far = None           # the leg of machine b, as machine a sees it
        self.written = []

    def write(self, name="a"):
        """Start a writer; it has acknowledged some when this returns."""
        writer = mirror.Writer(self.pair, name, f"/mnt/{len(self.written)}", self.lot.randrange(1 << 31))
        writer.until(RECORDS + self.lot.randrange(RECORDS))
        return writer

    def note(self, writer):
        self.written.append((writer.folder, writer.seed, writer.counts()))

    def compare(self, name):
        for folder, seed, counts in self.written:
            self.files.check(name, folder, seed, counts)

    def md(self, name, what):
        return self.pair.run(name, f"cat /sys/block/md0/md/{what}").text.strip()

    def until_md(self, what, value, timeout=120):
        end = time.monotonic() + timeout
        while self.md("a", what) != value:
            check(time.monotonic() < end, f"{what} is {self.md('a', what)}, not {value}, after {timeout} s")
            time.sleep(0.2)

    def serve(self):
        self.nvme.load_target()
        self.nvme.target()


def made(s):
    """an array over a disk and over one behind nvme-kfi: write-mostly, failfast, with a bitmap; ext4"""
    s.serve()
    s.nvme.load_host()
    s.far = s.nvme.connect(**CONNECT)
    s.pair.run("a", f"echo {FAIL_SECONDS} >/sys/class/nvme/{s.nvme.ctrl}/fast_io_fail_tmo")
    s.pair.run("a", "modprobe -a virtio_blk raid1 ext4")
    s.pair.run("a", f"{MDADM} --create {ARRAY} --run --metadata=1.2 --level=1 --raid-devices=2 --bitmap=internal {OWN} "
               f"--write-mostly --failfast {s.far}", 120)
    # not only what the writer leaves free
    s.pair.run("a", "echo 100000 >/sys/block/md0/md/sync_speed_min")
    s.until_md("sync_action", "idle")
    s.until_md("degraded", "0")
    check(s.md("a", f"dev-{os.path.basename(s.far)}/state") == "in_sync,write_mostly,failfast", s.md("a", f"dev-{os.path.basename(s.far)}/state"))
    s.pair.run("a", f"mkfs.ext4 -q -F {ARRAY} && mkdir -p /mnt && mount -t ext4 {ARRAY} /mnt", 120)


def far_killed(s):
    """the machine of the far leg is killed: writes go on without it, and it is re-added by its bitmap"""
    writer = s.write()
    s.pair.kill("b")
    count = writer.acknowledged()
    s.until_md("degraded", "1", 60)
    writer.until(count + 50)
    s.pair.boot("b")
    s.serve()
    s.nvme.until_live(60)
    s.pair.run("a", f"{MDADM} --manage {ARRAY} --remove faulty; {MDADM} --manage {ARRAY} --re-add --write-mostly --failfast {s.far}")
    s.until_md("degraded", "0")
    s.until_md("sync_action", "idle")
    writer.until(writer.acknowledged() + 20)
    writer.stop()
    s.note(writer)
    s.compare("a")


def near_killed(s):
    """the machine of the array is killed: the other one starts it from its own disk, with all that was acknowledged"""
    writer = s.write()
    s.pair.vms["a"].process.kill()
    writer.killed()
    s.pair.kill("a")
    s.note(writer)
    s.nvme.drop_target()
    s.pair.run("b", f"modprobe -a raid1 ext4; {MDADM} --assemble --run {ARRAY} {OWN} && mkdir -p /mnt && mount -t ext4 {ARRAY} /mnt", 120)
    s.compare("b")
    writer = s.write("b")
    writer.stop()
    s.note(writer)
    s.pair.run("b", f"umount /mnt && e2fsck -f -n {ARRAY}", 120)


CASES = ((made, 180), (far_killed, 300), (near_killed, 180))


def run(opts, verdict, progress):
    out = os.path.join(vm.BUILD, "mirror-md")
    os.makedirs(out, exist_ok=True)
    ko, tool = bed.build(SERIES, progress, out)
    nvme.need(progress, out)
    progress.during("looking for mdadm", [os.path.join(vm.HERE, "need"), "md"], os.path.join(out, "need-md.log"))
    named = os.path.join(vm.script("nvmet", SERIES), "nvmet.ko")
    programs = [tool, "/usr/sbin/mdadm", *nvme.PROGRAMS, *mirror.programs(out), f"{named}:{nvme.PATCHED}"]
    with bed.machines(opts.provider, SERIES, out, ko, programs=list(dict.fromkeys(programs)), modules=[*nvme.MODULES, "raid1"],
                      memory="640M", disk=mirror.Disks(LEG_MIB), progress=progress) as pair:
        scenario = Scenario(pair, opts.provider, opts.seed)
        for function, budget in CASES:
            if not verdict.case(SERIES, function, budget, scenario):
                break


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--provider", choices=("sockets", "verbs"), default="sockets")
    parser.add_argument("--seed", type=int, default=mirror.new_seed())
    opts = parser.parse_args()
    print(f"seed {opts.seed}", flush=True)
    progress = vm.Progress()
    verdict = Verdict(progress)
    return bed.closing(verdict, [SERIES], lambda series: once_more(series, verdict, lambda: run(opts, verdict, progress)))


if __name__ == "__main__":
    sys.exit(main())
