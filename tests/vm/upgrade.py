#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""upgrade.py [--provider sockets|verbs|ntb|usb4] [-k WORD] [6.12]: two machines, of which one has another kfabric

Besides this tree the machines have the tree of tests/upgrade/frozen, which stands for what is in service; what tests/upgrade/next
makes of this one: the next release, with another version and features of each wire; and one that speaks no version of this tree. For
each pair of trees that have to work together, either machine has either tree. Then a mirror is upgraded node by node under load, and
back, and once more while each machine loses its power. At last each wire is refused, and named. After each case the consoles must be clean. The last line is "N passed, N failed".
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import bed               # noqa: E402
import nvme              # noqa: E402
import pair as vm        # noqa: E402
import rdma              # noqa: E402
from scenario import PROMISE, Scenario, Verdict, check, once_more, usable  # noqa: E402

UPGRADE = os.path.join(bed.TOP, "tests", "upgrade")
TREES = ("this", "before", "next", "apart")
# Which have to work together: the trees of a and b
TOGETHER = (("this", "before"), ("before", "this"), ("this", "next"), ("next", "this"), ("next", "next"))
OURS = ("kfi", "kfi_ulp", "kfi_sockets", "kfi_loop", "kfi_verbs", "kfi_ntb", "kfi_usb4", "kfi_perf", "kfi_net", "kfi_ib", "kfi_mirror", "nvme-kfi", "nvmet-kfi")
# In the guests: the modules of each tree, and its tool
PLACE = "/trees"
USE = """set -e
extra=/lib/modules/$(uname -r)/extra
cp {place}/{tree}/*.ko $extra/
cp {place}/{tree}/kfi /usr/sbin/kfi
depmod
"""
# What is loaded last goes first; a module that others use is tried again.
DROP = """
for try in 1 2 3 4 5 6 7 8; do
	for module in $(grep -oE '^(kfi_[a-z0-9_]+|nvme_kfi|nvmet_kfi|kfi)' /proc/modules); do rmmod $module 2>/dev/null; done
done
! grep -E '^(kfi|nvme_kfi|nvmet_kfi)' /proc/modules
"""
MIRROR = """uuid = 6ba7b810-9dad-11d1-80b4-00c04fd430c8
node a {{
	leg = {leg_a}
	address = {a}
}}
node b {{
	leg = {leg_b}
	address = {b}
}}
"""
LEG_KIB = 96 << 10
# Legs that outlive their machines, see Legs
LASTING = {"leg_a": "/dev/vda", "leg_b": "/dev/vdb"}
LOG_MIB = 16
# What NFS needs of the stock kernel
NFS_MODULES = (*rdma.MODULES, *rdma.Nfs.modules)
# Seconds within which a peer without a common version has to be named
NAMED = 2
# Seconds of a planned change of roles, of which an emulated machine takes most
CHANGE = 15


class Legs(nvme.Disk):
    """A file of the host for the leg of each machine: what was acknowledged outlives the machine. It is the second disk of b."""

    def start(self, run_dir, _logs):
        self.path = os.path.join(run_dir, "leg")
        for name in "ab":
            with open(f"{self.path}-{name}", "wb") as file:
                file.truncate(self.mib << 20)

    def arguments(self, name, _memory):
        return ["-drive", f"file={self.path}-{name},format=raw,if=none,id=leg", "-device", "virtio-blk-pci,drive=leg,romfile="]


class Nfs(rdma.Nfs):
    """A server that starts and ends with each pair of trees, and no other one in its way"""

    ELSEWHERE = ":"


class Upgrade(Scenario):
    """Two machines that change their trees"""

    def __init__(self, pair, provider, opts):
        super().__init__(pair, provider, seed=opts.seed)
        self.opts = opts
        self.trees = {}
        self.nvme = nvme.Nvme(pair, provider, PROMISE[provider][0], named=True)
        self.nfs = Nfs(pair, rdma.Sockets(pair))

    def use(self, **trees):
        """Unload kfabric on these machines, and give each its tree."""
        for name, tree in trees.items():
            self.pair.run(name, DROP, 60)
            if self.trees.get(name) != tree:
                self.pair.run(name, USE.format(place=PLACE, tree=tree))
                self.trees[name] = tree

    def load_both(self):
        for name in self.pair.vms:
            self.below(name)
            self.load(name)

    def refused(self, name):
        """Return what `kfi show versions` says of peers, by wire. The tree in service may not have it yet."""
        if self.trees.get(name) == "before":
            return {}
        return {row["wire"]: row for row in self.kfi.json(name, "show versions") if row.get("refused")}

    def until_refused(self, name, wire, start):
        """Within a short time the peer has to be named: by the list, and by the log."""
        while wire not in self.refused(name):
            check(time.monotonic() < start + NAMED + bed_slack(), f"{name}: {wire}: not named: {self.refused(name)}")
            time.sleep(0.1)
        row = self.refused(name)[wire]
        log = self.pair.run(name, "dmesg").text
        check(re.search(rf"kfi: .* speaks version \d.* of {re.escape(wire)}, and this machine \d.*: install", log),
              f"{name}: {wire}: the log does not say it:\n{log[-2000:]}")
        check(row["refused"] and row["lowest"] and row["highest"] and "install a newer kfabric" in row["help"], row)
        text = self.pair.run(name, "kfi show 2>&1 >/dev/null").text
        check(f"of {wire}" in text, f"{name}: kfi show does not say it: {text}")


