# SPDX-License-Identifier: GPL-2.0
"""The simulator of NTBs and DMA engines (ntbsim/) beside a pair of machines.

    with Pair("6.12", logs=..., devices=Ntbsim(links=1)) as pair:
        pair.devices.command("link 0 down")
        pair.devices.stats()["devices"]["dma.a"]["descriptors"]
"""

import json

from simulator import Simulator, SimulatorError

# Slots of the first NTB and of the engine on each machine's bus
NTB_SLOT, DMA_SLOT = 0x10, 0x18

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


def find(pair, name, what):
    """Return the directory in sysfs of a device on a machine."""
    found = pair.run(name, FIND % IDS[what]).text.split()
    if len(found) != 1:
        raise SimulatorError(f"{name}: {what}: {found}")
    return found[0]


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


class Ntbsim(Simulator):
    """One simulator, with the options of its command line. @others: further devices of each machine, as dicts for QEMU"""

    def __init__(self, links=1, delay_ms=200, bar2=None, bar4=None, topology="root", others=()):
        self.links = links
        self.topology = topology
        self.others = others
        words = ["--links", links, "--delay", delay_ms]
        for name, size in (("--bar2", bar2), ("--bar4", bar4)):
            if size is not None:
                words += [name, size]
        super().__init__("ntbsim", *words)

    def cpu(self, model):
        return f"{model},{ZEN}" if self.topology == "zen" else model

    def arguments(self, name, memory):
        """Return QEMU's arguments for that machine: shared memory, and the devices."""
        slots = [(f"ntb{n}.{name}", NTB_SLOT + n) for n in range(self.links)] + [(f"dma.{name}", DMA_SLOT)]
        buses = Buses(self.topology)
        devices = [self.device(device) | buses.place(slot) for device, slot in slots]
        devices += [other | buses.place(OTHER_SLOT + n) for n, other in enumerate(self.others)]
        # bridges before the devices behind them
        args = self.memory_arguments(memory) + buses.bridges
        for device in devices:
            args += ["-device", json.dumps(device)]
        return args
