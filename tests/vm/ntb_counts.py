#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""ntb_counts.py [-k WORD] [6.1|6.12]: the cost of an operation over a bridge, counted and not timed

Two machines on ntbsim, whose counters are exact: descriptors of the DMA engines, interrupts,
register and window accesses of the CPUs, bytes through the bridge. Each operation is run a number
of times, and then three times as often; the difference, divided, is the cost of the operation
without that of connecting and of the short run before each, in which every byte is compared.

build/vm-<series>/counts/results.json has all results. At the end they are compared with the aims of
kfi_ntb, one a line: the last line is "N passed, N failed", and a missed aim counts as failed. With
-k only kfi_ntb's operations with that word in their name are counted, and nothing is compared.
"""

import argparse
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import bed               # noqa: E402
import bridges           # noqa: E402
import pair as vm        # noqa: E402

MIB = 1 << 20
OTHER = {"a": "b", "b": "a"}
# Beats are counted with whatever they fall into. None at all would be wrong: they make up for a doorbell that is lost.
QUIET = "heartbeat_ms=5000 timeout_ms=100000"
PATIENCE = 90
# Into memory of kfi_mem_alloc(); all else lies elsewhere, and is copied by the CPU of whom it is for.
PLACED = "1 MiB write, placed"
BATCH = "64 messages of 8 bytes, together"
# What is done: name, words for kfi perf, operations that make one of what is counted, times
KFI = (
    ("8-byte message, there and back", {"op": "send", "size": 8, "mode": "latency"}, 1, 200),
    ("8-byte messages, one after the other", {"op": "send", "size": 8, "depth": 1}, 1, 200),
    (BATCH, {"op": "send", "size": 8, "depth": 64, "batch": 64}, 64, 50),
    ("8-byte write, until it is there", {"op": "write", "size": 8, "depth": 1}, 1, 200),
    ("1 MiB message", {"op": "send", "size": MIB, "depth": 1}, 1, 20),
    ("1 MiB write", {"op": "write", "size": MIB, "depth": 1}, 1, 20),
    ("1 MiB write, 4 at once", {"op": "write", "size": MIB, "depth": 4}, 1, 20),
    ("1 MiB read", {"op": "read", "size": MIB, "depth": 1}, 1, 20),
    # all of its receives have to fit into the window
    ("256 KiB message, placed", {"op": "send", "size": MIB // 4, "depth": 1, "mem": "domain"}, 1, 20),
    (PLACED, {"op": "write", "size": MIB, "depth": 1, "mem": "domain"}, 1, 20),
    ("256 KiB write, 4 at once, placed", {"op": "write", "size": MIB // 4, "depth": 4, "mem": "domain"}, 1, 20),
    ("1 MiB read, placed", {"op": "read", "size": MIB, "depth": 1, "mem": "domain"}, 1, 20),
)
# name of the counter here: device of which machine, those of the simulator that are added up
COSTS = {
    "descriptors": (("dma", ("descriptors",)),),
    "engine_interrupts": (("dma", ("interrupts",)),),
    "signals": (("ntb0", ("interrupts",)),),
    "mmio_writes": (("dma", ("mmio_writes",)), ("ntb0", ("mmio_writes", "window_cpu_writes"))),
    "bridge_reads": (("ntb0", ("mmio_reads", "window_cpu_reads")),),
    # ioatdma's, by a timer
    "engine_reads": (("dma", ("mmio_reads",)),),
    "bytes_in": (("ntb0", ("window_bytes_in",)),),
}


def settled(sim):
    """Return the counters when they no longer change."""
    last = None
    for _ in range(100):
        now = sim.stats()["devices"]
        if now == last:
            return now
        last = now
        time.sleep(0.3)
    raise vm.Failed("the bridge comes to no rest")


def grown(sim, function):
    """Return the cost of function() for each machine."""
    before = settled(sim)
    function()
    after = settled(sim)
    return {name: {cost: sum(after[f"{device}.{name}"][key] - before[f"{device}.{name}"][key]
                             for device, keys in parts for key in keys) for cost, parts in COSTS.items()}
            for name in OTHER}


def each(once, thrice, times):
    """Return the cost of one operation: the difference of two runs."""
    return {name: {cost: round((thrice[name][cost] - once[name][cost]) / times, 3) + 0.0 for cost in thrice[name]} for name in OTHER}


class Counts:
    """One pair of machines, and the rows of the table"""

    def __init__(self, pair, progress):
        self.pair = pair
        self.sim = pair.devices
        self.progress = progress
        self.rows = []
        self.reads = 0            # of a bridge, in all that kfi_ntb did

    def row(self, by, what, cost):
        self.rows.append({"by": by, "what": what, **cost})

    def perf(self, by, what, words, group, times):
        """Run an operation of kfi perf."""
        kfi = bed.Kfi(self.pair, "ntb")
        kfi.patience = PATIENCE

        def run(n):
            before = self.bounced()
            cost = grown(self.sim, lambda: kfi.perf("a", bridges.other_end(0), provider="ntb", iterations=n * group,
                                                    **{"mode": "bandwidth", **words}))
            cost["b"]["bounced"] = self.bounced() - before
            return cost

        self.progress(f"{by}: {what}")
        # the first one connects, and fills whatever is filled once
        run(times)
        once, thrice = run(times), run(3 * times)
        self.reads += sum(cost[name]["bridge_reads"] for cost in (once, thrice) for name in OTHER)
        self.row(by, what, each(once, thrice, 2 * times))

    def bounced(self):
        """Return the bytes of payload that b's CPU has copied for its endpoint."""
        return sum(row["bounced_bytes"] for row in bed.Kfi(self.pair, "ntb").json("b", "stats"))

    def kfi_ntb(self, by, options, wanted=lambda what: True):
        kfi = bed.Kfi(self.pair, "ntb")
        for name in OTHER:
            kfi.load(name, f"{QUIET} {options}")
        bridges.wait_up(self)
        kfi.serve("b", provider="ntb")
        for what, words, group, times in KFI:
            if wanted(what):
                self.perf(by, what, words, group, times)
        kfi.command("b", "perf stop")
        for name in OTHER:
            kfi.unload(name)

    def some(self, word):
        for name in OTHER:
            self.pair.run(name, bed.BELOW["ntb"])
        self.kfi_ntb("kfi_ntb", "", lambda what: word in what)
        self.pair.check_logs()

    def all(self):
        for name in OTHER:
            self.pair.run(name, bed.BELOW["ntb"])
        self.kfi_ntb("kfi_ntb", "")
        self.kfi_ntb("kfi_ntb direct=0", "direct=0", lambda what: what.startswith("8-byte"))
        self.pair.check_logs()

    def cost(self, what, name, cost, by="kfi_ntb"):
        return next(row for row in self.rows if row["by"] == by and row["what"] == what)[name][cost]

    def aims(self):
        """Return the aims: name, limit, result."""
        return [
            ("bytes through the bridge for each byte of a 1 MiB write", 1.005, self.cost(PLACED, "b", "bytes_in") / MIB),
            ("... of which its target's CPU copied", 0, self.cost(PLACED, "b", "bounced") / MIB),
            ("... and where it has to copy them, bytes through the bridge", 1.005, self.cost("1 MiB write", "b", "bytes_in") / MIB),
            # the payload lies in one piece, and a descriptor may have as much
            ("descriptors of a 1 MiB write besides the one of its payload", 3, self.cost(PLACED, "a", "descriptors") - 1),
            ("descriptors of 64 messages of 8 bytes", 4, self.cost(BATCH, "a", "descriptors")),
            ("interrupts of 64 messages of 8 bytes at their receiver", 1, self.cost(BATCH, "b", "signals")),
            ("reads of the bridges' registers and windows in all of kfi_ntb's runs", 0, self.reads),
        ]


