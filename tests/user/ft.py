#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""ft.py - run the tests of the file list over one target, and judge the results, in the guest

The tests run by libfabric's own provider of verbs. What counts has to pass over kfi_ib. The reference for the others is siw: the
target ofi leaves the tests that do not pass to ofi-siw, in a file, and these must not pass there, either. siw is a device of
iWARP, over which libfabric has no data of writes in entries, so of such tests it says nothing.
The last line is "N passed, N failed".
"""

import argparse
import ctypes
import errno
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
CLONE_NEWNET = 0x40000000

# Network namespaces and addresses of server and client
NODES = ("a", "b")
SERVER, CLIENT = "10.0.0.1", "10.0.0.2"
# libfabric's own provider of verbs, by type of endpoints, on devices of kfi_ib or siw
PROVIDERS = {"rdm": "verbs;ofi_rxm", "msg": "verbs"}
TARGETS = ("ofi", "ofi-siw")
# What a program of fabtests returns if its provider lacks something
NOT_RUN = (errno.ENODATA, errno.ENOSYS)


class Test:
    """A line of the list"""

    def __init__(self, line):
        self.type, self.kind, counts, short, self.command = line.split(None, 4)
        self.counts = counts == "counts"
        self.short = short == "short"
        if self.type not in PROVIDERS or self.kind not in ("pair", "unit", "refused", "ping") or \
                counts not in ("counts", "-") or short not in ("short", "-"):
            sys.exit(f"ft: not a test: {line}")


def lines(name):
    """The lines of a file beside this one that are neither empty nor comments."""
    with open(f"{HERE}/{name}", encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]


def start(args, node, command, log):
    """Start a command in the network namespace of a node, with its output in a file."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter():
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        file = os.open(f"/run/netns/{node}", os.O_RDONLY)
        if libc.setns(file, CLONE_NEWNET):
            os._exit(126)
        os.close(file)

    # Other providers are left out: psm3 alone measures its clock for a second. The packages'
    # programs see all but that one.
    packaged = command[0].endswith(("-2.1", "-1.17"))
    environment = dict(os.environ, FI_PROVIDER="^psm3" if packaged else "verbs,ofi_rxm")
    # ofi_rxm gives an endpoint 4096 buffers of 16 KiB to receive into; touching them takes longer
    # here than the tests do.
    environment["FI_OFI_RXM_MSG_RX_SIZE"] = "128"
    # When ofi_rxm hears that its peer has ended the connection, it destroys the queue pair, and with that
    # the completions that it has not read. On one CPU the peer may send its last message and end while
    # this process is between both looks; each device has that. So it looks for such news less often.
    environment["FI_OFI_RXM_CM_PROGRESS_INTERVAL"] = "1000000"
    words = [f"{args.programs}/bin/{command[0]}"] + command[1:]
    with open(log, "w", encoding="utf-8") as file:
        return subprocess.Popen(words, preexec_fn=enter, stdin=subprocess.DEVNULL, stdout=file,
                                stderr=file, env=environment)


def stop(process):
    """End a process and its children."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def finish(processes, seconds):
    """Wait for processes.

    Those that are left when one of them has failed, or when the time is up, are ended. None stands
    for the code of a process that took too long.
    """
    end = time.monotonic() + seconds
    while any(p.poll() is None for p in processes):
        if any(p.poll() for p in processes):
            end = min(end, time.monotonic() + 5)
        if time.monotonic() > end:
            break
        time.sleep(0.02)
    codes = [p.poll() for p in processes]
    for process in processes:
        stop(process)
    return codes


def state(process):
    """Return the letter of a process's state and its CPU time in ticks."""
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
        words = file.read().rpartition(")")[2].split()
    return words[0], int(words[11]) + int(words[12])


def settle(process):
    """Wait until a server waits for its client.

    It sleeps, or it spins and has used more CPU time than its start takes.
    """
    asleep = 0
    for _ in range(200):
        letter, ticks = state(process)
        asleep = asleep + 1 if letter == "S" else 0
        if letter == "Z" or asleep >= 15 or ticks > 60:
            return
        time.sleep(0.02)


def early(client, log):
    """Return whether a client has ended because its server was not there yet.

    It was refused. Some programs return 1, and only print the error.
    """
    code = client.poll()
    errors = (errno.ECONNREFUSED, errno.EHOSTUNREACH)
    if not code:
        return False
    if code in errors:
        return True
    with open(log, encoding="utf-8", errors="replace") as file:
        text = file.read()
    return any(os.strerror(error) in text for error in errors)


def call(server, begin, log, timeout):
    """Start a client and wait for both ends. Return their exit codes.

    On a busy machine a server may sleep for something else when settle() looks at it. Its client
    ends then, while the server waits: that client calls again.
    """
    end = time.monotonic() + timeout
    for again in range(3):
        client = begin(log)
        while client.poll() is None and server.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        if server.poll() is not None or again == 2 or not early(client, log):
            break
        print("# the client came before the server, and calls again", flush=True)
        settle(server)
    return finish([server, client], max(end - time.monotonic(), 5))


def provider_words(test):
    """Return the options that choose the provider."""
    return ["-p", PROVIDERS[test.type]]