def bed_slack():
    """Emulated machines are slow."""
    return 8


CASES = []
case = bed.register_in(CASES)
LAST = []
last = bed.register_in(LAST)


# ---- for each pair of trees ----

@case(300)
def messages(s):
    """messages and RMA of all kinds between endpoints of both types, each byte compared"""
    s.load_both()
    for kind in ("rdm", "msg"):
        s.traffic(kind, size="1,64,4096,65536,1048576", iterations=10)
    for name in s.pair.vms:
        check(not s.refused(name), f"{name}: {s.refused(name)}")
    s.kfi.command("b", "perf stop")


@case(300)
def disk(s):
    """NVMe: writes and reads of 512 bytes to 1 MiB, each byte with a checksum"""
    s.nvme.load_target()
    s.nvme.target()
    s.nvme.load_host()
    device = s.nvme.connect(nr_io_queues=2)
    s.nvme.fio(device, "512-64k", 16, 4)
    s.nvme.fio(device, "4k-1m", 8, 8)
    s.nvme.disconnect()
    s.nvme.drop_target()
    s.pair.run("b", "rmmod nvmet_kfi nvmet")


@case(180, "sockets")
def device(s):
    """a network device: the carrier is on, and packets of all sizes pass"""
    for name, peer in (("a", "b"), ("b", "a")):
        s.pair.run(name, f"""modprobe kfi_sockets && modprobe kfi_net && ip link add link eth0 name kfi0 type kfi &&
            echo {s.pair.address(peer)} >/sys/class/net/kfi0/kfi/peers && ip link set kfi0 up &&
            ip addr add 10.99.0.{1 if name == "a" else 2}/24 dev kfi0""")
    for size in (1, 1400, 20000):
        s.pair.run("a", f"until ping -q -c 3 -W 2 -s {size} 10.99.0.2; do sleep 0.5; done", 60)
    for name in s.pair.vms:
        s.pair.run(name, "ip link del kfi0")


@case(300, "sockets")
def nfs(s):
    """NFS over kfi_ib: writes that are compared, and a copy of a file"""
    s.pair.run("b", f"modprobe virtio_blk && dd if=/dev/zero of={s.nfs.disk} bs=1M count=1")
    for name in s.pair.vms:
        s.pair.run(name, f"[ -e {rdma.ROOT}/nfs ] || sh -c '{rdma.ENTER}'")
        s.nfs.network.enter(name)
    for name in s.pair.vms:
        rdma.link(s.pair, s.nfs.network, name)
    s.nfs.serve()
    s.nfs.connect()
    log = nvme.WriteLog(s.pair.spawn("a", f"writelog {s.nfs.where} {rdma.LOG_MIB} 36000 4"))
    log.until_more(60)
    log.finish()
    s.nfs.copied()
    s.nfs.disconnect()
    s.nfs.drop()


# ---- once ----

def mirror_up(s, name, create=False, legs=None):
    text = MIRROR.format(a=s.pair.address("a"), b=s.pair.address("b"), **(legs or {"leg_a": "/dev/ram0", "leg_b": "/dev/ram0"}))
    s.pair.run(name, f"""modprobe kfi_sockets peer_timeout_ms=3000 && modprobe kfi_mirror && modprobe virtio_blk && modprobe brd rd_nr=1 rd_size={LEG_KIB} &&
        mkdir -p /etc/kfabric/mirror.d && echo '{text}' >/etc/kfabric/mirror.d/r0.conf &&
        hostname {name} && kfi mirror up {"--create " if create else ""}r0""")


def insync(s, name):
    s.pair.run(name, "kfi mirror wait r0 insync", 90)


