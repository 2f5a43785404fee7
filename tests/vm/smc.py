#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""smc.py [--provider sockets|ntb|usb4] [-k WORD]: unmodified programs of TCP over SMC-R over kfi_ib

Two machines of a stock 6.12 kernel with a device of kfi_ib each. Python's HTTP server on b and its client on a get sockets of SMC by
LD_PRELOAD. SMC-R becomes TCP without a word where it can't be had, so each case looks at the links that SMC has, and at the bytes that
kfi_ib has sent. The last line is "N passed, N failed".
"""

import argparse
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from scenario import Verdict, check, once_more  # noqa: E402
import bed                                      # noqa: E402
import pair as vm                               # noqa: E402
import rdma                                     # noqa: E402

SERIES = "6.12"
EID = "KFABRIC.TEST"              # of version 2 of SMC-R, without which it offers GIDs of RoCE v1 alone
MIB = 32
FILE = "file"
PORT = 8000
HOLD = 15                         # seconds that connections wait for a pulled cable
GUEST = os.path.join(vm.HERE, "smc_guest.py")
PROVIDERS = ("sockets", "ntb", "usb4")
CASES = []
case = bed.register_in(CASES)


class Scenario:
    """A pair with an RDMA device each, and a server on b"""

    def __init__(self, pair, provider, preload):
        self.pair = pair
        self.network = rdma.NETWORKS[provider](pair)
        self.preload = f"{bed.IN_HOST}/usr/bin/env LD_PRELOAD={preload} "
        data = random.randbytes(MIB << 20)
        self.md5 = hashlib.md5(data).hexdigest()
        self.file = os.path.join(pair.logs, FILE)
        with open(self.file, "wb") as file:
            file.write(data)
        self.server = None

    def guest(self, name, words):
        return self.pair.run(name, f"{bed.IN_HOST}python3 {GUEST} {words}").text

    def begin(self):
        for name in self.pair.vms:
            self.pair.run(name, bed.SEE_HOST)
            self.network.enter(name)
            self.pair.run(name, "modprobe smc")
            if self.network.name == "usb4":
                self.pair.run(name, f"echo {HOLD} >/sys/module/kfi_usb4/parameters/hold_s")
        for name in self.pair.vms:
            rdma.link(self.pair, self.network, name)
            self.guest(name, f"eid {EID}")
        self.pair.run("a", f"until ping -c 1 -W 1 {self.network.address('b')}; do :; done")
        self.server = self.pair.spawn("b", f"{self.preload}python3 -m http.server -d {self.pair.logs} -b {self.network.address('b')} {PORT}")
        self.pair.run("b", f"until ss -tlnH | grep -q :{PORT}; do sleep 0.2; done")

    def fetch(self):
        return self.pair.spawn("a", f"{self.preload}python3 {GUEST} fetch {self.network.address('b')} {PORT} {FILE} {self.md5}")

    def sent(self):
        """Return how many bytes kfi_ib of b has sent."""
        return int(re.search(r"\bsent_bytes (\d+)", self.pair.run("b", f"rdma statistic show link {rdma.LINK}/1").text)[1])

    def fetched(self, job, before):
        result = job.wait(200)
        check(result.status == 0, f"{job} ended with {result.status}:\n{result.text}")
        sent = self.sent() - before
        check(sent >= MIB << 20, f"kfi_ib of b has sent {sent} bytes only: it was TCP")

    def links(self):
        return {name: json.loads(self.guest(name, "links")) for name in self.pair.vms}


@case(600)
def fetched(s):
    """a file comes by SMC-R, in whole, and again by the same link"""
    s.begin()
    for _ in range(2):
        before = s.sent()
        s.fetched(s.fetch(), before)
        links = s.links()
        check(all(len(found) == 1 and found[0]["device"] == rdma.LINK for found in links.values()), f"links are {links}")


@case(600, "usb4")
def pulled(s):
    """the cable is pulled meanwhile, for less than hold_s: the link stays, and the file is whole"""
    before = s.sent()
    job = s.fetch()
    end = time.monotonic() + 60
    while s.sent() == before:
        check(time.monotonic() < end, "nothing is sent")
    s.pair.devices.command("cable 0 unplug")
    time.sleep(3)
    check(not job.poll(), "the file was there before the cable was back")
    s.pair.devices.command("cable 0 plug")
    s.fetched(job, before)
    links = s.links()
    check(all(len(found) == 1 for found in links.values()), f"links are {links}")


@case(600)
def removed(s):
    """the RDMA device of a goes, and comes back: a file comes by TCP meanwhile, and by SMC-R again"""
    before = s.sent()
    s.pair.run("a", f"rdma link delete {rdma.LINK}")
    result = s.fetch().wait(200)
    check(result.status == 0 and s.sent() - before < MIB << 20, f"by TCP: {result.status}, {s.sent() - before} bytes\n{result.text}")
    rdma.link(s.pair, s.network, "a")
    before = s.sent()
    s.fetched(s.fetch(), before)


@case(120)
def unloaded(s):
    """the modules can be unloaded"""
    s.server.kill("TERM")
    for name in s.pair.vms:
        s.pair.run(name, f"rmmod smc; rmmod kfi_ib {s.network.modules} kfi", check=False)
        left = bed.Kfi(s.pair).loaded(name)
        check(not left, f"{name}: {left} are still loaded")


def run(provider, verdict, opts):
    logs = os.path.join(vm.BUILD, f"vm-{SERIES}", f"smc-{provider}")
    os.makedirs(logs, exist_ok=True)
    preload = os.path.join(logs, "smc.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o", preload, os.path.join(vm.HERE, "smc_preload.c"), "-ldl"],
                   check=True)
    ko, tool = bed.build(SERIES, verdict.progress, logs)
    with bed.machines(rdma.NETWORKS[provider].machines, SERIES, logs, ko, programs=[tool], modules=[*bed.HOST_MODULES, "smc"],
                      load={name: bed.HOST_MODULES for name in "ab"}, memory="1G", mtu=rdma.MTU, qemu_extra=bed.HOST_FILES,
                      progress=verdict.progress) as pair:
        scenario = Scenario(pair, provider, preload)
        for function, budget, providers in CASES:
            chosen = opts.wanted in function.__name__ or function is fetched
            if (not providers or provider in providers) and chosen and not verdict.case(f"{SERIES} {provider}", function, budget, scenario):
                verdict.say(provider, "the cases after that", 0, f"what the machines were doing is in {bed.Kfi(pair).stuck()}")
                return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--provider", choices=PROVIDERS, action="append", help="all of them, if none is named")
    parser.add_argument("-k", dest="wanted", default="", metavar="WORD", help="only cases with this word in their name")
    opts = parser.parse_args()
    verdict = Verdict(vm.Progress())
    return bed.closing(verdict, opts.provider or PROVIDERS, lambda provider: once_more(provider, verdict, lambda: run(provider, verdict, opts)))


if __name__ == "__main__":
    sys.exit(main())
