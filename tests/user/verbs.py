#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""verbs.py - programs of verbs on the devices kfi_a and kfi_b of the nodes a and b, in the guest

Pairs of rdma-core's and perftest's programs, pyverbs' own tests, and processes that die at random
moments of their traffic. The last line is "N passed, N failed".
"""

import argparse
import glob
import gzip
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

DEVICES = {"a": "kfi_a", "b": "kfi_b"}
ADDRESSES = {4: "10.0.0.1", 6: "fd00::1"}
# The programs of Debian know Debian's Python.
PYTHON = "/usr/bin/python3"
TESTS = "/usr/share/doc/rdma-core/tests"
LATER = {"a": "10.7.0.1", "b": "10.7.0.2"}  # addresses that come when the devices are there, and their index
LATER_GID = 3
PERF = "{program} -F -d {device} -s {size} -n {rounds} {words} {address}"
PING = "rping -{side} -a {where} -C {rounds} -S {size} -V"


def by_hand(program, size, rounds, words=""):
    """The commands of both ends of a program of perftest: server, client. They connect their queue pairs by themselves."""
    return [PERF.format(program=program, device=DEVICES[node], size=size, rounds=rounds, words=words, address=address)
            for node, address in (("a", ""), ("b", ADDRESSES[4]))]


def perf(program, size, rounds, words=""):
    """The same by rdma_cm."""
    return by_hand(program, size, rounds, f"-R {words}")


def ping(version, size, rounds):
    return [PING.format(side=side, where=ADDRESSES[version], size=size, rounds=rounds) for side in "sc"]


# Programs that spin leave each other the one CPU of the guest after a time slice only, so there are few of them.
PAIRS = {
    "rping by IPv4": ping(4, 64, 50),
    "rping by IPv6": ping(6, 16000, 50),
    "ib_send_bw": perf("ib_send_bw", 65536, 50),
    "ib_send_bw, with a shared receive queue": perf("ib_send_bw", 4096, 20, "--use-srq -q 4"),
    "ib_write_bw": perf("ib_write_bw", 1 << 20, 20),
    "ib_send_bw, with events": perf("ib_send_bw", 65536, 50, "-e"),
    "ib_read_bw, with events": perf("ib_read_bw", 65536, 50, "-e"),
    "ib_send_lat, with events": perf("ib_send_lat", 64, 20, "-e"),
    "ib_read_lat, with events": perf("ib_read_lat", 64, 20, "-e"),
    "ib_send_bw by hand": by_hand("ib_send_bw", 65536, 50),
    "ib_write_bw by hand": by_hand("ib_write_bw", 1 << 20, 20),
    "ib_write_lat by hand, which waits for the last byte": by_hand("ib_write_lat", 64, 5),
    "ib_read_bw by hand, with events": by_hand("ib_read_bw", 65536, 50, "-e"),
    "ib_send_lat by hand, of datagrams, with events": by_hand("ib_send_lat", 1024, 20, "-c UD -e"),
    "ib_send_lat by hand, of datagrams with a shared receive queue": by_hand("ib_send_lat", 1024, 20, "-c UD -e --use-srq"),
    "ib_atomic_lat by hand, which adds": by_hand("ib_atomic_lat", 8, 20, "-A FETCH_AND_ADD"),
    "ib_atomic_bw by hand, which compares": by_hand("ib_atomic_bw", 8, 50, "-A CMP_AND_SWAP"),
    "ib_send_bw by hand, of type UC, with events": by_hand("ib_send_bw", 65536, 50, "-c UC -e"),
    "ib_write_bw by hand, of type UC": by_hand("ib_write_bw", 65536, 20, "-c UC"),
    "ib_send_bw by hand, by an address that came later": by_hand("ib_send_bw", 4096, 20, f"-x {LATER_GID}"),
    "ib_send_lat by hand, of datagrams, by that address": by_hand("ib_send_lat", 64, 20, f"-c UD -e -x {LATER_GID}"),
}
# The same without an end
ENDLESS = [ping(4, 4096, 0), perf("ib_send_bw", 65536, 10000000), perf("ib_write_bw", 65536, 10000000),
           perf("ib_read_bw", 65536, 10000000)]
# Modules of pyverbs' tests for other hardware
OTHERS = ("test_mlx5", "test_efa", "test_cuda")
# So many of the others always pass. Some of test_qp draw lots for the attributes of an extended queue pair, and each passes if it
# draws none. docs/verbs-device.md says why the rest is skipped.
PASS = 48
# What passes over rxe and not here, with the rows of the table of docs/verbs-device.md. test_qp draws these lots, too.
ONLY_RXE = {"extended completion queues": r"test_cqex\.", "extended queue pairs": r"test_qp(ex)?\.",
            "memory windows": r"test_mr\..*_mw", "ODP": r"test_odp\."}


class Verdict:
    """Counts results and says them."""

    def __init__(self, logs):
        self.logs = logs
        self.passed = self.failed = 0

    def say(self, good, name, text=""):
        self.passed += good
        self.failed += not good
        print(f"{'ok     ' if good else 'NOT OK '} {name}", flush=True)
        with open(f"{self.logs}/{re.sub('[^a-z0-9]+', '-', name.lower())}", "w", encoding="utf-8") as file:
            file.write(text)
        if not good:
            print(text[-3000:], flush=True)


def start(node, command):
    # pylint: disable-next=consider-using-with
    return subprocess.Popen(["ip", "netns", "exec", node, *command.split()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def finish(process, seconds):
    """Return the exit code and the output; a process that lasts longer is killed."""
    try:
        text = process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        text = process.communicate()[0] + "\n(killed)"
    return process.returncode, text


def listening(server):
    """Wait until the program has a listener of rdma_cm, or of TCP, which all of them have first."""
    commands = ["rdma resource show cm_id", "ip netns exec a ss -tlnH sport = :18515"]
    for _ in range(200):
        if server.poll() is not None or any("LISTEN" in subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout
                                            for command in commands):
            return
        time.sleep(0.05)


def pair(commands):
    server = start("a", commands[0])
    listening(server)
    client = start("b", commands[1])
    return server, client


def call(server, node, command, seconds=100):
    """Run a client. rdma_cm shows a listener before ib_cm has it: a client that comes in between is refused, and calls again.
    """
    for _ in range(3):
        code, text = finish(start(node, command), seconds)
        if code in (0, -signal.SIGSEGV) or server.poll() is not None or not re.search("reject|refused|rdma_connect failed", text, re.I):
            break
        time.sleep(0.5)
    return code, text


def both_ends(commands, seconds=100):
    """Run server and client. Return the exit code and the output of each.

    The ends of perftest with -R shake hands by TCP before the server listens at rdma_cm. A client that is refused in between has
    freed what it needs to call again (perftest 4.5, rdma_cm_client_connection()), dies, and leaves a server that waits for ever.
    On a busy host that happens to most of them."""
    before = ""
    for _ in range(10):
        server = start("a", commands[0])
        listening(server)
        code, text = call(server, "b", commands[1], seconds)
        if code != -signal.SIGSEGV or "-R" not in commands[1].split():
            break
        server.kill()
        before += f"{text}\n(client died)\nserver:\n{finish(server, seconds)[1]}\n"
    return [(code, before + text), finish(server, seconds)]


def run_pairs(verdict, pairs):
    for name, commands in pairs.items():
        ends = both_ends(commands)
        good = all(code == 0 for code, _ in ends)
        verdict.say(good, name, "\n".join(f"exit code {code}\n{text}" for code, text in ends))


def nothing_left(seconds):
    """Wait until no object of verbs is left. Return what there is."""
    end = time.monotonic() + seconds
    while True:
        objects = "".join(subprocess.run(["rdma", "resource", "show", kind], capture_output=True, text=True, check=True).stdout
                          for kind in ("qp", "cq", "mr", "pd", "cm_id", "srq"))
        left = "".join(line for line in objects.splitlines(True) if "comm [ib_core]" not in line)  # MADs have their own
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.1)


def rdma_link(node, verb, kind="kfi"):
    """Add or delete a device."""
    words = ("type", kind, "netdev", f"v{node}") if verb == "add" else ()
    subprocess.run(["ip", "netns", "exec", node, "rdma", "link", verb, f"{kind}_{node}", *words], check=True, timeout=60)


def kill(lot, processes):
    """One end dies, the other one a little later."""
    lot.shuffle(processes)
    for process in processes:
        time.sleep(lot.uniform(0, 0.5))
        process.kill()


def remove(lot, processes):
    """A device goes, and comes back when the processes are dead."""
    time.sleep(lot.uniform(0, 0.5))
    node = lot.choice("ab")
    rdma_link(node, "delete")
    for process in processes:
        process.kill()
        process.wait()
    rdma_link(node, "add")


def run_trouble(verdict, trouble, count, lot):
    """Pairs of processes that have trouble at a random moment: nothing is left then, and the devices work."""
    name = f"{count} times: {trouble.__doc__}"
    for number in range(count):
        commands = lot.choice(ENDLESS)
        processes = list(pair(commands))
        trouble(lot, processes)
        text = "\n".join(finish(process, 20)[1] for process in processes)
        left = nothing_left(30)
        if left:
            verdict.say(False, name, f"round {number}, {commands[0]}\n{text}\nleft:\n{left}")
            return
    verdict.say(True, name)
    run_pairs(verdict, {f"rping after {trouble.__name__}": PAIRS["rping by IPv4"]})


def run_speed(verdict):
    """A device whose interface has no speed says the least one, and nobody fills the log by asking for it."""
    for command in ("ip link add d0 type dummy", "ip addr add 10.8.0.1/24 dev d0", "ip link set d0 up",
                    "rdma link add kfi_d type kfi netdev d0"):
        subprocess.run(f"ip netns exec a {command}".split(), check=True, timeout=60)
    info = "".join(subprocess.run("ibv_devinfo -v -d kfi_d".split(), capture_output=True, text=True, check=False).stdout for _ in range(3))
    log = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    for command in ("rdma link delete kfi_d", "ip link delete d0"):
        subprocess.run(f"ip netns exec a {command}".split(), check=True, timeout=60)
    verdict.say(info.count("2.5 Gbps") == 3 and "speed is unknown" not in log, "a speed that is unknown", info + log)


def unpack(folder):
    """Debian has the tests as documentation, some of them compressed."""
    shutil.copytree(TESTS, folder)
    for path in glob.glob(f"{folder}/*.gz"):
        with gzip.open(path) as packed, open(path[:-3], "wb") as file:
            shutil.copyfileobj(packed, file)
    for name in os.listdir(folder):
        if name.startswith(OTHERS):
            os.remove(f"{folder}/{name}")


def outcomes(device):
    """Run pyverbs' tests on a device. Return the exit code, the output, and what became of each test."""
    process = start("a", f"env PYTHONPATH=/tmp/pyverbs {PYTHON} /tmp/pyverbs/tests/run_tests.py -v --dev {device}")
    code, text = finish(process, 400)
    found = re.findall(r"^(test_\w+) \(tests\.(\w+)\.[\w.]+\).*?\.\.\. (ok|skipped|FAIL|ERROR)\b", text, re.M | re.S)
    return code, text, {f"{module}.{test}": result for test, module, result in found}


