#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""user.py [-k WORD]: processes over /dev/kfi on machines with a stock 6.12 kernel.

What `make demo ULP=user` does, over each provider. Then tests/user/calls.c, once built for 64 and once for 32 bits: the structures of the
interface are the same, and so are the results. The stock kernel has memory cgroups, which the debug
kernel does not have: the kernel's memory of endpoints is charged to the group of the process that
opens them. The last line is "N passed, N failed".
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from scenario import Verdict, check, once_more  # noqa: E402
import bed                                      # noqa: E402
import pair as vm                               # noqa: E402

# Types of endpoints over each provider
TYPES = {
    "sockets": ("rdm", "msg", "dgram"),
    "verbs": ("rdm",),
    "ntb": ("rdm", "msg"),
}
SIZES = (64, 4096, 65536)
LIBRARY = "/usr/lib/x86_64-linux-gnu/libfabric/libkfi-fi.so"


def programs(progress, out):
    """Return programs of libfabric, and libkfi-fi.so."""
    progress.during("building libkfi-fi.so",
                    [os.path.join(bed.TOP, "tools", "build"), "library"],
                    os.path.join(out, "library.log"))
    progress.during("looking for fi_info and fi_pingpong",
                    [os.path.join(vm.HERE, "need"), "user"],
                    os.path.join(out, "need.log"))
    return ["/usr/bin/fi_info", "/usr/bin/fi_pingpong",
            f"{vm.BUILD}/tools/libkfi-fi.so:{LIBRARY}"]


class Both:
    """A server on b and its client on a"""

    def __init__(self, pair, provider):
        self.pair = pair
        self.provider = provider
        self.info = pair.run("a", "fi_info -p kfi").text
        self.domains = {name: self.domain(name) for name in pair.vms}

    def domain(self, name):
        """Return the provider's domain on a machine, except that of the interface lo."""
        text = self.pair.run(name, "fi_info -p kfi -t FI_EP_RDM").text
        found = set(re.findall(rf"domain: ({self.provider}-\S+)", text)) - {"sockets-lo"}
        if not found:
            raise vm.Failed(f"{name}: fi_info shows no domain of {self.provider}:\n{text}")
        return sorted(found)[0]

    def run(self, server, client, timeout=120):
        """Run server and client. Return the output of the client."""
        job = self.pair.spawn("b", server)
        try:
            text = self.pair.run("a", f"sleep 1; {client}", timeout).text
        except vm.VmError:
            job.kill()
            raise
        result = job.wait(timeout)
        if result.status:
            raise vm.Failed(f"{job} ended with status {result.status}:\n{result.text}")
        return text

    def pingpong(self, kind, size):
        """Return a row of fi_pingpong, which compares the data (-c)."""
        words = f"fi_pingpong -c -p kfi -e {kind} -S {size} -I 100"
        text = self.run(f"{words} -d {self.domains['b']}",
                        f"{words} -d {self.domains['a']} {self.pair.address('b', 4)}")
        # bytes, #sent, #ack, total, time, MB/sec, usec/xfer, Mxfers/sec
        last = text.split("\n")[-2 if text.endswith("\n") else -1].split()
        return {"type": kind, "size": size, "mb_s": float(last[5]), "latency_us": float(last[6])}


