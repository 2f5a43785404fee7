#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""programs.py kfi|siw - programs of other people on RDMA devices of that kind, in the guest

Pairs of programs of rdma-core, qperf and fio, which use what perftest and rping (verbs.py) do not: sockets of librdmacm, inline
data, extended and shared queues, many connections at a time, events. With kfi also programs that connect queue pairs by themselves,
and another Ethernet address.
The last line is "N passed, N failed".
"""

import argparse
import os
import subprocess
import sys
import time

import verbs
from verbs import ADDRESSES, finish, start

SERVER = ADDRESSES[4]
COPIED = "/tmp/copied"
FIO = "fio --name=x --ioengine=rdma --port=7480 --bs=16k --size=1m --iodepth=4 --thread"
# Names of cases, and the commands of server and client. fio is not asked for messages: its server takes the end of the receives
# that are left, when the client has gone, for an error, and then waits for ever (with siw, too). A server of qperf crashes when a
# test is over, with all devices, so each test has a server of its own.
PAIRS = {
    "rdma_server, rdma_client": ("rdma_server -s {a} -p 7471", "rdma_client -s {a} -p 7471"),
    "rdma_xserver, rdma_xclient": ("rdma_xserver -p 7471 -c r", "rdma_xclient -s {a} -p 7471 -c r"),
    "ucmatose, 8 connections": ("ucmatose -b {a} -c 8 -C 20 -S 1000", "ucmatose -s {a} -c 8 -C 20 -S 1000"),
    "rstream": ("rstream -b {a} -p 7472 -S 4096 -C 20", "rstream -s {a} -p 7472 -S 4096 -C 20"),
    "rstream, blocking, with poll": ("rstream -b {a} -p 7472 -S 64 -C 20 -T b", "rstream -s {a} -p 7472 -S 64 -C 20 -T b"),
    "riostream": ("riostream -b {a} -p 7473 -S 4096 -C 20", "riostream -s {a} -p 7473 -S 4096 -C 20"),
    "rcopy": ("rcopy", f"rcopy /bin/bash {{a}}:{COPIED}"),
    "cmtime, 10 connections": ("cmtime -b {a} -c 10", "cmtime -s {a} -c 10"),
    **{f"qperf, {test}": ("qperf --listen_port 19765", f"qperf {{a}} --listen_port 19765 -t 1 -cm 1 {test}")
       for test in ("rc_lat", "rc_bw", "rc_bi_bw", "rc_rdma_write_lat", "rc_rdma_write_bw", "rc_rdma_read_lat", "rc_rdma_read_bw")},
    "fio, write": (f"{FIO} --verb=write --rw=read", f"{FIO} --hostname={{a}} --verb=write --rw=write"),
    "fio, read": (f"{FIO} --verb=read --rw=read", f"{FIO} --hostname={{a}} --verb=read --rw=write"),
}
# The same of programs that connect their queue pairs by themselves, which those of iWARP can't. GID 0 is of link-local addresses.
BY_HAND = {
    "ibv_rc_pingpong, link-local": ("ibv_rc_pingpong -d kfi_a -g 0 -n 100", "ibv_rc_pingpong -d kfi_b -g 0 -n 100 {a}"),
    "ibv_rc_pingpong, with events": ("ibv_rc_pingpong -d kfi_a -g 2 -n 100 -e", "ibv_rc_pingpong -d kfi_b -g 2 -n 100 -e {a}"),
    "ibv_ud_pingpong": ("ibv_ud_pingpong -d kfi_a -g 1 -n 100 -s 1000 -e", "ibv_ud_pingpong -d kfi_b -g 1 -n 100 -s 1000 -e {a}"),
    "ibv_srq_pingpong": ("ibv_srq_pingpong -d kfi_a -g 1 -n 20 -q 4 -e", "ibv_srq_pingpong -d kfi_b -g 1 -n 20 -q 4 -e {a}"),
}
# Servers that serve until they are killed
STAY = ("rcopy", "qperf", "cmtime")


def run_pair(verdict, name, commands):
    server = start("a", commands[0].format(a=SERVER))
    # Not all of them listen by rdma_cm at first.
    time.sleep(0.7)
    ends = [verbs.call(server, "b", commands[1].format(a=SERVER), 60)]
    if commands[0].split()[0] in STAY:
        server.terminate()
        ends.append((0, finish(server, 10)[1]))
    else:
        ends.append(finish(server, 10 if ends[0][0] == 0 else 1))
    verdict.say(all(code == 0 for code, _ in ends), name, "\n".join(f"exit code {code}\n{text}" for code, text in ends))


def copied(verdict):
    result = subprocess.run(["cmp", "/bin/bash", COPIED], capture_output=True, text=True, check=False)
    verdict.say(result.returncode == 0, "rcopy has copied all bytes", result.stdout + result.stderr)


def gid(device):
    with open(f"/sys/class/infiniband/{device}/ports/1/gids/0", encoding="ascii") as file:
        return file.read().strip()


def ip(node, *words):
    subprocess.run(["ip", "-n", node, *words], check=True)


def other_address(verdict):
    """The Ethernet address of the interface changes, which goes down for that."""
    watch = start("b", "ibv_asyncwatch -d kfi_b")
    time.sleep(0.5)
    ip("b", "link", "set", "vb", "down")
    ip("b", "link", "set", "vb", "address", "02:00:00:00:00:77")
    ip("b", "link", "set", "vb", "up")
    ip("b", "addr", "replace", "fd00::2/64", "dev", "vb", "nodad")
    subprocess.run(["tests/uml/netns", "neighbours"], check=True)
    time.sleep(0.5)
    watch.terminate()
    text = finish(watch, 5)[1]
    verdict.say(gid("kfi_b") == "fe80:0000:0000:0000:0000:00ff:fe00:0077", "the GID is made of the new address", gid("kfi_b"))
    verdict.say("IBV_EVENT_PORT_ERR" in text and "IBV_EVENT_PORT_ACTIVE" in text, "events of the port", text)
    verbs.run_pairs(verdict, {"rping with the new address": verbs.ping(4, 64, 5)})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", required=True)
    parser.add_argument("--only", default="", help="only cases with this word in their names")
    parser.add_argument("kind", choices=("kfi", "siw"))
    opts = parser.parse_args()
    os.makedirs(opts.logs, exist_ok=True)
    verdict = verbs.Verdict(opts.logs)
    for name, commands in {**PAIRS, **(BY_HAND if opts.kind == "kfi" else {})}.items():
        if opts.only in name:
            run_pair(verdict, name, commands)
    if opts.only in "rcopy":
        copied(verdict)
    if opts.kind == "kfi":
        other_address(verdict)
    print(f"{verdict.passed} passed, {verdict.failed} failed")
    return 1 if verdict.failed else 0


if __name__ == "__main__":
    sys.exit(main())
