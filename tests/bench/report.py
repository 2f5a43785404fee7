# SPDX-License-Identifier: GPL-2.0
"""Results of runs: comparisons, their goals, medians and intervals"""

import math
import statistics
from dataclasses import dataclass

# How to compute a figure from operations and nanoseconds of a run: (unit, better, function)
CPU = "CPU us"      # of the nanoseconds that the CPU was not idle, bench_variant.also
UNITS = {
    CPU: ("us", "lower", lambda ops, ns, size: ns / ops / 1e3),
    "kIOPS": ("kIOPS", "higher", lambda ops, ns, size: ops * 1e6 / ns),
    "us": ("us", "lower", lambda ops, ns, size: ns / ops / 1e3),
    "ns": ("ns", "lower", lambda ops, ns, size: ns / ops),
    # one instruction takes a nanosecond here (instructions.py)
    "instr": ("instr", "lower", lambda ops, ns, size: ns / ops),
    "GB/s": ("GB/s", "higher", lambda ops, ns, size: ops * size / ns),
    "M/s": ("Mmsg/s", "higher", lambda ops, ns, size: ops * 1e3 / ns),
}


@dataclass
class Comparison:
    """Compare two variants of one case, ours and peer. goal is for the ratio ours/peer, or None.

    least: (variant, factor)s; ours is compared with the least of these.
    """

    bench: str
    case: str
    op: str
    ours: str
    peer: str
    unit: str
    goal: float | None = None
    provider: str = "sockets"
    least: tuple = ()


PAIRS = 15      # fewer make no ratio
TYPES = ("msg", "rdm")
COMPARISONS = []


def beside(bench, case, peer, rows, provider="sockets"):
    """Compare variants of one case with one peer. @rows: what, name of ours, unit, goal"""
    for op, ours, unit, goal in rows:
        COMPARISONS.append(Comparison(bench, case, op, ours, peer, unit, goal, provider=provider))


def both(what, ours, unit, goals=(None, None)):
    """Return rows for MSG and RDM."""
    return [(f"{kind.upper()} {what}", f"{kind}-{ours}", unit, goal) for kind, goal in zip(TYPES, goals)]


beside("round trip, blocking", "roundtrip-block", "tcp-block",
       [("inject, RDM", "kfi-rdm-block", "us", 1.15), ("inject, MSG", "kfi-msg-block", "us", 1.15)])
beside("round trip, softirq", "roundtrip-softirq", "tcp-softirq",
       [("inject, RDM", "kfi-rdm-done", "us", 1.15), ("inject, MSG", "kfi-msg-done", "us", 1.15)])
beside("stream of 1 MiB", "write-copy", "tcp-copy",
       [("RMA write, RDM", "kfi-write", "GB/s", 0.97), ("RMA write, MSG", "kfi-write-msg", "GB/s", 0.97)])
beside("stream of 1 MiB", "read", "tcp-copy", [("RMA read, RDM", "kfi-read", "GB/s", None)])
beside("64-byte messages", "messages", "", [("send, a receive each", "kfi-messages", "M/s", None)])
beside("the core alone", "core", "",
       [("round trip", "loop-done", "ns", None), ("send and receive of 64 bytes", "loop-messages", "ns", None)], "loop")
# on soft RoCE; of nvme-rdma beside it see below
for case, rows in (
        ("softirq", both("round trip, softirq", "done", "us")),
        ("messages", both("64 bytes, KFI_MORE", "more", "M/s") + both("64 bytes, one by one", "single", "M/s")),
        ("write", both("RMA write, 8 bytes", "write-8", "us") + both("RMA write, 4 KiB", "write-4k", "us"))):
    beside("kfi_verbs over rxe", f"verbs-rxe-{case}", "", rows, "verbs")