def demo(series, provider, mtu, out, progress):
    """Return release and rows; every byte was compared."""
    modules = ("kfi", f"kfi_{provider}", "kfi_user")
    ko, tool = bed.build(series, progress, out)
    with bed.machines(provider, series, out, ko, programs=[tool, *programs(progress, out)],
                      memory="1200M", mtu=mtu, progress=progress) as pair:
        kfi = bed.Kfi(pair)
        for name in pair.vms:
            pair.run(name, bed.BELOW[provider])
            progress(f"{name}: insmod {' '.join(module + '.ko' for module in modules)}")
            kfi.insmod(name, modules)
        progress("a, b: fi_info -p kfi")
        both = Both(pair, provider)
        rows = []
        for kind in TYPES[provider]:
            for size in SIZES if kind != "dgram" else (64, 512):
                progress(f"a, b: fi_pingpong -e {kind}, {size} bytes, every byte compared")
                rows.append(both.pingpong(kind, size))
        with open(os.path.join(out, "fi_info.log"), "w", encoding="utf-8") as file:
            file.write(both.info)
        with open(os.path.join(out, "results.json"), "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
            file.write("\n")
        for name in pair.vms:
            pair.run(name, f"rmmod {' '.join(reversed(modules))}")
        pair.check_logs()
        return pair.release, rows


def table(rows):
    print(f"{'fi_pingpong':<14}{'size':>8}{'latency':>14}{'bandwidth':>16}")
    for row in rows:
        print(f"{row['type']:<14}{row['size']:>8}"
              f"{row['latency_us']:>11.0f} us{row['mb_s']:>11.1f} MB/s")


SERIES = "6.12"
MODULES = ("kfi", "kfi_loop", "kfi_sockets", "kfi_user")
# A case of calls ends by itself; the emulated machine is slower than the debug kernel.
CALLS_TIMEOUT = 300
ENDPOINTS = 8
# Bytes of kernel memory of an endpoint and its queue, at least
CHARGED = 64 << 10

GROUP = "/sys/fs/cgroup/kfi"
MAKE_GROUP = f"""
mkdir -p /sys/fs/cgroup
grep -q ' /sys/fs/cgroup ' /proc/mounts || mount -t cgroup2 none /sys/fs/cgroup
echo +memory >/sys/fs/cgroup/cgroup.subtree_control && mkdir -p {GROUP}
"""


def compile_calls(out):
    """Return tests/user/calls.c for 64 bits and for 32 bits, both without libraries."""
    headers = subprocess.run([os.path.join(bed.TOP, "tests", "user", "fabtests")], check=True,
                             stdout=subprocess.PIPE, text=True).stdout.strip()
    programs = []
    for bits in ("64", "32"):
        program = os.path.join(out, f"calls{bits}")
        subprocess.run(["gcc", f"-m{bits}", "-static", "-O2", "-g", "-Wall", "-Wextra", "-Werror",
                        "-D_FILE_OFFSET_BITS=64", "-Wno-missing-field-initializers",
                        f"-I{bed.TOP}/include/uapi", f"-I{headers}/2.1/usr/include",
                        "-o", program, os.path.join(bed.TOP, "tests", "user", "calls.c")],
                       check=True)
        programs.append(program)
    return programs


class Scenario:
    """A pair whose machine a has /dev/kfi; nobody's group may open it."""

    def __init__(self, pair):
        self.pair = pair
        bed.Kfi(pair).insmod("a", MODULES)
        pair.run("a", "ip link set lo up; chgrp 65534 /dev/kfi")

    def calls(self, bits):
        """Run all cases, which set parameters of the module back when they end."""
        text = self.pair.run("a", f"calls{bits}", CALLS_TIMEOUT, check=False).text
        found = re.search(r"^(\d+) passed, (\d+) failed$", text, re.M)
        check(found and found[1] != "0" and found[2] == "0", text)

    def charged(self, endpoints):
        """Return the kernel memory of the group while a process holds so many endpoints."""
        job = self.pair.spawn("a", f"echo $$ >{GROUP}/cgroup.procs; exec calls64 --hold {endpoints}")
        time.sleep(10)
        text = self.pair.run("a", f"cat {GROUP}/memory.stat").text
        self.pair.run("a", "killall calls64")
        job.wait(60)
        return int(re.search(r"^kernel (\d+)$", text, re.M)[1])


def calls_of_64_bits(s):
    """results of single calls of a 64-bit program"""
    s.calls(64)


def calls_of_32_bits(s):
    """the same of a 32-bit program"""
    s.calls(32)


def cgroup(s):
    """endpoints are charged to the cgroup of their process"""
    s.pair.run("a", MAKE_GROUP)
    one, more = s.charged(1), s.charged(1 + ENDPOINTS)
    check(more - one >= ENDPOINTS * CHARGED,
          f"{one} bytes are charged for one endpoint, {more} for {1 + ENDPOINTS}")


CASES = ((calls_of_64_bits, 300), (calls_of_32_bits, 300), (cgroup, 120))


def run_alone(what, folder, function, verdict):
    """Run a function that boots machines for itself, as one case."""
    out = os.path.join(vm.BUILD, f"vm-{SERIES}", folder)
    os.makedirs(out, exist_ok=True)
    start, error = time.monotonic(), None
    try:
        function(out)
    except vm.EmulatorFault:
        raise
    except vm.VmError as problem:
        error = str(problem)
    verdict.say(SERIES, what, time.monotonic() - start, error)


def run_calls(wanted, verdict, progress):
    """All cases of one boot"""
    out = os.path.join(vm.BUILD, f"vm-{SERIES}", "user-calls")
    os.makedirs(out, exist_ok=True)
    ko, tool = bed.build(SERIES, progress, out)
    programs = [tool, *compile_calls(out)]
    with bed.machines("sockets", SERIES, out, ko, programs=programs, progress=progress) as pair:
        scenario = Scenario(pair)
        for function, budget in CASES:
            if wanted in function.__name__:
                verdict.case(SERIES, function, budget, scenario)


def run(wanted, verdict, progress):
    """Everything whose name has that word"""
    for provider in TYPES:
        if wanted in f"demo_{provider}":
            run_alone(f"demo of {provider}", f"user-{provider}",
                      lambda out, name=provider: demo(SERIES, name, 1500, out, progress),
                      verdict)
    if any(wanted in function.__name__ for function, _ in CASES):
        run_calls(wanted, verdict, progress)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", dest="wanted", default="", metavar="WORD",
                        help="only demo_PROVIDER and cases with this word")
    opts = parser.parse_args()
    progress = vm.Progress()
    verdict = Verdict(progress)
    subprocess.run([os.path.join(vm.HERE, "need"), "calls"], check=True)
    return bed.closing(verdict, [SERIES], lambda series: once_more(
        series, verdict, lambda: run(opts.wanted, verdict, progress)))


if __name__ == "__main__":
    sys.exit(main())
