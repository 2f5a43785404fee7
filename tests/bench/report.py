# SPDX-License-Identifier: GPL-2.0
"""Results of runs: comparisons, their goals, medians and intervals"""

import math
import statistics
from dataclasses import dataclass

# How to compute a figure from operations and nanoseconds of a run: (unit, better, function)
CPU = "CPU us"      # of the nanoseconds that the CPU was not idle
CROSSED = "B/B"     # bytes that crossed the server's memory for each byte of READs
BESIDE = "beside"   # bytes per second of what ran beside a measurement
ALSO = (CPU, CROSSED, BESIDE)   # figures of bench_variant.also
UNITS = {
    CPU: ("us", "lower", lambda ops, ns, size: ns / ops / 1e3),
    CROSSED: ("B/B", "lower", lambda ops, crossed, size: crossed / ops / size),
    BESIDE: ("GB/s", "higher", lambda ops, rate, size: rate / 1e9),
    "kIOPS": ("kIOPS", "higher", lambda ops, ns, size: ops * 1e6 / ns),
    "us": ("us", "lower", lambda ops, ns, size: ns / ops / 1e3),
    "ns": ("ns", "lower", lambda ops, ns, size: ns / ops),
    "ns of 2": ("ns", "lower", lambda ops, ns, size: ns / ops / 2),     # messages of a round trip
    # one instruction takes a nanosecond here (instructions.py)
    "instr": ("instr", "lower", lambda ops, ns, size: ns / ops),
    "instr of 2": ("instr", "lower", lambda ops, ns, size: ns / ops / 2),
    "GB/s": ("GB/s", "higher", lambda ops, ns, size: ops * size / ns),
    "M/s": ("Mmsg/s", "higher", lambda ops, ns, size: ops * 1e3 / ns),
}


