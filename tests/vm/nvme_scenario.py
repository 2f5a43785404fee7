#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""nvme_scenario.py [--provider sockets|verbs|ntb] [options] 6.1|6.12...: NVMe over kfabric

Stock kernels. On 6.12 the target has its own transport type, with an nvmet.ko that knows its name
(tests/vm/nvmet); on 6.1 it uses a type that the stock nvmet knows. After each case the consoles
must be clean. The last line is "N passed, N failed".
"""

import argparse
import os
import random
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import bed               # noqa: E402
import nvme_bed          # noqa: E402
import pair as vm        # noqa: E402
from scenario import PROMISE, Verdict, check, usable  # noqa: E402

CASES = []
DISK_MIB = 256
# Our modules once more, built with other private headers: tests/vm/nvme-misfit
MISFITS = "/lib/misfit"
# Of the kernel's own log, since the mark of this case
MARK = "kfabric-nvme-case"
# Reconnects follow quickly, and never end by themselves.
PATIENT = {"reconnect_delay": 1, "ctrl_loss_tmo": -1, "keep_alive_tmo": 5, "nr_io_queues": 2}
PORT_OF_NOBODY = 4499
SECOND_PORT = 4421
# An address without a machine, and one without a route: a bridge has only one machine behind it.
NOWHERE = {"sockets": ("10.77.0.99", "192.0.2.1"), "verbs": ("10.77.0.99", "192.0.2.1"), "ntb": (None, "7")}


def case(budget, *providers):
    """Register a case, for all providers by default; it fails if it exceeds its budget of seconds.
    """
    def register(function):
        CASES.append((function, budget, providers or tuple(PROMISE)))
        return function
    return register


class Scenario:
    """One pair of machines, on which all cases run in order"""

    def __init__(self, pair, provider, opts):
        self.pair = pair
        self.opts = opts
        self.lot = random.Random(opts.seed)
        self.nvme = nvme_bed.Nvme(pair, provider, PROMISE[provider][0], named=pair.series != "6.1")
        self.kfi = bed.Kfi(pair, provider)

    def mark(self, name="a"):
        self.pair.run(name, f"echo {MARK} >/dev/kmsg")

    def log(self, name="a"):
        """Return the kernel's messages since the last mark."""
        return self.pair.run(name, "dmesg").text.rpartition(MARK)[2]

    def refused(self, says, limit, **options):
        """`nvme connect` has to fail in time, and the log has to say why."""
        self.mark()
        result = self.pair.run("a", self.nvme.connect_words(**options), timeout=limit + 60, check=False)
        check(result.status != 0, f"connected: {options}")
        check(result.seconds <= limit, f"{options}: failed after {result.seconds:.0f} s, not {limit}")
        said = self.log() + result.text
        check(any(word in said for word in says), f"{options}: nothing says {says}:\n{said}")
        check(not self.nvme.controllers(), f"{options}: left over: {self.nvme.controllers()}")

    def fall_silent(self):
        """Drop everything silently."""
        if self.nvme.provider == "ntb":
            self.pair.devices.command("link 0 stuck on")
            self.pair.devices.command("link 0 down")
        else:
            self.pair.run("b", "tc qdisc replace dev eth0 root netem loss 100%")

    def speak_again(self):
        if self.nvme.provider == "ntb":
            self.pair.devices.command("link 0 up")
            self.pair.devices.command("link 0 stuck off")
        else:
            self.pair.run("b", "tc qdisc del dev eth0 root")

    def kill_target(self):
        """Kill machine b and start it again with the same disk."""
        self.pair.kill("b")
        self.pair.boot("b")
        self.nvme.load_target()
        self.nvme.target()


@case(240)
def load(s):
    """the target's modules load, and a port by its type's name; nvme connect loads nvme-kfi"""
    s.mark("b")
    s.nvme.load_target()
    check("not compared" not in s.log("b"), s.log("b"))
    s.nvme.target()
    s.nvme.load_host()
    s.nvme.connect(nr_io_queues=2)
    listed = s.pair.run("a", "nvme list-subsys").text
    check(" kfi " in listed and "live" in listed, listed)
    s.nvme.disconnect()