def change_roles(s, old, new):
    """A planned one. Return the seconds for which neither node had the disk."""
    start = time.monotonic()
    s.pair.run(old, "kfi mirror demote r0", 60)
    s.pair.run(new, "kfi mirror promote r0", 60)
    return time.monotonic() - start


def writes(s, name):
    return nvme.WriteLog(s.pair.spawn(name, f"writelog /dev/mapper/r0 {LOG_MIB} 36000 4"))


def upgrade_secondary(s, primary, secondary, tree):
    """The secondary gets another tree while the primary writes: no write fails, and none is lost. Its command comes first, as packages
    bring it, and knows the modules that are loaded."""
    log = writes(s, primary)
    log.until_more(30)
    s.pair.run(secondary, f"cp {PLACE}/{tree}/kfi /usr/sbin/kfi")
    insync(s, secondary)
    s.pair.run(secondary, "kfi mirror down r0", 60)
    s.use(**{secondary: tree})
    before = log.count()
    mirror_up(s, secondary)
    log.until_more(60, before)
    insync(s, primary)
    log.until_more(30)
    log.finish()


@last(900, "sockets")
def mirror_rolls(s):
    """a mirror under load is upgraded node by node to this tree and to the next one, and goes back: no write fails or is lost"""
    s.use(a="before", b="before")
    for name in s.pair.vms:
        mirror_up(s, name, True)
    s.pair.run("a", "kfi mirror promote r0 force", 60)
    insync(s, "a")
    primary, secondary = "a", "b"
    for tree in ("this", "next", "this", "before"):
        for _ in range(2):
            upgrade_secondary(s, primary, secondary, tree)
            pause = change_roles(s, primary, secondary)
            check(pause < CHANGE, f"{pause:.1f} s without a disk")
            primary, secondary = secondary, primary
            s.pair.progress(f"{primary} is primary with {s.trees[primary]}, after {pause:.1f} s")
    s.pair.run(primary, "kfi mirror demote r0", 60)
    for name in s.pair.vms:
        s.pair.run(name, "kfi mirror down r0 && rmmod kfi_mirror", 60)


class Numbers:
    """Numbers that a machine writes to a mirror, block after block. What it has acknowledged is known here."""

    WRITE = """i={first}
        while printf '%-4096d' $i | dd of=/dev/mapper/{mirror} bs=4096 seek=$i conv=fsync,notrunc 2>/dev/null; do echo $i; i=$((i + 1)); done"""

    def __init__(self, s, name, first, mirror="r0"):
        self.first = first
        self.job = s.pair.spawn(name, self.WRITE.format(first=first, mirror=mirror))

    def last(self):
        """Return the last number that was acknowledged, or the one before the first."""
        said = re.findall(r"^(\d+)\n", self.job.output(), re.M)
        return int(said[-1]) if said else self.first - 1

    def until_more(self, timeout=60):
        end, than = time.monotonic() + timeout, self.last()
        while self.last() <= than:
            check(time.monotonic() < end, f"no write was acknowledged for {timeout} s")
            time.sleep(0.1)


def all_there(s, name, last, mirror="r0"):
    """Read what was acknowledged, by all of them."""
    s.pair.run(name, f"""seq 1 {last} >/tmp/want; echo 3 >/proc/sys/vm/drop_caches
        dd if=/dev/mapper/{mirror} bs=4096 skip=1 count={last} 2>/dev/null | tr -s ' ' '\\n' | cmp - /tmp/want""", 60)


def goes_on(s, name, numbers):
    """The other machine is off. If its copy was in sync, writes wait until somebody says so."""
    than, end = numbers.last() + 1, time.monotonic() + 60
    while numbers.last() <= than:
        outage = s.kfi.json(name, "mirror show r0")[0]["outage"]
        if outage is not None:
            s.kfi.command(name, f"mirror fenced r0 {outage}", check=False)
        check(time.monotonic() < end, "no write was acknowledged for 60 s")
        time.sleep(0.1)


def comes_back(s, name, tree):
    """A machine that has lost its power boots with another tree."""
    s.pair.boot(name)
    s.trees.pop(name)
    s.use(**{name: tree})
    mirror_up(s, name, legs=LASTING)