# the kernel's own messages over a bridge, and its engine alone
for case, peer, rows in (
        ("roundtrip", "transport-roundtrip", both("8 bytes, softirq", "done", "us") + both("8 bytes, blocking", "block", "us")),
        ("messages", "transport-64",
         both("64 bytes, KFI_MORE", "more", "M/s", (2.0, 2.0)) + both("64 bytes, one by one", "single", "M/s")),
        ("stream", "window-blocks", both("1 MiB sends", "send", "GB/s") + both("1 MiB RMA writes", "write", "GB/s")),
        ("small", "window-blocks-4k", both("4 KiB sends", "send-4k", "GB/s") + both("4 KiB RMA writes", "write-4k", "GB/s")),
        ("small", "", both("write of 8 bytes", "write-8", "us")),
        ("placed-msg", "window-placed", both("1 MiB writes, placed", "placed", "GB/s")[:1]),
        ("placed-rdm", "window-placed", both("1 MiB writes, placed", "placed", "GB/s")[1:]),
        ("flat-stream", "window-blocks", both("1 MiB sends, flat", "send", "GB/s") + both("1 MiB writes, flat", "write", "GB/s")),
        ("flat-long", "window-long", both("16 MiB writes, flat", "long", "GB/s", (0.97, 0.97)))):
    beside("beside the DMA engine" if peer.startswith("window") else "beside ntb_transport", f"ntb-{case}", peer, rows, "ntb")


def nvme(ways, name, provider, peer, latency, iops, bandwidth):
    """Compare two ways to a disk. Goals: latency at depth 1, IOPS at depth 16, bandwidth."""
    for op in ("read", "write"):
        def row(what, case, unit, goal=None, least=(), peer=peer):
            COMPARISONS.append(Comparison(f"NVMe, {name}", f"nvme-{ways}-{op}-{case}", f"{op}, {what}", "kfi", peer, unit, goal,
                                          provider=provider, least=least))
        row("4 KiB, depth 1", "4k-1", "us", latency)
        row("4 KiB, depth 16", "4k-16", "kIOPS", iops)
        row("4 KiB, CPU, both ends", "4k-16", CPU)
        for what, case in (("64 KiB", "64k"), ("1 MiB", "1m")):
            row(what, case, "GB/s", bandwidth)
            if provider == "sockets" and peer == "tcp":
                row(f"{what}, raw TCP", case, "GB/s", peer="tcp-copy")
                row(f"{what}, of the goal", case, "GB/s", 1.0, (("tcp", 1.1), ("tcp-copy", 0.95)), "the lesser")


nvme("ram", "RAM disk", "sockets", "tcp", 0.95, 1.2, None)
nvme("ntb", "bridge", "ntb", "tcp", 1.0, None, 3.0)
nvme("rxe", "rxe", "verbs", "rdma", 1.03, 0.97, 0.97)
nvme("ib", "TCP, beside kfi_ib", "sockets", "rdma", None, None, None)


def mirror(kind, disks, peer, name, latency, iops, bandwidth):
    """Compare two mirrors on one kind of disks. Goals: latency at depth 1, IOPS at depth 16, bandwidth.

    Who waits for a flush has the CPU idle, so its time is not compared there.
    """
    for what, case, unit, goal in (("4 KiB, depth 1", "4k-1", "us", latency), ("4 KiB, depth 16", "4k-16", "kIOPS", iops),
                                   ("4 KiB, CPU, both ends", "4k-16", CPU, None), ("64 KiB, depth 8", "64k", "GB/s", bandwidth), ("1 MiB, depth 4", "1m", "GB/s", None)):
        if kind == "flush" and unit == CPU:
            continue
        COMPARISONS.append(Comparison(f"mirror beside {name}, {disks}", f"mirror-{kind}-{case}", f"write, {what}", "kfi", peer, unit, goal))
        for cpus in (1, 2):
            if kind == "ram" and peer != "log" and case in ("4k-1", "4k-16") and unit != CPU:
                COMPARISONS.append(Comparison(f"mirror beside {name}, {disks}", f"mirror-{kind}-{case}-cpus",
                                              f"{what}, {cpus} CPU{'s' * (cpus > 1)}", f"kfi-{cpus}", f"{peer}-{cpus}", unit, goal))


for kind, disks, iops in (("ram", "memory", 1.6), ("flush", "flush of 1 ms", 2.0), ("span", "80 GiB", 1.6)):
    mirror(kind, disks, "drbd", "DRBD", 0.6, iops, 1.05)
    mirror(kind, disks, "md", "md over nvme-tcp", None, None, None)
    mirror(kind, disks, "log", "one with logs", None, None, None)