@case(240)
def type_254(s):
    """without its type the module replaces loop, by parameter, and not beside nvme-loop"""
    s.nvme.drop_target()
    s.nvme.unload_target()
    s.pair.run("b", "modprobe nvmet && modprobe kfi_" + s.nvme.provider)
    s.mark("b")
    check(s.pair.run("b", "modprobe nvmet-kfi trtype=3", check=False).status != 0, "trtype=3 was taken")
    check("trtype is 253, or 254" in s.log("b"), s.log("b"))
    if s.pair.run("b", "modprobe nvme-loop", check=False).status == 0:
        check(s.pair.run("b", "modprobe nvmet-kfi trtype=254", check=False).status != 0, "nvme-loop's type was taken")
        check("has another owner" in s.log("b"), s.log("b"))
        s.pair.run("b", "rmmod nvme-loop nvme-fabrics")
    other = nvme_bed.Nvme(s.pair, s.nvme.provider)
    s.pair.run("b", "modprobe nvmet-kfi trtype=254")
    other.target()
    other.connect()
    other.disconnect()
    other.drop_target()
    s.pair.run("b", "rmmod nvmet_kfi && modprobe nvmet-kfi")
    check(other.port(check=False, trtype="kfi").status != 0, "a stock nvmet knows the name kfi")
    s.pair.run("b", f"rmdir {nvme_bed.CONFIG}/ports/1 && rmmod nvmet_kfi nvmet")
    s.nvme.load_target()
    s.nvme.target()


@case(180)
def other_layout(s):
    """modules built with other structures than the kernel's are refused, and the log says why"""
    s.nvme.drop_target()
    s.nvme.unload_target()
    s.pair.run("b", f"modprobe nvmet && modprobe kfi_{s.nvme.provider}")
    s.pair.run("a", "rmmod nvme_kfi")
    for name, module, core in (("a", "nvme-kfi", "nvme_core"), ("b", "nvmet-kfi", "nvmet")):
        s.mark(name)
        check(s.pair.run(name, f"insmod {MISFITS}/{module}.ko", check=False).status != 0, f"a misfit of {module} was loaded")
        check(f"not built for this kernel's {core}: struct " in s.log(name), s.log(name))
        s.pair.run(name, f"modprobe {module}")
        check("not compared" not in s.log(name), s.log(name))
    s.pair.run("b", "rmmod nvmet_kfi nvmet")
    s.nvme.load_target()
    s.nvme.target()


@case(300)
def verified(s):
    """sizes from 512 bytes to 1 MiB, depths from 1 to 64, each byte with a checksum"""
    disk = s.nvme.connect(nr_io_queues=2)
    s.nvme.fio(disk, "512-4k", 1, size="256k")
    s.nvme.fio(disk, "512-64k", 16, 4)
    s.nvme.fio(disk, "4k-1m", 8, 16)
    s.nvme.fio(disk, "512-16k", 64, 2)
    s.nvme.fio(disk, "512-128k", 16, 4, rw="randrw", io_size="6M")
    s.nvme.disconnect()


@case(240)
def file_system(s):
    """ext4: made, written, unmounted, checked, mounted again over a new connection, compared"""
    disk = s.nvme.connect(nr_io_queues=2)
    s.pair.run("a", "modprobe crc32c_generic; modprobe ext4")
    s.pair.run("a", f"mkfs.ext4 -q -F {disk} && mkdir -p /mnt && mount -t ext4 {disk} /mnt && "
               "for n in 1 2 3 4; do head -c 4000000 /dev/urandom >/mnt/$n; done && "
               "(cd /mnt && sha256sum 1 2 3 4) >/tmp/sums && umount /mnt && e2fsck -f -n " + disk, 200)
    s.nvme.disconnect()
    disk = s.nvme.connect(nr_io_queues=1)
    s.pair.run("a", f"mount -t ext4 {disk} /mnt && (cd /mnt && sha256sum -c /tmp/sums) && umount /mnt", 120)
    s.nvme.disconnect()


@case(180)
def discovery(s):
    """nvme discover lists the subsystem, with an address that works"""
    discovered(s, nvme_bed.PORT)


def discovered(s, port):
    text = s.pair.run("a", f"nvme discover -t kfi -a {s.nvme.node} -s {port}").text
    check(nvme_bed.NQN in text and re.search(rf"traddr: *{re.escape(s.nvme.node)}\s", text), text)


@case(180, "sockets", "verbs")
def all_addresses(s):
    """a port on 0.0.0.0: discovery returns the address that the host has used, and it works"""
    s.nvme.port(number=2, port=SECOND_PORT, address="0.0.0.0")
    discovered(s, SECOND_PORT)
    s.nvme.connect(port=SECOND_PORT)
    s.nvme.disconnect()
    s.nvme.drop_port(2)


