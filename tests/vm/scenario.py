#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""scenario.py [--provider sockets|verbs|ntb|usb4] [-k WORD] 6.1|6.12|newest...: two machines and kfabric

Loads the modules on two machines of a stock kernel and simulates what happens in the field: traffic
of all kinds with verified data, a machine that dies, a wire that is unplugged. After each case the
consoles must be clean. The last line is "N passed, N failed".
"""

import argparse
import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import bed               # noqa: E402
import bridges           # noqa: E402
import cables            # noqa: E402
import pair as vm        # noqa: E402
from bed import check    # noqa: E402

CASES = []
case = bed.register_in(CASES)
OPS = "send,tagged,write,read"
# An MSG endpoint over verbs is a queue pair, which knows of no tags.
PLAIN_OPS = "send,write,read"
# A module's promise about dead peers, made shorter to save time, and the seconds that it comes to.
PROMISE = {
    "sockets": ("peer_timeout_ms=3000 connect_timeout_ms=3000", 4),
    # rdma_cm says again after four seconds what it has said in vain
    "verbs": ("peer_timeout_ms=3000 connect_timeout_ms=10000", 12),
    # what the link does not say itself; on a busy machine a late beat is no death
    "ntb": ("timeout_ms=8000 connect_timeout_ms=10000", 9),
    "usb4": ("timeout_s=8 hold_s=0 connect_timeout_ms=10000", 9),
}
# How many bridges there are between the machines.
BRIDGES = 2
# Seconds that such a case has for each pull, flap or kill that was asked for, beside its own budget
ROUND = 60
ROUNDS = {"pulls": "flaps", "pulls_held": "flaps", "flaps": "flaps", "survivor": "kills"}
# What the tester itself waits for any progress, and slack for emulation.
TESTER = 10
SLACK = 15

NODES = "ns_a=fd:7 ns_b=fd:8 node_a={} node_b={}"


class Scenario:
    """One pair of machines, on which all cases run in order"""

    def __init__(self, pair, provider, flaps=1, kills=2, seed=0, wanted=""):
        self.pair = pair
        self.provider = provider
        self.kfi = bed.Kfi(pair, provider)
        self.address = bed.node(provider, pair, "b")
        self.versions = (4,) if provider in bed.SIDES else (4, 6)
        self.flaps, self.kills, self.seed = flaps, kills, seed
        self.list_filter = wanted     # groups of the list that `conformance` runs, "" for all

    def below(self, name):
        self.pair.run(name, bed.BELOW[self.provider])

    def load(self, name, options=""):
        self.kfi.load(name, f"{PROMISE[self.provider][0]} {options}")

    def ops(self, kind):
        return PLAIN_OPS if (self.provider, kind) == ("verbs", "msg") else OPS

    def serve(self):
        """Start servers for both endpoint types on b, unless they run."""
        if self.provider == "usb4":
            cables.wait_up(self)
        if not self.kfi.json("b", "perf list"):
            self.kfi.serve("b", "rdm", 971, self.provider)
            self.kfi.serve("b", "msg", 7472, self.provider)

    def traffic(self, kind="rdm", version=4, timeout=60, **options):
        """Verified traffic from a to b, which must have been as requested"""
        self.serve()
        options.setdefault("op", self.ops(kind))
        options.setdefault("size", "1,64,4096,65536")
        options.setdefault("iterations", 20)
        options.setdefault("mode", "latency,bandwidth")
        rows = self.kfi.perf("a", bed.node(self.provider, self.pair, "b", version), timeout, verify=True, type=kind,
                             provider=self.provider, service=7472 if kind == "msg" else 971, **options)
        want = (len(options["op"].split(",")) * len(str(options["size"]).split(",")) *
                len(options["mode"].split(",")))
        check(len(rows) == want, f"{len(rows)} results instead of {want}")
        return rows

    def long_run(self, seconds, name="a", address=None, **options):
        """Start verified traffic in the background."""
        self.serve()
        options.setdefault("op", "write")
        options.setdefault("size", 16384)
        return self.pair.spawn(name, "kfi " + self.kfi.perf_words(
            address or self.address, provider=self.provider, mode="bandwidth", verify=True, duration=seconds,
            **options))

    def finish(self, job, timeout=60):
        result = job.wait(timeout)
        check(result.status == 0, f"{job} ended with {result.status}:\n{result.text}")
        return self.kfi.rows(result.text, job.vm.name)

    def fails_in_time(self, job, start):
        """The run must end by itself, with an error, within the promised time."""
        limit = PROMISE[self.provider][1] + TESTER + SLACK
        try:
            result = job.wait(max(1, start + limit - time.monotonic()))
        except vm.TimedOut:
            raise vm.TimedOut(f"{job} still waits {limit} s after its peer has died; "
                              f"see {self.kfi.stuck()}") from None
        check(result.status == 1, f"{job} ended with {result.status}:\n{result.text}")

    def conformance(self, name, tag, provider, sides):
        """Run the list on one machine, with its log in a file there. Return a Job."""
        self.pair.run(name, bed.TWO_NODES)
        return self.pair.spawn(name, f"""
            exec 7</run/netns/ca 8</run/netns/cb
            dmesg -c >/dev/null
            insmod /lib/modules/*/extra/kfi_conformance.ko provider={provider} quick=1 \\
                loss_ms=12000 stress_ms=1000 filter={self.list_filter} {sides}
            rmmod kfi_conformance
            echo "== {tag}"
            dmesg -c""")

    def conformance_verdict(self, job, provider):
        """Return whether all is well, and the output of tests/conformance/verdict."""
        text = job.wait(230).text
        tag = text.partition("== ")[2].split()[0]
        log = os.path.join(self.pair.logs, f"conformance-{tag}.log")
        with open(log, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([os.path.join(bed.TOP, "tests", "conformance", "verdict"),
                               provider, log], capture_output=True, text=True, check=False)
        return done.returncode == 0, f"{tag}, see {log}:\n{done.stdout}{done.stderr}"


@case(60)
def load_by_alias(s):
    """the modules load by name and by alias, and report their properties"""
    for name in s.pair.vms:
        s.below(name)
        if s.provider == "sockets" and s.pair.series == "6.1":
            s.pair.run(name, "! modprobe kfi_sockets tls=psk && dmesg | grep -q 'tls=psk is refused: this kernel has no TLS' && rmmod kfi")
        s.pair.run(name, "modprobe kfabric && grep -q '^kfi ' /proc/modules && rmmod kfi")
        s.pair.run(name, "modprobe kfi-provider-loop && grep -q '^kfi_loop ' /proc/modules")
        s.load(name)
        check(sorted(s.kfi.loaded(name)) == sorted(["kfi", "kfi_loop", "kfi_perf", "kfi_ulp", f"kfi_{s.provider}"]),
              f"{name}: loaded are {s.kfi.loaded(name)}")
    names = sorted(row["provider"] for row in s.kfi.json("a", "provider"))
    check(names == ["loop", s.provider], f"providers are {names}")


@case(120)
def rdm_traffic(s):
    """unconnected endpoints: every operation over IPv4 and IPv6"""
    for version in s.versions:
        s.traffic("rdm", version, size="4096" if version == 6 else "1,64,4096,65536")


@case(120)
def msg_traffic(s):
    """connected endpoints: every operation over IPv4 and IPv6"""
    for version in s.versions:
        s.traffic("msg", version, size="4096" if version == 6 else "1,64,4096,65536")


@case(90, "sockets")
def cpu_offline(s):
    """a CPU goes offline and comes back during traffic, twice"""
    job = s.long_run(10)
    for online in (0, 1, 0, 1):
        s.pair.run("a", f"sleep 1; echo {online} >/sys/devices/system/cpu/cpu1/online")
    check(job.poll() is None, "the run ended before its time")
    s.finish(job)


@case(120)
def peer_killed(s):
    """a machine dies during traffic: errors in time, and its successor works"""
    jobs = [s.long_run(100, depth=512, size=4096),
            s.long_run(100, op="send", size=64, type="msg", service=7472)]
    time.sleep(2)
    check(all(job.poll() is None for job in jobs), "the runs ended before their time")
    s.pair.kill("b")
    start = time.monotonic()
    for job in jobs:
        s.fails_in_time(job, start)
    s.pair.restart("b")
    s.below("b")
    s.load("b")
    s.traffic(size="64,65536", iterations=10)
    s.traffic("msg", size="64,65536", iterations=10)


@case(120, "verbs")
def link_down(s):
    """a wire is unplugged on either side: errors in time, and traffic again when it is back"""
    for name in ("b", "a"):
        job = s.long_run(100)
        time.sleep(1)
        s.pair.vms[name].link(False)
        s.fails_in_time(job, time.monotonic())
        s.pair.vms[name].link(True)
        s.traffic(size="64,65536", iterations=10)


CASES += [(function, budget, ("ntb",)) for function, budget, _ in bridges.CASES]
CASES += [(function, budget, ("usb4",)) for function, budget, _ in cables.CASES]


@case(240, "sockets")
def conformance(s):
    """the conformance list on a stock kernel: loop on a, and sockets on b (6.1: IPv4, else IPv6)"""
    nodes = ("10.78.0.1", "10.78.0.2") if s.pair.series == "6.1" else ("fd78::1", "fd78::2")
    jobs = [(s.conformance("a", "loop", "loop", "node_a=loop node_b=loop"), "loop"),
            (s.conformance("b", "sockets", "sockets", NODES.format(*nodes)), "sockets")]
    reports = [s.conformance_verdict(*job) for job in jobs]
    failed = [text for good, text in reports if not good]
    check(not failed, "\n".join(failed))


@case(120)
def unload(s):
    """everything closes, nothing is left, and all of it works a second time"""
    s.serve()
    s.kfi.command("b", "perf stop")
    for name in s.pair.vms:
        for what in ("domains", "endpoints", "peers"):
            left = s.kfi.json(name, f"show {what}")
            check(not left, f"{name}: {what} that are still open: {left}")
        s.kfi.unload(name)
        check(not s.kfi.loaded(name), f"{name}: {s.kfi.loaded(name)} are still loaded")
    for name in s.pair.vms:
        s.load(name)
    s.traffic(size="64", iterations=10)
    s.kfi.command("b", "perf stop")
    for name in s.pair.vms:
        s.kfi.unload(name)


class Verdict:
    """Counts, prints and remembers results"""

    def __init__(self, progress):
        self.progress = progress
        self.passed = self.failed = 0

    def case(self, series, function, budget, scenario):
        """Run one case. Return False if the others can't run any more."""
        what = function.__doc__.partition("\n")[0]
        self.progress(f"{series}: {what}")
        start = time.monotonic()
        error = None
        try:
            function(scenario)
            scenario.pair.check_logs()
        except vm.EmulatorFault:
            raise
        except vm.VmError as problem:
            error = self.worst(scenario, problem)
        seconds = time.monotonic() - start
        if not error and seconds > budget:
            error = f"{seconds:.0f} s are over its budget of {budget} s"
        self.say(series, f"{function.__name__}: {what}", seconds, error)
        return not error

    @staticmethod
    def worst(scenario, problem):
        """A fault of a kernel explains all others, so it is reported first."""
        try:
            scenario.pair.check_logs()
        except vm.EmulatorFault:
            raise
        except vm.Splat as splat:
            return f"{splat}\n{problem}"
        return str(problem)

    def say(self, series, text, seconds, error):
        self.progress.end()
        print(f"{'FAIL' if error else 'ok  '} {series} {text} ({seconds:.1f} s)", flush=True)
        if error:
            print("     " + error.replace("\n", "\n     "), flush=True)
        self.passed += not error
        self.failed += bool(error)


def run_series(series, verdict, opts):
    """Run all cases on one kernel, on one pair; a broken pair ends the series."""
    provider = opts.provider
    logs = os.path.join(vm.BUILD, f"vm-{series}", f"scenario-{provider}")
    ko, tool = bed.build(series, verdict.progress, logs, "KFI_TESTS=y")
    with bed.machines(provider, series, logs, ko, BRIDGES, programs=[tool], progress=verdict.progress, seed=opts.seed) as pair:
        scenario = Scenario(pair, provider, opts.flaps, opts.kills, opts.seed)
        for function, budget, providers in CASES:
            # the first one loads the modules for all
            if provider not in (providers or PROMISE) or not (
                    function is load_by_alias or any(word in function.__name__ for word in opts.wanted.split(","))):
                continue
            budget += ROUND * getattr(opts, ROUNDS.get(function.__name__, ""), 0)
            if not verdict.case(series, function, budget, scenario) and not usable(pair):
                verdict.say(series, "the cases after that", 0, "a machine is broken")
                return


def usable(pair):
    """Can other cases still run after a failed one?"""
    try:
        pair.check_logs()
        return all(machine.alive for machine in pair.vms.values())
    except vm.VmError:
        return False


def once_more(series, verdict, run):
    """A fault of the emulator says nothing about kfabric: start again, once."""
    passed, failed = verdict.passed, verdict.failed
    try:
        return run()
    except vm.EmulatorFault as error:
        verdict.progress.end()
        print(f"     {series}: {error}\n     {series}: beginning again", flush=True)
        verdict.passed, verdict.failed = passed, failed
    return run()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series", nargs="*", help="6.1 and 6.12 unless told")
    parser.add_argument("--provider", choices=sorted(PROMISE), default="sockets")
    parser.add_argument("-k", dest="wanted", default="", metavar="WORD",
                        help="only cases with this word in their name, or one of these (A,B)")
    parser.add_argument("--flaps", type=int, default=3, help="ntb, usb4: how often the link flaps, or the cable is pulled, under load")
    parser.add_argument("--kills", type=int, default=2, help="usb4: how often a machine is killed")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="ntb, usb4: of how, and of frames that get lost")
    opts = parser.parse_args()
    verdict = Verdict(vm.Progress())
    if opts.provider in bed.SIDES:
        print(f"seed {opts.seed}", flush=True)
    return bed.closing(verdict, opts.series or ["6.1", "6.12"],
                       lambda series: once_more(series, verdict, lambda: run_series(series, verdict, opts)))


if __name__ == "__main__":
    sys.exit(main())