@last(600, "sockets")
def mirror_rolls_killed(s):
    """a mirror under load is upgraded while each node loses its power once, the primary, too: no acknowledged write is lost"""
    lot = random.Random(s.opts.seed)
    s.use(a="before", b="before")
    for name in s.pair.vms:
        mirror_up(s, name, True, LASTING)
    s.pair.run("a", "kfi mirror promote r0 force", 60)
    insync(s, "a")
    numbers = Numbers(s, "a", 1)
    numbers.until_more()
    s.pair.run("b", "kfi mirror down r0", 60)
    s.use(b="this")
    mirror_up(s, "b", legs=LASTING)
    time.sleep(lot.uniform(0, 2))
    s.pair.progress("b, with this tree, loses its power")
    s.pair.kill("b")
    goes_on(s, "a", numbers)
    comes_back(s, "b", "this")
    insync(s, "a")
    numbers.until_more()
    s.pair.progress("a, with the tree in service, loses its power")
    last = numbers.last()
    s.pair.kill("a")
    s.pair.run("b", "until kfi mirror promote r0 force; do sleep 0.5; done", 60)
    all_there(s, "b", last)
    numbers = Numbers(s, "b", last + 1)
    numbers.until_more()
    comes_back(s, "a", "this")
    insync(s, "b")
    numbers.until_more()
    numbers.job.kill()
    last = numbers.last()
    change_roles(s, "b", "a")
    all_there(s, "a", last)
    s.pair.progress(f"{last} writes are there")
    s.pair.run("a", "kfi mirror demote r0", 60)
    for name in s.pair.vms:
        s.pair.run(name, "kfi mirror down r0 && rmmod kfi_mirror", 60)


@last(300)
def apart_is_named(s):
    """a peer without a common version is named by both machines, for each wire of the provider"""
    s.use(a="this", b="apart")
    wires = {"sockets": "the message protocol", "verbs": "links over verbs", "ntb": "bridges", "usb4": "USB4 cables"}
    for name in s.pair.vms:
        s.below(name)
        s.load(name)
    if s.provider not in bed.SIDES:
        s.kfi.serve("b", "rdm", 971, s.provider)
        start = time.monotonic()
        failed = s.kfi.command("a", f"perf run {s.address} --provider {s.provider} --type rdm --service 971 --timeout 5", 60, check=False)
        check(failed.status, "versions apart have measured something")
    else:
        start = time.monotonic() + TIMEOUT_OF_WAYS
    for name in s.pair.vms:
        s.until_refused(name, wires[s.provider], start)
    if s.provider == "usb4":
        shown = s.pair.run("a", "kfi show devices").text
        check("refused" in shown and "logs in" not in shown, shown)


# A bridge or a cable that is not up tries again after some seconds.
TIMEOUT_OF_WAYS = 20


@last(300, "sockets")
def consumers_say_it(s):
    """network device and mirror say in their own status that no version is common"""
    s.use(a="this", b="apart")
    for name, peer in (("a", "b"), ("b", "a")):
        s.pair.run(name, f"""modprobe kfi_sockets && modprobe kfi_net && ip link add link eth0 name kfi0 type kfi &&
            echo {s.pair.address(peer)} >/sys/class/net/kfi0/kfi/peers && ip link set kfi0 up""")
        mirror_up(s, name, True)
    for name in s.pair.vms:
        s.pair.run(name, "until grep -q 'down: no version is common' /sys/class/net/kfi0/kfi/peers; do sleep 0.2; done", NAMED + bed_slack())
    s.pair.run("a", "kfi mirror promote r0 force & until kfi mirror show r0 | grep -q other-version; do sleep 0.2; done; kill %1; true", 30)
    for name in s.pair.vms:
        s.pair.run(name, "ip link del kfi0; kfi mirror down r0; rmmod kfi_mirror; true", 60)


# Trees that other cases than refusals need
ROLLS = {mirror_rolls: ("this", "before", "next"), mirror_rolls_killed: ("this", "before")}


# ---- trees ----

def frozen():
    with open(os.path.join(UPGRADE, "frozen"), encoding="utf-8") as file:
        return [line for line in file.read().splitlines() if line and not line.startswith("#")][0]


def make_tree(tree, out):
    """Make the sources of a tree at @out, without what was built there."""
    sources = subprocess.Popen(["git", "-C", bed.TOP, "archive", frozen()] if tree == "before" else
                               ["tar", "-C", bed.TOP, "-c", "--exclude=*.o", "--exclude=*.ko", "--exclude=*.mod*", "--exclude=.*.cmd", "Kbuild", "Makefile",
                                "include", "kfi", "providers", "ulps", "tools", "tests"], stdout=subprocess.PIPE)
    fresh = out + ".new"
    shutil.rmtree(fresh, ignore_errors=True)
    os.makedirs(fresh)
    subprocess.run(["tar", "-C", fresh, "-x"], stdin=sources.stdout, check=True)
    if sources.wait():
        raise vm.VmError(f"the sources of {tree} are not there")
    if tree in ("next", "apart"):
        subprocess.run([os.path.join(UPGRADE, "next"), fresh, *(["apart"] if tree == "apart" else [])], check=True)
    # what was built of the same files stays
    os.makedirs(out, exist_ok=True)
    subprocess.run(["rsync", "-rlp", "--checksum", "--delete", "--exclude=/build", "--exclude=*.o", "--exclude=/tools/kfi/kfi", fresh + "/", out + "/"],
                   check=True)
    shutil.rmtree(fresh)


