#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""removals.py - take an RDMA device away from programs that use it. It runs in the guest, see run.

Each round adds a device to both nodes, runs a pair of programs of fabtests over it, and removes
the device of one node at a random moment. The program of that node has to end by itself, with an
error; the program of the other node may wait for a message. The last line is "N passed, N failed"."""

import argparse
import os
import random
import subprocess
import sys
import time

import ft

# Each of them runs for much longer than a round.
PROGRAMS = (
    "fi_rdm_pingpong -I 100000000 -W 1 -S 64",
    "fi_rdm_tagged_bw -I 100000000 -W 8 -S 262144",
    "fi_rma_bw -e rdm -o write -I 100000000 -W 8 -S 65536",
    "fi_rma_bw -e rdm -o read -I 100000000 -W 8 -S 1048576",
)
NODES = "ab"
# Seconds in which a program has to end after its device or its connection is gone
PATIENCE = 20


def netns(*words):
    """Run a command of tests/uml/netns."""
    subprocess.run([f"{ft.HERE}/../uml/netns", *words], check=True)


def wait(process, seconds):
    """Exit code of a process, or None if it does not end in time."""
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    return process.poll()


def add(number):
    """Add the device of a node, and wait until it has the node's address."""
    device = f"rxe_{NODES[number]}"
    netns("rdma-on", "rxe", NODES[number])
    for _ in range(500):
        for gid in range(8):
            path = f"/sys/class/infiniband/{device}/ports/1/gids/{gid}"
            with open(path, encoding="ascii") as file:
                if file.read().strip().endswith(f"ffff:0a00:{number + 1:04x}"):
                    return
        time.sleep(0.01)
    sys.exit(f"removals: {device} has no address")


def begin(args, command, log):
    """Start both programs of a round."""
    words = command.split() + ["-p", "kfi"]
    server = ft.start(args, "a", words + ["-s", "10.0.0.1"], f"{log}.server")
    ft.settle(server)
    client = ft.start(args, "b", words + ["-s", "10.0.0.2", "10.0.0.1"], f"{log}.client")
    ft.settle(client)
    return server, client


def play(args, dice, number):
    """One round. Returns what was wrong, or None, and a description."""
    command = PROGRAMS[number % len(PROGRAMS)]
    loser = dice.randrange(2)
    delay = dice.uniform(0, 1)
    what = f"{command}: node {NODES[loser]} after {delay:.3f} s"
    log = f"{args.logs}/{number:03}"
    pair = begin(args, command, log)
    time.sleep(delay)
    fault = None
    if any(process.poll() is not None for process in pair):
        fault = f"ended before the device went: {[process.poll() for process in pair]}"
    subprocess.run(["rdma", "link", "delete", f"rxe_{NODES[loser]}"], check=True)
    code = wait(pair[loser], PATIENCE)
    if not fault and not code:
        fault = "does not end after its device has gone" if code is None else "saw no error"
    wait(pair[1 - loser], 1)
    for process in pair:
        ft.stop(process)
    add(loser)
    return fault, what


def rounds(name, about, target, programs, play_one, *more):
    """The command line, and one round after the other; @more: arguments of this command. Return its code."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, help="what tests/user/fabtests prints")
    parser.add_argument("--logs", required=True, help="a folder for the output of the programs")
    for word, what in more:
        parser.add_argument(word, required=True, help=what)
    parser.add_argument("--count", type=int, default=programs, help="rounds")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    args = parser.parse_args()
    args.target, args.timeout = target, 60
    os.makedirs(args.logs, exist_ok=True)
    print(f"{name}: seed {args.seed}, {args.count} rounds", flush=True)
    dice, failed = random.Random(args.seed), 0
    for number in range(args.count):
        fault, what = play_one(args, dice, number)
        print(f"{'NOT OK' if fault else 'ok':<7} {name} {number} {what}", flush=True)
        if fault:
            failed += 1
            print(f"        {fault}")
            ft.tail(f"{args.logs}/{number:03}")
    print(f"{args.count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(rounds("removals", __doc__, "verbs", 2 * len(PROGRAMS), play))
