#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""pages.py [-k WORD] [6.12]: the commands of pages in docs/, as they stand there, on two machines with a stock kernel.

A block of commands runs on the machine that the end of the line above it names: "On *one*:", "On *two*:", "On both:", or "On *two*, in
another terminal:" for what waits for the other machine. "Switch off *two*" at the beginning of a line ends that machine. Other blocks do not run. Each
command of a block has to succeed. The last line is "N passed, N failed".
"""

import argparse
import os
import re
import sys
import textwrap
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../tools/demo")]
from scenario import Verdict, once_more, usable  # noqa: E402
import bed                                       # noqa: E402
import mirror_demo                               # noqa: E402
import nvme                                      # noqa: E402
import pair as vm                                # noqa: E402

# The pages in their order, with the least number of steps. The last one loses a machine.
PAGES = {"disk-of-another-machine": 5, "ulp-guide": 3, "programs-and-mpi": 6, "two-machines-one-disk": 6}
MACHINES = {"one": "a", "two": "b"}
MODULES = (*nvme.MODULES, "dm_mod", "ib_uverbs", "rdma_ucm")
LIBS = "/usr/lib/x86_64-linux-gnu/libibverbs/"
# What the pages take for granted: names, addresses, disks, what udev and systemd do, and the modules of the tree
SETUP = """set -e
hostname {name}
ip addr add 192.168.1.{number}/24 dev eth0
mkdir -p /dev/vg /mnt /etc/nvme /etc/libibverbs.d /ulps
echo driver {libs}libkfi >/etc/libibverbs.d/kfi.driver
ln -s vda /dev/sdb
ln -s ../vdb /dev/vg/r0
ln -s /lib/modules/$(uname -r)/extra /ulps/example
echo {host} >/etc/nvme/hostid
echo {host_nqn} >/etc/nvme/hostnqn
modprobe -a virtio_blk ext4 crc32c_generic configfs dm_mod
mount -t configfs none /sys/kernel/config
"""
STEP = re.compile(r"(?:^|[.] )On (both|\*one\*|\*two\*)(, in another terminal)?:$")
OFF = re.compile(r"^Switch off \*(one|two)\*")
PATIENCE = 120
SETTLE = 2              # seconds: devices that a step has made appear, servers that it has started listen


class Disks(mirror_demo.Disks):
    """A disk of each machine besides those of its mirror"""

    names = ("disk", *mirror_demo.Disks.names)

    def __init__(self):
        super().__init__(64, 24)
        self.mib["disk"] = 64


def steps(text):
    """Yield (machines, waits, commands), or (machine, None, None) for one that is switched off."""
    above, block = "", []
    for line in [*text.splitlines(), "#"]:
        if line.startswith("    ") or (block and not line.strip()):
            block.append(line)
            continue
        found = STEP.search(above)
        if block and found:
            names = ["one", "two"] if found.group(1) == "both" else [found.group(1).strip("*")]
            yield names, bool(found.group(2)), textwrap.dedent("\n".join(block)).strip() + "\n"
        block = []
        off = OFF.search(line)
        if off:
            yield [off.group(1)], None, None
        above = line if line.strip() else above


class Pages:
    """A pair, which the pages call one and two"""

    def __init__(self, pair, progress):
        self.pair = pair
        self.progress = progress

    def setup(self):
        for number, (name, machine) in enumerate(MACHINES.items(), 1):
            self.pair.run(machine, SETUP.format(name=name, number=number, libs=LIBS, host=nvme.HOST, host_nqn=nvme.HOST_NQN))

    def run(self, page):
        with open(os.path.join(bed.TOP, "docs", page + ".md"), encoding="utf-8") as file:
            found = list(steps(file.read()))
        bed.check(len(found) >= PAGES[page], f"{page}: {len(found)} steps, at least {PAGES[page]} are there")
        waiting = []
        for names, waits, commands in found:
            for name in names:
                self.progress(f"{page}, {name}: {commands.splitlines()[0] if commands else 'switched off'}")
                if commands is None:
                    self.pair.kill(MACHINES[name])
                    continue
                job = self.pair.spawn(MACHINES[name], f"cd / && export DM_DISABLE_UDEV=1 && set -e\n{commands}")
                waiting += [job]
                if not waits:
                    self.end(job)
                    waiting.remove(job)
            time.sleep(SETTLE)
        for job in waiting:
            self.end(job)

    @staticmethod
    def end(job):
        try:
            result = job.wait(PATIENCE)
        except vm.TimedOut as error:
            raise vm.TimedOut(f"{error}\n{job.output()[-2000:]}") from None
        bed.check(result.status == 0, f"{job} ended with status {result.status}:\n{result.text[-2000:]}")


def case(page):
    """Return the function of a case."""
    def function(pages):
        pages.run(page)
    function.__name__ = page.replace("-", "_")
    function.__doc__ = f"docs/{page}.md, every command"
    return function


def libfabric(progress, logs):
    """Return programs of libfabric, and the library of kfi_ib."""
    progress.during("building libkfi-rdmav34.so", [os.path.join(bed.TOP, "tools", "build"), "rdma"], os.path.join(logs, "rdma.log"))
    progress.during("looking for fi_info and fi_pingpong", [os.path.join(vm.HERE, "need"), "libfabric"], os.path.join(logs, "need.log"))
    return ["/usr/bin/fi_info", "/usr/bin/fi_pingpong", f"{vm.BUILD}/tools/libkfi-rdmav34.so:{LIBS}libkfi-rdmav34.so"]


def run(series, wanted, verdict, progress):
    logs = os.path.join(vm.BUILD, f"vm-{series}", "pages")
    ko, tool = bed.build(series, progress, logs, "KFI_TESTS=y")
    nvme.need(progress, logs)
    programs = [tool, "/usr/sbin/nvme", "/usr/sbin/mkfs.ext4", *libfabric(progress, logs)]
    with bed.machines("sockets", series, logs, ko, programs=programs, modules=MODULES, memory="1200M", disk=Disks(),
                      progress=progress) as pair:
        pages = Pages(pair, progress)
        pages.setup()
        for page in PAGES:
            if wanted in page and not verdict.case(series, case(page), 600, pages) and not usable(pair):
                verdict.say(series, "the pages after that", 0, "a machine is broken")
                return


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", dest="wanted", default="", metavar="WORD", help="only pages with this word in their name")
    parser.add_argument("series", nargs="?", default="6.12")
    opts = parser.parse_args()
    progress = vm.Progress()
    verdict = Verdict(progress)
    return bed.closing(verdict, [opts.series],
                       lambda series: once_more(series, verdict, lambda: run(series, opts.wanted, verdict, progress)))


if __name__ == "__main__":
    sys.exit(main())