@dataclass
class Runs:
    """Contents of one case's file: figures by variant and round"""

    figures: dict
    depth: dict
    size: dict
    failed: dict


def parse(text):
    runs = Runs({}, {}, {}, {})
    for line in text.splitlines():
        word = line.split()
        if word[0] == "variant":
            runs.depth[word[1]], runs.size[word[1]] = int(word[2]), int(word[3])
            runs.figures[word[1]] = {}
        elif word[0] == "failed":
            runs.failed[word[1]] = int(word[2])
        else:
            runs.figures[word[0]][int(word[1])] = tuple(int(w) for w in word[2:])
    return runs


def interval(values):
    """Return a 95% interval of the median by order statistics, or None if there are too few."""
    values, n = sorted(values), len(values)
    below = 0.0
    for k in range(n // 2):
        below += math.comb(n, k) / 2**n
        if below > 0.025:
            return (values[k - 1], values[n - k]) if k else None
    return None


def verdict(better, goal, span):
    """Return True or False if the whole interval is on one side of the goal, else None: not shown.
    """
    if goal is None or span is None:
        return None
    low, high = span
    if better == "lower":
        return True if high <= goal else False if low > goal else None
    return True if low >= goal else False if high < goal else None


def figures(runs, variant, unit):
    convert, which = UNITS[unit][2], -1 if unit == CPU else 1
    return {r: convert(run[0], run[which], runs.size[variant]) for r, run in runs.figures.get(variant, {}).items()}


def least(runs, c):
    """Return the least of some limits for each round that has all of them."""
    limits = [{r: v * factor for r, v in figures(runs, variant, c.unit).items()} for variant, factor in c.least]
    return {r: min(x[r] for x in limits) for r in limits[0] if all(r in x for x in limits)}


def compare(c, runs):
    """Return one object of results.json, or None if the case could not run."""
    unit, better, _ = UNITS[c.unit]
    ours = figures(runs, c.ours, c.unit)
    peer = least(runs, c) if c.least else figures(runs, c.peer, c.unit)
    if not ours or (c.peer and not peer):
        return None
    result = {
        "bench": c.bench, "provider": c.provider, "op": c.op, "size": runs.size[c.ours], "depth": runs.depth[c.ours],
        "unit": unit, "better": better, "ours": round(statistics.median(ours.values()), 4), "ours_name": c.ours,
        "peer": None, "peer_name": c.peer or None, "ratio": None, "interval": None, "goal": c.goal, "met": None,
        "runs": len(ours), "note": "",
    }
    if not c.peer:
        return result
    pairs = [ours[r] / peer[r] for r in ours if r in peer]
    if not pairs:
        return None
    span = interval(pairs) if len(pairs) >= PAIRS else None
    result.update(ratio=round(statistics.median(pairs), 4), peer=round(statistics.median(peer.values()), 4),
                  interval=span and [round(x, 4) for x in span], runs=len(pairs), met=verdict(better, c.goal, span))
    if len(pairs) < PAIRS:
        result["note"] = "too few pairs"
    elif c.goal is not None and result["met"] is None:
        result["note"] = "not shown: the interval contains the goal"
    return result


def table(results):
    """Yield lines of text."""
    head = f"{'':24} {'':26} {'ours':>9} {'peer':>9} {'':6} {'ratio':>6} {'95% interval':>15} {'goal':>7}  "
    yield head + "peer"
    yield "-" * (len(head) + 24)
    for r in results:
        bound = {"lower": "<=", "higher": ">="}[r["better"]]
        said = {True: "met", False: "MISSED", None: "not shown"}[r["met"]] if r["goal"] else ""
        span = "{:.3f} - {:.3f}".format(*r["interval"]) if r["interval"] else f"({r['runs']} runs)" if r["peer"] else ""
        yield (f"{r['bench']:24} {r['op'][:26]:26} {r['ours']:9.3f} {number(r['peer'], '9.3f')} {r['unit']:6} "
               f"{number(r['ratio'], '6.3f')} {span:>15} {bound + format(r['goal'], '.2f') if r['goal'] else '':>7}  "
               f"{r['peer_name'] or '':16} {said}")


def number(value, form):
    return format(value, form) if value is not None else " " * int(form.split(".")[0])