def build_tree(tree, series, progress, logs):
    """Build modules and tool of a tree. Return files for the guests."""
    top = bed.TOP
    if tree != "this":        # which nvme.guest_files() has built
        top = os.path.join(vm.BUILD, "upgrade", tree)
        make_tree(tree, top)
        progress.during(f"{series}: building the modules of {tree}", [os.path.join(top, "tests", "vm", "modules"), series],
                        os.path.join(logs, f"modules-{tree}.log"))
        progress.during(f"building the tool of {tree}", ["make", "-C", os.path.join(top, "tools", "kfi")],
                        os.path.join(logs, f"tool-{tree}.log"))
    ko, out = os.path.join(top, "build", f"vm-{series}", "ko"), os.path.join(logs, "trees", tree)
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    names = [name for name in os.listdir(ko) if name.split(".")[0] in OURS]
    for name in names:
        subprocess.run(["strip", "--strip-debug", "-o", os.path.join(out, name), os.path.join(ko, name)], check=True)
    shutil.copy(os.path.join(top, "tools", "kfi", "kfi"), out)
    return [f"{out}/{name}:{PLACE}/{tree}/{name}" for name in [*names, "kfi"]]


def chosen(opts):
    """Return name, function, budget and trees of each case that was asked for. The trees of one of CASES are those of a and b."""
    rows = [(f"{function.__name__} {a} {b}", function, budget, (a, b)) for a, b in TOGETHER for function, budget, providers in CASES
            if opts.provider in (providers or PROMISE)]
    rows += [(function.__name__, function, budget, ROLLS.get(function, ("this", "apart")))
             for function, budget, providers in LAST if opts.provider in (providers or PROMISE)]
    return [row for row in rows if any(word in row[0] for word in opts.wanted.split(","))]


def run_series(series, verdict, opts):
    logs = os.path.join(vm.BUILD, f"vm-{series}", f"upgrade-{opts.provider}")
    rows = chosen(opts)
    ko, programs = nvme.guest_files(series, verdict, logs, misfits=False)
    for tree in TREES:
        if any(tree in needs for _, _, _, needs in rows):
            programs += build_tree(tree, series, verdict.progress, logs)
    modules, extra, devices = [*nvme.guest_modules(series), "dm_mod", "brd"], [], []
    if opts.provider == "sockets":
        modules += NFS_MODULES
        extra = rdma.share(rdma.need(verdict.progress, logs))
        devices = [Legs(LEG_KIB >> 10)]
    with bed.machines(opts.provider, series, logs, ko, programs=programs, modules=list(dict.fromkeys(modules)), memory="1G",
                      append="rootfstype=ramfs", disk=nvme.Disk(nvme.DISK_MIB), devices=devices, qemu_extra=extra,
                      load={name: NFS_MODULES for name in "ab"} if extra else {}, progress=verdict.progress, seed=opts.seed) as pair:
        s = Upgrade(pair, opts.provider, opts)
        for name, function, budget, needs in rows:
            trees = dict(zip("ab", needs)) if name != function.__name__ else {}

            def run(scenario, function=function, trees=trees):
                scenario.use(**trees)
                function(scenario)

            run.__name__ = name.replace(" ", "-")
            run.__doc__ = function.__doc__
            if not verdict.case(series, run, budget, s):
                if not usable(pair):
                    verdict.say(series, "the cases after that", 0, "a machine is broken")
                    return
                for each in pair.vms:
                    pair.restart(each)
                s.trees = {}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series", nargs="*", default=["6.12"])
    parser.add_argument("--provider", choices=("sockets", "verbs", "ntb", "usb4"), default="sockets")
    parser.add_argument("-k", dest="wanted", default="", metavar="WORD", help="only cases with this word in their name and trees, or one of these (A,B)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="usb4: of frames that get lost")
    opts = parser.parse_args()
    print(f"seed {opts.seed}", flush=True)
    verdict = Verdict(vm.Progress())
    return bed.closing(verdict, opts.series, lambda series: once_more(series, verdict, lambda: run_series(series, verdict, opts)))


if __name__ == "__main__":
    sys.exit(main())