@case(400)
def two_paths(s):
    """two ports to one disk, either goes under load: no acknowledged write is lost"""
    s.nvme.port(number=2, port=SECOND_PORT)
    disk = s.nvme.connect(**PATIENT)
    paths = [(s.nvme.ctrl, 1, nvme_bed.PORT)]
    s.nvme.connect(port=SECOND_PORT, **PATIENT)
    paths.append((s.nvme.ctrl, 2, SECOND_PORT))
    log = s.nvme.write_log(disk, 600)
    for ctrl, number, port in 2 * paths:
        log.until_more(60)
        s.nvme.drop_port(number)
        for _ in range(3):
            log.until_more(30)
        check(s.nvme.state(ctrl) != "live", f"{ctrl} lives without its port")
        s.nvme.port(number=number, port=port)
        s.nvme.until_live(60, ctrl)
    log.finish()
    for ctrl, _, _ in paths:
        s.nvme.disconnect(ctrl)
    s.nvme.drop_port(2)


@case(300)
def refusals(s):
    """wrong name, port, address, no route: a clear error in time, and nothing left"""
    s.refused(["failed to write to nvme-fabrics", "Connect Invalid", "Input/output error"], 15, nqn="nqn.none")
    s.refused(["(-111)"], 20, port=PORT_OF_NOBODY)
    nobody, nowhere = NOWHERE[s.nvme.provider]
    if nobody:
        s.refused(["(-110)", "(-113)"], 30, address=nobody)
    s.refused(["no provider of kfabric reaches"], 10, address=nowhere)


@case(300)
def silence(s):
    """a target that falls silent during the connect: a clear error in time"""
    over_ntb = s.nvme.provider == "ntb"
    if not over_ntb:
        s.pair.run("b", "tc qdisc replace dev eth0 root netem delay 400ms")
    # Nothing delays a bridge: the machine may be faster than the silence.
    for delay in (0.3, 0.1, 0.03, 0) if over_ntb else (1.2,):
        s.mark()
        job = s.pair.spawn("a", s.nvme.connect_words(nr_io_queues=2))
        time.sleep(delay)
        s.fall_silent()
        result = job.wait(90)
        s.speak_again()
        if result.status:
            break
        s.pair.run("a", f"nvme disconnect -n {nvme_bed.NQN}")
    check(result.status != 0, "connected to a target that says nothing")
    check("no connection to" in s.log() or "failed" in s.log().lower(), s.log())     # which, is the moment's
    check(not s.nvme.controllers(), "a controller is left over")


@case(400)
def resets(s):
    """resets in a loop under load: no acknowledged write is lost"""
    disk = s.nvme.connect(**PATIENT)
    log = s.nvme.write_log(disk, 600)
    log.until_more(30)
    for _ in range(s.opts.resets):
        s.pair.run("a", f"echo 1 >/sys/class/nvme/{s.nvme.ctrl}/reset_controller")
        time.sleep(s.lot.uniform(0, 0.5))
    s.nvme.until_live(60)
    log.until_more(60)
    log.finish()
    s.nvme.disconnect()


@case(3600)
def target_killed(s):
    """the target dies and comes back under load, at random moments: no acknowledged write is lost
    """
    disk = s.nvme.connect(**PATIENT)
    log = s.nvme.write_log(disk, 36000)
    for number in range(s.opts.kills):
        log.until_more(90)
        time.sleep(s.lot.uniform(0, 3))
        before = log.count()
        s.kill_target()
        log.until_more(120, before)
        s.nvme.until_live(60)
        s.pair.check_logs()
        s.pair.progress(f"{s.pair.series}: killed {number + 1} times, {log.count()} writes acknowledged")
    log.finish()
    s.nvme.disconnect()


@case(400)
def memory_pressure(s):
    """swap and heavy writeback on the disk with little memory: no stall, and no leak"""
    disk = s.nvme.connect(**PATIENT)
    s.pair.run("a", f"mkswap {disk} && swapon {disk}")
    free = int(s.pair.run("a", "awk '/^MemAvailable/ { print $2 }' /proc/meminfo").text) // 1024
    # what is left for the rest is little, and half of it has to live on the disk
    job = s.pair.spawn("a", f"hog 96 {s.opts.pressure} {free - 48}")
    try:
        result = job.wait(300)
        check(result.status == 0, result.text)
    finally:
        out = s.pair.run("a", "cat /proc/vmstat | grep -E 'pswp(in|out)'").text
        s.pair.run("a", f"swapoff {disk}", timeout=300)
    check(all(int(line.split()[1]) > 1000 for line in out.splitlines()), f"hardly anything was swapped: {out}")
    s.nvme.disconnect()


