#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""bench.py - libfabric's benchmarks over kfabric and over libfabric's own providers, in turns

It runs in the guest, see run. Every figure is the median of its rounds; a ratio is the median of
the ratios of the rounds, in each of which both run once, one right after the other. Both sides of a
pair sleep while they wait (-c sread), because the guest has one CPU: a side that spins would keep
the other from running. shm cannot wait like that, and yields. The last line is "N passed, N
failed": a run that fails is a failure, a missed goal is not.
"""

import argparse
import os
import statistics
import sys
from types import SimpleNamespace

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import ft  # noqa: E402

# What is measured: its name, the unit, the column of the programs' output, and the words for a program. -j 0: no injected sends,
# which would be posted one by one.
MEASURES = {
    "latency, 8 bytes": ("us", "usec", "pingpong", "-S 8 -I 2000 -w 200 -j 0"),
    "latency, 64 KiB": ("us", "usec", "pingpong", "-S 65536 -I 500 -w 50 -W 4"),
    "messages, 64 bytes, FI_MORE": ("million/s", "rate", "bw", "-S 64 -I 20000 -w 1000 -W 64 -j 0 --use-fi-more"),
    "bandwidth, 1 MiB": ("MB/s", "bandwidth", "bw", "-S 1048576 -I 200 -w 20 -W 8"),
}
PROGRAMS = {("rdm", "pingpong"): "fi_rdm_pingpong", ("rdm", "bw"): "fi_rdm_bw",
            ("msg", "pingpong"): "fi_msg_pingpong", ("msg", "bw"): "fi_msg_bw"}
# Where: nodes of server and client, the name of ours there, that of the others, and the rivals. The first of these is the limit.
PLACES = {
    "two nodes, sockets": (("a", "b"), ("10.0.0.1", "10.0.0.2", "10.0.0.1"), ("10.0.0.1", "10.0.0.2", "10.0.0.1"), ("tcp",)),
    "one machine, loop": ((None, None), ("loop", None, "loop"), ("127.0.0.1", None, "127.0.0.1"), ("tcp", "shm")),
}
# Ours beside the limit: latency at most this, the others at least.
GOALS = {"latency, 8 bytes": 1.0, "latency, 64 KiB": 1.0, "messages, 64 bytes, FI_MORE": 2.0, "bandwidth, 1 MiB": 1.0}


def figure(log, column):
    """Return the figure in a program's table: bytes, iterations, total, time, MB/sec, ...
    """
    with open(f"{log}.client", encoding="utf-8", errors="replace") as file:
        rows = [line.split() for line in file if len(line.split()) == 7 and line.split()[-1].replace(".", "").isdigit()]
    # The last column has too few digits.
    usec = float(rows[-1][5])
    return {"bandwidth": float(rows[-1][4]), "usec": usec, "rate": 1 / usec}[column]


def once(args, place, kind, provider, measure):
    """Run a benchmark. Return its figure, or None."""
    nodes, ours, others, _ = PLACES[place]
    server, client, reach = ours if provider == "kfi" else others
    _, column, what, options = MEASURES[measure]
    # shm names its endpoints by itself, and both sides are told of a connection of IP beside it.
    wait = "yield" if provider == "shm" else "sread"
    words = [PROGRAMS[kind, what], *options.split(), "-c", wait, "-p", provider]
    log = f"{args.logs}/{args.number:03}"
    args.number += 1
    side = SimpleNamespace(programs=args.programs, target="bench")
    beside = ["-E"] if provider == "shm" else []
    first = ft.start(side, nodes[0], words + beside + (["-s", server] if not beside else []), f"{log}.server")
    ft.settle(first)
    own = ["-s", client] if client else []
    second = ft.start(side, nodes[1], words + beside + own + [reach], f"{log}.client")
    codes = ft.finish([first, second], args.timeout)
    if codes != [0, 0]:
        print(f"NOT OK  {place} {kind} {provider} {measure}: ended with {codes}, {args.number - 1:03}", flush=True)
        ft.tail(log)
        return None
    return figure(log, column)


def rounds(args, place, kind, measure, providers):
    """Return all figures of each provider, measured in turns."""
    figures = {p: [] for p in providers}
    for _ in range(args.rounds):
        for provider in providers:
            if figures[provider] is None:
                continue
            value = once(args, place, kind, provider, measure)
            if value is None:
                figures[provider] = None
            else:
                figures[provider].append(value)
    return figures


def row(place, kind, measure, figures, limit):
    """Return a row of the table, and whether the goal is met."""
    unit, column, _, _ = MEASURES[measure]
    cells = [f"{p} {statistics.median(v):.4g}" for p, v in figures.items() if v]
    ratios = [a / b for a, b in zip(figures["kfi"], figures[limit])]
    ratio, goal = statistics.median(ratios), GOALS[measure]
    if place.startswith("one"):
        goal = 1.0
    met = ratio <= goal if column == "usec" else ratio >= goal
    print(f"| {place} | {kind.upper()} | {measure} | {unit} | {', '.join(cells)} | {ratio:.2f} ({min(ratios):.2f}-{max(ratios):.2f}) "
          f"| {'at most' if column == 'usec' else 'at least'} {goal} | {'met' if met else 'missed'} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, help="what tests/user/fabtests prints")
    parser.add_argument("--logs", required=True, help="a folder for the output of the programs")
    parser.add_argument("--rounds", type=int, default=7, help="runs of each benchmark (%(default)s)")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for a run (%(default)s)")
    parser.add_argument("--only", default="", help="only rows that contain this")
    args = parser.parse_args()
    os.makedirs(args.logs, exist_ok=True)
    args.number, passed, failed = 0, 0, 0
    print("| where | endpoints | what | unit | medians | kfi beside tcp | goal | |")
    print("|-------|-----------|------|------|---------|----------------|------|-|", flush=True)
    for place, (_, _, _, rivals) in PLACES.items():
        for kind in ("rdm", "msg"):
            for measure in MEASURES:
                if args.only not in f"{place} {kind} {measure}":
                    continue
                providers = ["kfi"] + [r for r in rivals if kind == "rdm" or r != "shm"]
                figures = rounds(args, place, kind, measure, providers)
                passed += sum(1 for v in figures.values() if v)
                failed += sum(1 for v in figures.values() if not v)
                if figures["kfi"] and figures[rivals[0]]:
                    row(place, kind, measure, figures, rivals[0])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