def run_pyverbs(verdict):
    """The tests on kfi_ib, and on rxe: what passes there alone is listed."""
    unpack("/tmp/pyverbs/tests")
    code, text, here = outcomes(DEVICES["a"])
    run = list(here.values()).count("ok")
    verdict.say(code == 0 and run >= PASS, f"pyverbs' tests: {run} pass", f"exit code {code}\n{text}")
    rdma_link("a", "add", "rxe")
    code, text, there = outcomes("rxe_a")
    rdma_link("a", "delete", "rxe")
    missing = [test for test, result in there.items() if result == "ok" and here.get(test) != "ok"]
    good = all(any(re.match(what, test) for what in ONLY_RXE.values()) for test in missing)
    good &= all(any(re.match(what, test) for test in missing) for what in ONLY_RXE.values())
    verdict.say(good, f"pyverbs' tests that pass over rxe alone are listed: {len(missing)}", f"{missing}\nexit code {code}\n{text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", required=True)
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    opts = parser.parse_args()
    os.makedirs(opts.logs, exist_ok=True)
    verdict = Verdict(opts.logs)
    info = subprocess.run(["ibv_devinfo"], capture_output=True, text=True, check=False).stdout
    verdict.say(all(device in info for device in DEVICES.values()) and info.count("PORT_ACTIVE") == 2, "ibv_devinfo", info)
    for node, address in LATER.items():
        subprocess.run(f"ip netns exec {node} ip addr add {address}/24 dev v{node}".split(), check=True)
    run_speed(verdict)
    run_pairs(verdict, PAIRS)
    run_pyverbs(verdict)
    print(f"seed {opts.seed}", flush=True)
    lot = random.Random(opts.seed)
    run_trouble(verdict, kill, opts.kills, lot)
    run_trouble(verdict, remove, opts.kills, lot)
    print(f"{verdict.passed} passed, {verdict.failed} failed")
    return 1 if verdict.failed else 0


if __name__ == "__main__":
    sys.exit(main())