def run_pair(args, test, log):
    """Run server and client of a test."""
    words = test.command.split() + provider_words(test)
    first = start(args, NODES[0], words + ["-s", SERVER], f"{log}.server")
    settle(first)
    return call(first, lambda client: start(args, NODES[1], words + ["-s", CLIENT, SERVER], client),
                f"{log}.client", args.timeout)


def run_ping(args, test, log):
    """Run server and client of fi_pingpong.

    They also connect by IP. -d chooses the provider.
    """
    words = test.command.split() + provider_words(test) + ["-e", test.type]
    domains = [domain(args, test, words[0], node, number) for number, node in enumerate(NODES)]
    first = start(args, NODES[0], words + ["-d", domains[0]], f"{log}.server")
    settle(first)
    words += ["-d", domains[1], SERVER]
    return call(first, lambda client: start(args, NODES[1], words, client), f"{log}.client",
                args.timeout)


def domain(args, test, program, node, number):
    """Return a domain that fi_info of the same version shows on a node.

    Of several, such as the devices of both nodes, side 1 takes the last.
    """
    log = f"{args.logs}/info"
    words = [program.replace("fi_pingpong", "fi_info"), "-t", f"FI_EP_{test.type.upper()}"]
    words += provider_words(test)
    finish([start(args, node, words, log)], args.timeout)
    with open(log, encoding="utf-8", errors="replace") as file:
        found = sorted(set(re.findall(r"^\s+domain: (\S+)", file.read(), re.M)))
    return found[-number] if found else "nothing"


def run_unit(args, test, log):
    """Run a test of one process."""
    words = test.command.replace("SERVER_ADDR", SERVER).replace("GOOD_ADDR", SERVER).split()
    words += provider_words(test)
    return finish([start(args, NODES[0], words, f"{log}.server")], args.timeout)


def perform(args, test, log):
    """Run a test. Return passed, failed or not run, and why."""
    how = {"pair": run_pair, "ping": run_ping}.get(test.kind, run_unit)
    codes = how(args, test, log)
    text = " and ".join("no end" if code is None else str(code) for code in codes)
    if test.kind == "refused":
        return ("passed" if codes == [errno.ENODATA] else "failed"), text
    if all(code in NOT_RUN for code in codes):
        return "not run", text
    return ("passed" if not any(code is None or code for code in codes) else "failed"), text


def tail(log):
    """Return the last lines that both sides of a test have written."""
    for side in ("server", "client"):
        if os.path.exists(f"{log}.{side}"):
            with open(f"{log}.{side}", encoding="utf-8", errors="replace") as file:
                for line in file.read().splitlines()[-4:]:
                    print(f"        {side}: {line[:160]}")


def left_to_siw(args):
    """Return the file of the tests that the target ofi has left, one a line."""
    return f"{os.path.dirname(args.logs)}/left-to-siw"


def judge(target, test, result):
    """Return what is wrong with a result."""
    if target == "ofi":
        return "counts, but does not pass" if test.counts and result != "passed" else None
    return "passes over siw, and not over kfi_ib" if result == "passed" else None


def choose(args):
    """Return the tests to run."""
    tests = [Test(line) for line in lines("list")]
    if args.short:   # the newer fi_pingpong alone
        tests = [t for t in tests if t.short and "fi_pingpong-1" not in t.command]
    if args.only:
        tests = [t for t in tests if re.search(args.only, f"{t.type} {t.command}")]
    if args.target == "ofi-siw":
        with open(left_to_siw(args), encoding="utf-8") as file:
            left = file.read().splitlines()
        tests = [t for t in tests if f"{t.type} {t.command}" in left]
    return tests


def leave(args, results):
    """Leave what has not passed to siw. Return how many."""
    left = [test for test, result in results if result != "passed"]
    with open(left_to_siw(args), "w", encoding="utf-8") as file:
        file.writelines(f"{test.type} {test.command}\n" for test in left)
    return len(left)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, help="what tests/user/fabtests prints")
    parser.add_argument("--logs", required=True, help="a folder for the output of the programs")
    parser.add_argument("--timeout", type=float, default=120,
                        help="seconds for a test (%(default)s)")
    parser.add_argument("--short", action="store_true", help="only what make test-more runs")
    parser.add_argument("--only", help="only tests that match this regular expression")
    parser.add_argument("target", choices=TARGETS)
    args = parser.parse_args()
    shutil.rmtree(args.logs, ignore_errors=True)
    os.makedirs(args.logs)
    wrong, results = 0, []
    tests = choose(args)
    for number, test in enumerate(tests):
        log, begin = f"{args.logs}/{number:03}", time.monotonic()
        result, why = perform(args, test, log)
        results.append((test, result))
        fault = judge(args.target, test, result)
        print(f"{'NOT OK' if fault else 'ok':<7} {args.target} {test.type:<5} {test.command}: "
              f"{result} ({why}), {time.monotonic() - begin:.1f} s, {number:03}", flush=True)
        if fault:
            wrong += 1
            print(f"        {fault}")
            tail(log)
    passed = len(tests) - wrong
    if args.target == "ofi":
        left = leave(args, results)
        print(f"# {left} tests that have not passed are left to siw")
        passed -= left - wrong
        wrong += not passed
    print(f"{passed} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
