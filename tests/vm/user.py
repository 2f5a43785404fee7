#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""user.py [-k WORD]: processes over /dev/kfi on machines with a stock 6.12 kernel.

What `make demo ULP=user` does, over each provider. Then tests/user/calls.c, once built for 64 and once for 32 bits: the structures of the
interface are the same, and so are the results. The stock kernel has memory cgroups, which the debug
kernel does not have: the kernel's memory of endpoints is charged to the group of the process that
opens them. The last line is "N passed, N failed".
"""

import argparse
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../tools/demo")]
from scenario import Verdict, check, once_more  # noqa: E402
import bed                                      # noqa: E402
import pair as vm                               # noqa: E402
import user_demo                                # noqa: E402

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
    for provider in user_demo.TYPES:
        if wanted in f"demo_{provider}":
            run_alone(f"demo of {provider}", f"user-{provider}",
                      lambda out, name=provider: user_demo.demo(SERIES, name, 1500, out, progress),
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