HEAD = ("descriptors", "engine irqs", "signals", "MMIO writes", "bridge reads", "engine reads", "bytes in")


def show(rows):
    """Print both machines of each row, the one that begins first."""
    by = None
    for row in rows:
        if row["by"] != by:
            by = row["by"]
            print(f"\n{by:<42}" + "".join(f"{word:>22}" for word in HEAD) + "\n" + " " * 42 + f"{'a / b':>22}" * len(HEAD))
        print(f"  {row['what']:<40}" + "".join(f"{row['a'][cost]:>12.2f} /{row['b'][cost]:>8.2f}" if cost != "bytes_in" else
                                              f"{row['a'][cost]:>10.0f} /{row['b'][cost]:>10.0f}" for cost in COSTS))


def judge(counts):
    """Print the aims and write them to results.json. Return how many are missed."""
    print()
    found = []
    for text, limit, value in counts.aims():
        met = value <= limit
        found.append({"aim": text, "limit": limit, "found": round(value, 4), "met": met})
        print(f"{'ok  ' if met else 'FAIL'} {text}: {value:.4g}, aim: at most {limit}")
    return found


def save(logs, release, rows, aims):
    path = os.path.join(logs, "results.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"kernel": release, "rows": rows, "aims": aims}, file, indent=1)
        file.write("\n")
    return path


def measure(series, logs, progress, word):
    ko, tool = bed.build(series, progress, logs, "KFI_BENCH=y")    # which makes heartbeat_ms a parameter
    with bed.machines("ntb", series, logs, ko, last=bed.WINDOW, programs=[tool], progress=progress) as pair:
        counts = Counts(pair, progress)
        if word:
            counts.some(word)
        else:
            counts.all()
        return pair.release, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series", nargs="?", choices=("6.1", "6.12"), default="6.12")
    parser.add_argument("-k", dest="word", metavar="WORD")
    opts = parser.parse_args()
    logs = os.path.join(vm.BUILD, f"vm-{opts.series}", "counts")
    os.makedirs(logs, exist_ok=True)
    progress = vm.Progress()
    try:
        release, counts = measure(opts.series, logs, progress, opts.word)
    except vm.VmError as error:
        progress.end()
        print(f"{error}\n0 passed, 1 failed")
        return 1
    progress.end()
    show(counts.rows)
    if opts.word:
        return 0
    aims = judge(counts)
    missed = sum(not aim["met"] for aim in aims)
    print(f"\n{save(logs, release, counts.rows, aims)}\n{len(aims) - missed} passed, {missed} failed")
    return missed != 0


if __name__ == "__main__":
    sys.exit(main())
