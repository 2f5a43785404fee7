# SPDX-License-Identifier: GPL-2.0
"""Counts of the instructions that machines execute, by a plugin of the emulator (executed/), and which functions they belong to.

    executed = Executed()
    with Pair("6.12", logs=..., cpus=1, devices=Devices(executed, Usb4sim())) as pair:
        before = executed.counters("a")
        ...
        spent(before, executed.counters("a"))     # -> {address: instructions}
"""

import bisect
import collections
import os
import re
import socket
import struct
import subprocess

from simulator import BUILD, HERE, VmError, output_of

# All processes have this address.
PROCESSES = 0
PAIR = struct.Struct("=QQ")
# One nanosecond of the machine's clock is one instruction. While a machine is idle, its clock follows the host's.
COUNTING = ("-icount", "shift=0")
CLOCK = "tsc_early_khz=1000000"


class Executed:
    """The plugin in each machine, as a device beside those of a simulator"""

    program = "executed"

    def __init__(self):
        self.dir = None
        self.qemu = None

    def start(self, run_dir, _logs):
        self.qemu = output_of(os.path.join(HERE, "qemu"))
        out = os.path.join(BUILD, "executed")
        self.plugin = os.path.join(out, f"{self.program}.so")
        done = subprocess.run(["make", "-s", "-C", os.path.join(HERE, "executed"), f"OUT={out}", self.plugin],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise VmError(f"the plugin does not build:\n{done.stdout}")
        self.dir = run_dir

    def stop(self):
        """It ends with its machine."""

    def socket(self, name):
        return os.path.join(self.dir, f"{self.program}.{name}")

    def arguments(self, name, _memory):
        return ["-plugin", f"{self.plugin},socket={self.socket(name)}"]

    def counters(self, name):
        """Return the instructions that a machine has executed since it started, by the address of their block."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(30)
            sock.connect(self.socket(name))
            data = b"".join(iter(lambda: sock.recv(1 << 20), b""))
        return dict(PAIR.iter_unpack(data))


def spent(before, after):
    """Return what was executed in between."""
    return {at: count - before.get(at, 0) for at, count in after.items() if count != before.get(at, 0)}


class Symbols:
    """The functions of a running kernel and its modules, to be read again after a module was loaded"""

    def __init__(self, kallsyms):
        rows = sorted((int(at, 16), name, module or "kernel") for at, name, module in
                      re.findall(r"^([0-9a-f]+) [tTwW] (\S+)(?:\t\[(\S+)\])?$", kallsyms, re.M))
        self.places = [row[0] for row in rows]
        self.names = [row[1:] for row in rows]

    def of(self, at):
        """Return function and module of an address."""
        if at == PROCESSES:
            return "processes", "processes"
        found = bisect.bisect(self.places, at) - 1
        return self.names[found] if found >= 0 else ("unknown", "unknown")

    def functions(self, counts):
        """Return the instructions by (function, module)."""
        found = collections.Counter()
        for at, count in counts.items():
            found[self.of(at)] += count
        return found
