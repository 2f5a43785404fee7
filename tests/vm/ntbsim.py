# SPDX-License-Identifier: GPL-2.0
"""The simulator of NTBs and DMA engines (ntbsim/) beside a pair of machines.

    with Pair("6.12", logs=..., devices=Ntbsim(links=1)) as pair:
        pair.devices.command("link 0 down")
        pair.devices.stats()["devices"]["dma.a"]["descriptors"]
"""

import json
import os
import select
import socket
import subprocess
import time

HERE = os.path.dirname(os.path.realpath(__file__))
BUILD = os.path.abspath(os.environ.get("KFABRIC_BUILD") or os.path.join(HERE, "..", "..", "build"))
START = 10
# Emulated machines on a busy host may keep QEMU waiting for longer than its own 5 seconds.
MESSAGE_TIMEOUT_MS = 60000
# Slots of the first NTB and of the engine on each machine's bus
NTB_SLOT, DMA_SLOT = 0x10, 0x18


class VmError(Exception):
    """Any failure that the modules of this folder report"""


# Directories in sysfs of devices of these vendors and ids
FIND = """
for dir in /sys/bus/pci/devices/*; do
	[ $(cat $dir/vendor) != %s ] || [ $(cat $dir/device) != %s ] || readlink -f $dir
done
"""
IDS = {"ntb": ("0x8086", "0x201c"), "dma": ("0x8086", "0x2021"), "disk": ("0x1b36", "0x0010")}
# Slots of other devices on the root bus, and of bridges
OTHER_SLOT, BRIDGE_SLOT = 0x1a, 0x8
ZEN = "family=23"


class NtbsimError(VmError):
    """The simulator does not start, does not answer, or refuses a command."""


def find(pair, name, what):
    """Return the directory in sysfs of a device on a machine."""
    found = pair.run(name, FIND % IDS[what]).text.split()
    if len(found) != 1:
        raise NtbsimError(f"{name}: {what}: {found}")
    return found[0]


def output_of(*args):
    """Return the last line that a script prints."""
    done = subprocess.run(args, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise NtbsimError(f"{' '.join(args)} failed")
    return done.stdout.strip().splitlines()[-1]


def build():
    """Compile the simulator and return where it is."""
    out = os.path.join(BUILD, "ntbsim")
    done = subprocess.run(["make", "-s", "-C", os.path.join(HERE, "ntbsim"), f"OUT={out}"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise NtbsimError(f"ntbsim does not build:\n{done.stdout}")
    return os.path.join(out, "ntbsim")


# Buses of a machine on which the devices can be, and whether its kernel lets them reach each other (Linux 7.2, P2PDMA):
#	root	all on the root bus, whose host bridge Linux does not list: no
#	zen	the same with a CPU of AMD Zen, whose host bridges all do it: through the host bridge
#	switch	below one PCI Express switch: by bus addresses, with any CPU
class Buses:
    """The buses of one machine: hands out a place for each device, and collects the bridges for them"""

    def __init__(self, topology):
        self.topology = topology
        self.bridges = []
        self.ports = 0
        if topology == "switch":
            self.add(f"ioh3420,id=top,addr={BRIDGE_SLOT:#x},chassis=1,slot=1")
            self.add("x3130-upstream,id=up,bus=top")

    def add(self, words):
        self.bridges += ["-device", words]

    def place(self, slot):
        """Return the bus and the slot for a device that would be in that slot of the root bus."""
        if self.topology != "switch":
            return {"bus": "pcie.0", "addr": f"{slot:#x}"}
        port = f"port{self.ports}"
        self.ports += 1
        self.add(f"xio3130-downstream,bus=up,id={port},chassis={self.ports + 1},slot={self.ports}")
        return {"bus": port, "addr": "0x0"}


class Ntbsim:
    """One simulator, with the options of its command line. @others: further devices of each machine, as dicts for QEMU"""

    def __init__(self, links=1, delay_ms=200, bar2=None, bar4=None, topology="root", others=()):
        self.links = links
        self.topology = topology
        self.others = others
        self.options = ["--links", str(links), "--delay", str(delay_ms)]
        for name, size in (("--bar2", bar2), ("--bar4", bar4)):
            if size is not None:
                self.options += [name, str(size)]
        self.dir = None
        self.process = None

    def start(self, run_dir, logs):
        """Start it, before the machines start."""
        self.qemu = output_of(os.path.join(HERE, "qemu"))
        program = build()
        self.dir = os.path.join(run_dir, "ntb")
        os.mkdir(self.dir)
        with open(os.path.join(logs, "ntbsim.log"), "wb") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", program, *self.options, self.dir],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        if not select.select([self.process.stdout], [], [], START)[0] or \
           self.process.stdout.readline() != b"ready\n":
            raise NtbsimError(f"ntbsim does not start, see {logs}/ntbsim.log")

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    def cpu(self, model):
        return f"{model},{ZEN}" if self.topology == "zen" else model

    def arguments(self, name, memory):
        """Return QEMU's arguments for that machine: shared memory, and the devices."""
        args = ["-object", f"memory-backend-memfd,id=ram,size={memory},share=on", "-M", "memory-backend=ram"]
        slots = [(f"ntb{n}.{name}", NTB_SLOT + n) for n in range(self.links)] + [(f"dma.{name}", DMA_SLOT)]
        buses = Buses(self.topology)
        devices = [{
            "driver": "vfio-user-pci", "x-msg-timeout": MESSAGE_TIMEOUT_MS,
            "socket": {"type": "unix", "path": os.path.join(self.dir, device)}} | buses.place(slot) for device, slot in slots]
        devices += [other | buses.place(OTHER_SLOT + n) for n, other in enumerate(self.others)]
        for device in devices:
            args += ["-device", json.dumps(device)]
        # bridges before the devices behind them
        return args[:4] + buses.bridges + args[4:]

    def command(self, words):
        """Send a line to the control socket and return the answer, a dict."""
        if self.process is None or self.process.poll() is not None:
            raise NtbsimError("ntbsim has died")
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(START)
            sock.connect(os.path.join(self.dir, "control"))
            sock.sendall(words.encode() + b"\n")
            sock.shutdown(socket.SHUT_WR)
            text = b"".join(iter(lambda: sock.recv(1 << 16), b""))
        answer = json.loads(text)
        if not answer["ok"]:
            raise NtbsimError(f"ntbsim: {words}: {answer['error']}")
        return answer

    def stats(self):
        return self.command("stats")

    def counters(self, device):
        return self.stats()["devices"][device]

    def wait_until(self, condition, timeout=30):
        """Wait until condition(stats) is true. Return these stats."""
        deadline = time.monotonic() + timeout
        while True:
            stats = self.stats()
            if condition(stats):
                return stats
            if time.monotonic() > deadline:
                raise NtbsimError(f"not so after {timeout} s; links {stats['links']}")
            time.sleep(0.05)