@dataclass
class Comparison:
    """Compare two variants of one case, ours and peer. goal is for the ratio ours/peer, or None.

    own: the figure is what ours takes beyond the peer, not the ratio.

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
    note: str = ""
    own: bool = False
    least: tuple = ()


PAIRS = 15      # fewer make no ratio
LIBFABRIC = "in user space, where User Mode Linux makes system calls slow: for orientation"
FIO = "a program, whose system calls User Mode Linux makes slow: for orientation"
PEERS = (1, 16, 64, 256)

COMPARISONS = [
    Comparison("round trip, blocking", "roundtrip-block", "inject, RDM", "kfi-rdm-block", "tcp-block", "us", 1.15),
    Comparison("round trip, blocking", "roundtrip-block", "inject, MSG", "kfi-msg-block", "tcp-block", "us", 1.15),
    Comparison("round trip, blocking", "roundtrip-block", "tagged, RDM", "kfi-tagged-block", "tcp-block", "us"),
    Comparison("round trip, softirq", "roundtrip-softirq", "inject, RDM, CQ handler", "kfi-rdm-handler", "tcp-softirq",
               "us", 1.15),
    Comparison("round trip, softirq", "roundtrip-softirq", "inject, RDM, done()", "kfi-rdm-done", "tcp-softirq", "us", 1.15),
    Comparison("round trip, softirq", "roundtrip-softirq", "inject, MSG, CQ handler", "kfi-msg-handler", "tcp-softirq",
               "us", 1.15),
    Comparison("stream of 1 MiB", "write-copy", "RMA write, RDM", "kfi-write", "tcp-copy", "GB/s", 0.97),
    Comparison("stream of 1 MiB", "write-copy", "RMA write, MSG", "kfi-write-msg", "tcp-copy", "GB/s", 0.97),
    Comparison("stream of 1 MiB", "write-copy", "RMA write, blocking reader", "kfi-write", "tcp-copy-block", "GB/s"),
    Comparison("stream of 1 MiB, pages", "write-pages", "RMA write, RDM", "kfi-write-pages", "tcp-splice", "GB/s", 0.97),
    Comparison("stream of 1 MiB", "read", "RMA read, RDM", "kfi-read", "tcp-copy", "GB/s"),
    Comparison("64-byte messages", "messages", "send, a receive each", "kfi-messages", "tcp-single", "M/s", 4.0),
    Comparison("64-byte messages", "messages", "send, multi-receive", "kfi-multirecv", "tcp-single", "M/s", 4.0),
    Comparison("64-byte messages", "messages", "send, a receive each", "kfi-messages", "tcp-batch64", "M/s"),
    Comparison("64-byte messages", "messages", "send, multi-receive", "kfi-multirecv", "tcp-batch64", "M/s"),
]
# raw verbs, MSG and RDM on the same device: goals of the ratio
for device in ("rxe", "siw"):
    for ours, op, peer, unit, goal in (
            ("block", "round trip, blocking", "raw-block", "us", {"msg": 1.03, "rdm": 1.10}),
            ("handler", "round trip, handler", "raw-softirq", "us", {"msg": 1.03, "rdm": 1.10}),
            ("done", "round trip, done()", "raw-softirq", "us", {"msg": 1.03, "rdm": 1.10}),
            ("poll", "round trip, polled", "raw-poll", "us", {}),
            ("more", "64 bytes, KFI_MORE", "raw-chain", "M/s", {"msg": 0.95, "rdm": 0.95}),
            ("single", "64 bytes, one by one", "raw-single", "M/s", {}),
            ("send", "1 MiB sends", "raw-send", "GB/s", {"msg": 0.98, "rdm": 0.95}),
            ("write", "1 MiB RMA writes", "raw-write", "GB/s", {"msg": 0.98, "rdm": 0.95})):
        case = {"handler": "softirq", "done": "softirq", "more": "messages", "single": "messages", "send": "stream",
                "write": "stream"}.get(ours, ours)
        for kind in ("msg", "rdm"):
            COMPARISONS.append(Comparison(f"raw verbs on {device}", f"verbs-{device}-{case}", f"{kind.upper()} {op}",
                                          f"{kind}-{ours}", peer, unit, goal.get(kind), provider="verbs"))
    # as many bytes on the wire: 56 bytes of kfabric precede each message
    COMPARISONS += [
        Comparison(f"raw verbs on {device}", f"verbs-{device}-softirq", "8 bytes behind a header", "raw-softirq-64",
                   "raw-softirq", "us", provider="raw verbs"),
        Comparison(f"raw verbs on {device}", f"verbs-{device}-softirq", "the same, MSG, handler", "msg-handler",
                   "raw-softirq-64", "us", provider="verbs"),
        Comparison(f"raw verbs on {device}", f"verbs-{device}-messages", "64 bytes behind a header", "raw-chain-120",
                   "raw-chain", "M/s", provider="raw verbs"),
        Comparison(f"raw verbs on {device}", f"verbs-{device}-messages", "the same, MSG", "msg-more", "raw-chain-120",
                   "M/s", provider="verbs"),
    ]
# ... and MSG endpoints, which are plain queue pairs like those of raw verbs
for ours, op, case, peer, unit, goal in (
        ("block", "round trip, blocking", "block", "raw-block", "us", 1.03),
        ("handler", "round trip, handler", "softirq", "raw-softirq", "us", 1.03),
        ("done", "round trip, done()", "softirq", "raw-softirq", "us", 1.03),
        ("poll", "round trip, polled", "poll", "raw-poll", "us", None),
        ("more", "64 bytes, KFI_MORE", "messages", "raw-chain", "M/s", 0.95),
        ("single", "64 bytes, one by one", "messages", "raw-single", "M/s", None),
        ("send", "1 MiB sends", "stream", "raw-send", "GB/s", 0.98)):
    COMPARISONS.append(Comparison("raw verbs on rxe", f"verbs-rxe-bare-{case}", f"bare MSG {op}", f"bare-{ours}", peer, unit, goal,
                                  provider="verbs"))
# raw verbs on a device without cost: the additional time of ours is spent in the provider
for ours, op, case, peer, unit in (
        ("handler", "8 bytes, handler", "softirq", "raw-softirq", "ns of 2"),
        ("done", "8 bytes, done()", "softirq", "raw-softirq", "ns of 2"),
        ("poll", "8 bytes, polled", "poll", "raw-poll", "ns of 2"),
        ("single", "64 bytes, one by one", "messages", "raw-single", "ns"),
        ("more", "64 bytes, KFI_MORE", "messages", "raw-chain", "ns"),
        ("write-8", "RMA write, 8 bytes", "write", "raw-write-8", "ns"),
        ("write-4k", "RMA write, 4 KiB", "write", "raw-write-4k", "ns")):
    for kind in ("msg", "rdm"):
        for what, of, behind in (("own time", unit, ""), ("own work", unit.replace("ns", "instr"), "-instructions")):
            COMPARISONS.append(Comparison(f"{what}, null device", f"verbs-null-{case}{behind}", f"{kind.upper()} {op}",
                                          f"{kind}-{ours}", peer, of, provider="verbs", own=True))
for ours, op, case, peer, unit in (
        ("handler", "8 bytes, handler", "softirq", "raw-softirq", "ns of 2"),
        ("done", "8 bytes, done()", "softirq", "raw-softirq", "ns of 2"),
        ("poll", "8 bytes, polled", "poll", "raw-poll", "ns of 2"),
        ("single", "64 bytes, one by one", "messages", "raw-single", "ns"),
        ("more", "64 bytes, KFI_MORE", "messages", "raw-chain", "ns")):
    for what, of, behind in (("own time", unit, ""), ("own work", unit.replace("ns", "instr"), "-instructions")):
        COMPARISONS.append(Comparison(f"{what}, null device", f"verbs-null-bare-{case}{behind}", f"bare MSG {op}", f"bare-{ours}", peer,
                                      of, provider="verbs", own=True))
# kfi_ntb, MSG and RDM: the kernel's own messages over such a bridge, and its engine alone
for ours, op, case, peer, unit, goal in (
        ("handler", "8 bytes, handler", "roundtrip", "transport-roundtrip", "us", None),
        ("done", "8 bytes, done()", "roundtrip", "transport-roundtrip", "us", None),
        ("block", "8 bytes, blocking", "roundtrip", "transport-roundtrip", "us", None),
        ("more", "64 bytes, KFI_MORE", "messages", "transport-64", "M/s", 2.0),
        ("single", "64 bytes, one by one", "messages", "transport-64", "M/s", None),
        ("send", "1 MiB sends", "stream", "window-blocks", "GB/s", None),
        ("write", "1 MiB RMA writes", "stream", "window-blocks", "GB/s", None),
        ("send-4k", "4 KiB sends", "small", "window-blocks-4k", "GB/s", None),
        ("write-4k", "4 KiB RMA writes", "small", "window-blocks-4k", "GB/s", None),
        ("send", "1 MiB sends, flat", "flat-stream", "window-blocks", "GB/s", None),
        ("write", "1 MiB writes, flat", "flat-stream", "window-blocks", "GB/s", None),
        ("long", "16 MiB writes, flat", "flat-long", "window-long", "GB/s", 0.97)):
    what = "beside the DMA engine" if peer.startswith("window") else "beside ntb_transport"
    for kind in ("msg", "rdm"):
        COMPARISONS.append(Comparison(what, f"ntb-{case}", f"{kind.upper()} {op}", f"{kind}-{ours}", peer, unit, goal, provider="ntb"))
COMPARISONS += [Comparison("beside the DMA engine", f"ntb-{case}-{kind}", f"{kind.upper()} {size} MiB writes, placed", f"{kind}-{case}", f"window-{case}",
                           "GB/s", goal, provider="ntb") for case, size, goal in (("placed", 1, None), ("placed-long", 3, 0.97)) for kind in ("msg", "rdm")]
for kind in ("msg", "rdm"):
    COMPARISONS += [
        Comparison("under 16 MiB writes, or idle", f"ntb-loaded-{kind}", f"{kind.upper()} round trip, 64 bytes", f"{kind}-loaded", f"{kind}-idle",
                   "us", 3.0, provider="ntb"),
        Comparison("under 16 MiB writes, or idle", f"ntb-loaded-{kind}", f"{kind.upper()} those writes", f"{kind}-loaded", "", BESIDE,
                   provider="ntb"),
    ]
# READs of which the disk writes the data into the host's memory or into the server's, whose memory has 208 MB/s. The disks have
# 142 MB/s: so many MB/s gmblock had from disk to network card, and 104 through memory, which each byte crosses twice.
for op, case, ours, peer, unit, goal in (
        ("READ, 64 KiB, scarce RAM", "read", "bypass", "through", "GB/s", 1.3),
        ("READ, 64 KiB, ample RAM", "ample", "bypass", "through", "GB/s", 0.97),
        ("crossing RAM per byte", "read", "bypass", "", CROSSED, None),
        ("... without bypass", "read", "through", "", CROSSED, None),
        ("neighbour beside bypass", "neighbour", "beside-bypass", "alone", "GB/s", 0.97),
        ("neighbour without bypass", "neighbour", "beside-through", "alone", "GB/s", None),
        ("READs beside a neighbour", "neighbour", "beside-bypass", "beside-through", BESIDE, 1.3)):
    COMPARISONS.append(Comparison("disk to host's memory", f"nvme-scarce-{case}", op, ours, peer, unit, goal, provider="ntb"))
COMPARISONS += [Comparison("RMA write of 8 bytes", "ntb-small", kind.upper(), f"{kind}-write-8", "", "us", provider="ntb")
                for kind in ("msg", "rdm")]
for n in PEERS[1:]:
    COMPARISONS.append(Comparison(f"cost with {n} peers", "peers", "round trip, done()", f"kfi-{n}", "kfi-1", "us", 1.10))
    COMPARISONS.append(Comparison(f"cost with {n} peers", "peers", "of raw TCP itself", f"tcp-{n}", "tcp-1", "us",
                                  provider="raw TCP"))
for what, size in (("messages", "64 bytes"), ("write", "1 MiB"), ("roundtrip", "8 bytes")):
    unit = {"write": "GB/s"}.get(what, "M/s")
    peer = {"write": "stream"}.get(what, what)
    COMPARISONS.append(Comparison("8 connections, 2 CPUs", "scale", f"{what}, {size}", f"kfi-{what}-2", f"kfi-{what}-1",
                                  unit, 1.6))
    COMPARISONS.append(Comparison("8 connections, 2 CPUs", "scale", f"raw TCP: {peer}", f"tcp-{peer}-2", f"tcp-{peer}-1",
                                  unit, provider="raw TCP"))
for what, size in (("messages", "64 bytes, KFI_MORE"), ("single", "64 bytes"), ("roundtrip", "8 bytes"), ("send", "4 KiB sends"),
                   ("write", "1 MiB writes")):
    COMPARISONS.append(Comparison("4 queues over a bridge, 2 CPUs", "queues", size, f"{what}-2", f"{what}-1",
                                  "GB/s" if what == "write" else "M/s", 1.6, provider="ntb"))
for what in ("atomics", "counters"):
    COMPARISONS.append(Comparison("8 targets, 2 CPUs", "scale", what, f"kfi-{what}-2", f"kfi-{what}-1", "M/s", 1.6,
                                  provider="loop"))
COMPARISONS += [
    Comparison("one CQ, 2 CPUs or 1", "scale", "one reader", "one-reader-2", "one-reader-1", "M/s", provider="loop"),
    Comparison("one CQ, 2 readers or 1", "scale", "on two CPUs", "two-readers-2", "one-reader-2", "M/s", provider="loop"),
    Comparison("one CQ, 2 readers or 1", "readers", "on one CPU", "two-readers", "one-reader", "M/s", provider="loop"),
    Comparison("ntb_transport alone", "ntb-roundtrip", "round trip, 8 bytes", "transport-roundtrip", "", "us",
               provider="ntb_transport"),
    Comparison("ntb_transport alone", "ntb-messages", "64 bytes", "transport-64", "", "M/s", provider="ntb_transport"),
    Comparison("ntb_transport alone", "ntb-messages", "4,000 bytes", "transport-4k", "", "GB/s", provider="ntb_transport"),
    Comparison("the DMA engine alone", "ntb-engine", "a copy of 8 bytes", "dma-8", "", "ns", provider="software DMA"),
    Comparison("the DMA engine alone", "ntb-engine", "a copy of 64 bytes", "dma-64", "", "ns", provider="software DMA"),
    Comparison("the DMA engine alone", "ntb-engine", "4 KiB", "dma-4k", "", "GB/s", provider="software DMA"),
    Comparison("the DMA engine alone", "ntb-engine", "64 KiB", "dma-64k", "", "GB/s", provider="software DMA"),
    Comparison("through a window", "ntb-engine", "a copy of 8 bytes", "window-8", "dma-8", "ns", provider="software DMA"),
    Comparison("through a window", "ntb-engine", "4 KiB", "window-4k", "dma-4k", "GB/s", provider="software DMA"),
    Comparison("through a window", "ntb-engine", "64 KiB", "window-64k", "dma-64k", "GB/s", provider="software DMA"),
    Comparison("the core alone", "core", "round trip, done()", "loop-done", "", "ns", provider="loop"),
    Comparison("10,000 posted, or 10", "matching", "tagged message, exact tag", "posted-10000", "posted-10", "ns", 1.2,
               provider="loop"),
    Comparison("1,024 addresses, or 16", "addresses", "handle of one", "known-1024", "known-16", "ns"),
    Comparison("65,536 addresses, or 16", "addresses", "handle of one", "known-65536", "known-16", "ns"),
    Comparison("1,024 addresses, or 16", "addresses", "a bare hash table", "table-1024", "table-16", "ns", provider="none"),
    Comparison("65,536 addresses, or 16", "addresses", "a bare hash table", "table-65536", "table-16", "ns", provider="none"),
    Comparison("beside a bare hash table", "addresses", "65,536 addresses", "known-65536", "table-65536", "ns"),
    Comparison("tagged beside untagged", "roundtrip-block", "8 bytes, RDM", "kfi-tagged-block", "kfi-rdm-block", "us", 1.05),
    Comparison("the core alone", "core", "send and receive of 64 bytes", "loop-messages", "", "ns", provider="loop"),
    Comparison("libfabric's tcp beside", "libfabric-roundtrip", "round trip, MSG, blocking", "kfi-msg-block", "libfabric-tcp",
               "us", note=LIBFABRIC),
    Comparison("libfabric's tcp beside", "libfabric-stream", "1 MiB RMA write, MSG", "kfi-write-msg", "libfabric-tcp", "GB/s",
               note=LIBFABRIC),
]


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


for op in ("read", "write"):
    for depth, unit in ((1, "us"), (16, "kIOPS")):
        COMPARISONS.append(Comparison("NVMe, RAM disk, by fio", f"nvme-fio-{op}-4k-{depth}", f"{op}, 4 KiB, depth {depth}", "kfi",
                                      "tcp", unit, note=FIO))
nvme("null", "null_blk", "sockets", "tcp", 0.95, 1.2, None)
nvme("ram", "RAM disk", "sockets", "tcp", 0.95, 1.2, None)
nvme("nbd", "beside nbd", "sockets", "nbd", None, None, None)
nvme("ntb", "bridge", "ntb", "tcp", 1.0, None, 3.0)
nvme("rxe", "rxe", "verbs", "rdma", 1.03, 0.97, 0.97)
for peer, latency, iops, name in (("drbd", 0.667, 2.0, "DRBD"), ("md", None, None, "md over nvme-tcp")):
    for what, case, unit, goal in (("4 KiB, depth 1", "4k-1", "us", latency), ("4 KiB, depth 16", "4k-16", "kIOPS", iops),
                                   ("4 KiB, CPU, both ends", "4k-16", CPU, None), ("64 KiB, depth 8", "64k", "GB/s", None)):
        COMPARISONS.append(Comparison(f"mirror beside {name}", f"mirror-write-{case}", f"write, {what}", "kfi", peer, unit, goal))
        for cpus in (1, 2):
            if case != "64k" and unit != CPU:
                COMPARISONS.append(Comparison(f"mirror beside {name}", f"mirror-cpus-{cpus}-write-{case}",
                                              f"{what}, {cpus} CPU{'s' * (cpus > 1)}", "kfi", peer, unit, goal))
COMPARISONS.append(Comparison("mirror over ntb", "mirror-ntb-write-4k", "write, 4 KiB, depth 1, beside a committed write",
                              "kfi", "commit", "us", 1.2, "ntb"))


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
    convert, which = UNITS[unit][2], -1 if unit in ALSO else 1
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
        "peer": None, "peer_name": c.peer or None, "ratio": None, "own": None, "interval": None, "goal": c.goal, "met": None,
        "runs": len(ours), "note": c.note,
    }
    if not c.peer:
        return result
    pairs = [ours[r] - peer[r] if c.own else ours[r] / peer[r] for r in ours if r in peer]
    if not pairs:
        return None
    span = interval(pairs) if len(pairs) >= PAIRS else None
    result.update({"own" if c.own else "ratio": round(statistics.median(pairs), 4)},
                  peer=round(statistics.median(peer.values()), 4),
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
        form = "{:.0f} - {:.0f}" if r["own"] else "{:.3f} - {:.3f}"
        span = form.format(*r["interval"]) if r["interval"] else f"({r['runs']} runs)" if r["peer"] else ""
        yield (f"{r['bench']:24} {r['op'][:26]:26} {r['ours']:9.3f} {number(r['peer'], '9.3f')} {r['unit']:6} "
               f"{number(r['own'], '+6.0f') if r['own'] else number(r['ratio'], '6.3f')} {span:>15} {bound + format(r['goal'], '.2f') if r['goal'] else '':>7}  "
               f"{r['peer_name'] or '':16} {said}")


def copies(found):
    """Yield lines of text: copies and registrations of an I/O on each disk, by tests/nvme/counts.
    """
    head = f"{'NVMe, of one I/O':24} {'':26} {'copied to send':>14} {'copied behind the wire':>23} {'registrations':>14}"
    yield head
    yield "-" * len(head)
    for disk, rows in found.items():
        for r in rows:
            copied = [f"{r[key]:.0f} ({r[key] / r['size']:.2f})" for key in ("copied_bytes", "bounced_bytes")]
            yield f"{disk:24} {r['op'] + ', ' + str(r['size']) + ' bytes':26} {copied[0]:>14} {copied[1]:>23} {r['registered']:14.2f}"


def number(value, form):
    return format(value, form) if value is not None else " " * int(form.split(".")[0])