@case(400)
def again_and_again(s):
    """20 connects and disconnects: no endpoint, region, task or memory is left"""
    def left():
        return {name: len(s.kfi.json(name, f"show {what}")) for name in s.pair.vms for what in ("endpoints", "domains")}

    def slab():
        return int(s.pair.run("a", "awk '/^SUnreclaim/ { print $2 }' /proc/meminfo").text)

    s.nvme.connect(nr_io_queues=2)
    s.nvme.disconnect()
    before, memory = left(), slab()
    s.pair.run("a", f"for i in $(seq 20); do {s.nvme.connect_words(nr_io_queues=2)} && "
               f"nvme disconnect -n {nvme_bed.NQN} || exit 1; done", timeout=300)
    time.sleep(1)
    check(left() == before, f"before {before}, afterwards {left()}")
    check(slab() < memory + 4096, f"kernel memory was {memory} KiB, and is {slab()}")


@case(180)
def unload(s):
    """everything unloads"""
    s.nvme.drop_target()
    s.nvme.unload_target()
    s.nvme.unload_host()
    for name in s.pair.vms:
        check(not s.kfi.loaded(name), f"{name}: {s.kfi.loaded(name)} are still loaded")


def guest_files(series, verdict, logs, misfits):
    """Return a directory of files for the guests; with @misfits also those of other_layout()."""
    ko, tool = bed.build(series, verdict.progress, logs, "KFI_TESTS=y")
    nvme_bed.need(verdict.progress, logs)
    verdict.progress(f"{series}: nvmet.ko that knows kfi, modules for another kernel")
    files = [tool, *nvme_bed.programs(), f"{vm.script('nvmet', series)}/nvmet.ko:{nvme_bed.PATCHED}"]
    if misfits:
        where = vm.script("nvme-misfit", series)
        files += [f"{where}/{name}.ko:{MISFITS}/{name}.ko" for name in ("nvme-kfi", "nvmet-kfi")]
    return ko, files


def chosen(function, opts):
    """Is it one of the requested cases? The first one loads the modules for all."""
    name = function.__name__
    wanted = function is load or any(word in name for word in opts.wanted.split(","))
    return wanted and not any(word in name for word in opts.unwanted.split(",") if word)


def guest_modules(series):
    """Return the stock modules of the guests."""
    return [*nvme_bed.MODULES, *(["nvme_loop"] if series != "6.1" else [])]


def run_series(series, verdict, opts):
    """Run all cases on one kernel, on one pair; a broken pair ends the series."""
    logs = os.path.join(vm.BUILD, f"vm-{series}", f"nvme-{opts.provider}")
    ko, programs = guest_files(series, verdict, logs, chosen(other_layout, opts))
    with bed.machines(opts.provider, series, logs, ko, programs=programs,
                      modules=guest_modules(series), memory="640M", append="rootfstype=ramfs",
                      disk=nvme_bed.Disk(DISK_MIB), progress=verdict.progress) as pair:
        scenario = Scenario(pair, opts.provider, opts)
        for function, budget, providers in CASES:
            if opts.provider not in providers or not chosen(function, opts):
                continue
            if verdict.case(series, function, budget, scenario):
                continue
            if not usable(pair):
                verdict.say(series, "the cases after that", 0, "a machine is broken")
                return
            scenario.nvme.leave()


def arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series", nargs="*", help="6.1 and 6.12 unless told")
    parser.add_argument("--provider", choices=sorted(PROMISE), default="sockets")
    parser.add_argument("-k", dest="wanted", default="", metavar="WORD", help="only cases with this word in their name, or one of these (A,B)")
    parser.add_argument("--skip", dest="unwanted", default="", metavar="WORD",
                        help="no cases with this word, or one of these, in their name")
    parser.add_argument("--kills", type=int, default=1, help="how often the target dies under load")
    parser.add_argument("--resets", type=int, default=6, help="how many resets follow one another")
    parser.add_argument("--pressure", type=int, default=10, help="seconds of too little memory")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="of the moments at which trouble comes")
    return parser.parse_args(words)


def main():
    opts = arguments()
    verdict = Verdict(vm.Progress())
    print(f"seed {opts.seed}", flush=True)
    return bed.closing(verdict, opts.series or ["6.1", "6.12"], lambda series: run_series(series, verdict, opts))


if __name__ == "__main__":
    sys.exit(main())
