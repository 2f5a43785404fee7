# SPDX-License-Identifier: GPL-2.0
"""The simulator of USB4 hosts and cables (usb4sim/) beside machines, and what a case does with the kernel's own drivers there.

    with Pair("6.12", logs=..., modules=usb4sim.MODULES, devices=Usb4sim()) as pair:
        pair.devices.command("cable 0 unplug")
"""

import json

from simulator import Simulator

MODULES = ("thunderbolt", "thunderbolt_net")
SLOT = 0x10
# A host interface that sleeps would have to be woken up by a plug event, which the simulator does not do.
STAY_AWAKE = """
for dir in /sys/bus/pci/drivers/thunderbolt/0*; do
	echo on >$dir/power/control
done
"""


def peer(port):
    """Return where a machine has the host behind one of its ports. Routes are numbers of adapters, of which a port has two."""
    return f"/sys/bus/thunderbolt/devices/0-{1 + 2 * port}"


def netdev(port):
    """Return where the network device of that host is, as a pattern."""
    return f"{peer(port)}/0-*/net/*"


class Usb4sim(Simulator):
    """One simulator. @cables: pairs of ports, as "a0-b0"; @pulled: numbers of those that are not plugged when the machines boot.
    @interfaces: host interfaces of machines that have several, as {"a": "ac", "b": "bd"}; @uuid_per_boot: they have other UUIDs after each
    boot."""

    def __init__(self, *cables, pulled=(), seed=None, interfaces=None, uuid_per_boot=False):
        self.pulled = pulled
        self.interfaces = interfaces or {}
        words = []
        if uuid_per_boot:
            words.append("--uuid-per-boot")
        for cable in cables:
            words += ["--cable", cable]
        if seed is not None:
            words += ["--seed", seed]
        super().__init__("usb4sim", *words)

    def start(self, run_dir, logs):
        super().start(run_dir, logs)
        for cable in self.pulled:
            self.command(f"cable {cable} unplug")

    def arguments(self, name, memory):
        """Return QEMU's arguments for that machine: shared memory, and the host interfaces."""
        words = self.memory_arguments(memory)
        for number, interface in enumerate(self.interfaces.get(name, name)):
            place = {"bus": "pcie.0", "addr": f"{SLOT + number:#x}"}
            words += ["-device", json.dumps(self.device(f"nhi.{interface}") | place)]
        return words
