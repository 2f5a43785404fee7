#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""pulls.py - pull a cable below programs that use it. It runs in the guest, see run.

Each round runs a pair of programs of fabtests over a mock cable, and pulls the cable at a random
moment. The pair can't go on, so one of its programs ends by itself, with an error; the other one of
endpoints without connections may wait for a message, and so may both that have sent theirs. Then the cable is put back, and a pair that is
left alone ends well. The last line is "N passed, N failed"."""

import subprocess
import sys
import time

import ft
import removals

# Whether both have to end, and the programs. Each of them runs for much longer than a round, and those without connections
# always have operations in flight.
PROGRAMS = (
    (True, "fi_msg_pingpong -I 100000000 -W 1 -S 64"),
    (False, "fi_rdm_tagged_bw -I 100000000 -W 8 -S 262144"),
    (False, "fi_rma_bw -e rdm -o write -I 100000000 -W 8 -S 65536"),
)
AFTERWARDS = "rdm ping - short fi_pingpong-2.1 -c -I 50"
CONTROL = "/sys/kernel/debug/kfi_usb4_mock/control"
# Seconds in which a program has to end: a call that waits for the cable has a time-out of its own.
PATIENCE = 60


def cable(verb):
    """Send a command to the mock."""
    with open(CONTROL, "w", encoding="ascii") as file:
        file.write(f"cable 0 {verb}")


def put_back(tool):
    """Plug the cable, and wait until both hosts see that it is up."""
    cable("plug")
    for _ in range(300):
        shown = subprocess.run([tool, "show", "devices"], check=True, capture_output=True, text=True)
        if shown.stdout.count("up,") == 2:
            return
        time.sleep(0.1)
    sys.exit("pulls: the cable does not come up")


def connected(tool):
    """Wait until two ends have a connection: a program that waits for its peer notices no cable."""
    for _ in range(300):
        shown = [subprocess.run([tool, "-j", "show", what], check=True, capture_output=True, text=True).stdout
                 for what in ("peers", "endpoints")]
        if max(text.count('"state":"connected"') for text in shown) >= 2:
            return True
        time.sleep(0.1)
    return False


def ends(pair, both):
    """Wait for a program, or for both. Return what is wrong, or None."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        codes = [process.poll() for process in pair]
        if (all if both else any)(code is not None for code in codes):
            return "saw no error" if 0 in codes else None
        time.sleep(0.02)
    return f"does not end after the cable was pulled: {codes}"


def play(args, dice, number):
    """One round. Returns what was wrong, or None, and a description."""
    both, command = PROGRAMS[number % len(PROGRAMS)]
    delay = dice.uniform(0, 1)
    log = f"{args.logs}/{number:03}"
    _, _, own, other, reach = ft.TARGETS[args.target]
    words = command.split() + ["-p", "kfi"]
    server = ft.start(args, None, words + ["-s", own], f"{log}.server")
    ft.settle(server)
    client = ft.start(args, None, words + ["-s", other, reach], f"{log}.client")
    fault = None if connected(args.tool) else "the programs do not connect"
    time.sleep(delay)
    if any(process.poll() is not None for process in (server, client)):
        fault = f"ended before the cable was pulled: {[server.poll(), client.poll()]}"
    cable("unplug")
    fault = fault or ends((server, client), both)
    for process in (server, client):
        removals.wait(process, 1)
        ft.stop(process)
    put_back(args.tool)
    if not fault:
        result, why = ft.perform(args, ft.Test(AFTERWARDS), f"{log}.after")
        fault = None if result == "passed" else f"afterwards: {result} ({why})"
    return fault, f"{command}: after {delay:.3f} s"


if __name__ == "__main__":
    sys.exit(removals.rounds("pulls", __doc__, "usb4", len(PROGRAMS), play, ("--tool", "the command kfi")))
