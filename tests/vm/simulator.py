# SPDX-License-Identifier: GPL-2.0
"""A process of simulated devices (vfio/) beside a pair of machines: what ntbsim.py and usb4sim.py have in common."""

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


class VmError(Exception):
    """Any failure that the modules of this folder report"""


class SimulatorError(VmError):
    """The simulator does not start, does not answer, or refuses a command."""


def output_of(*args):
    """Return the last line that a script prints."""
    done = subprocess.run(args, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SimulatorError(f"{' '.join(args)} failed")
    return done.stdout.strip().splitlines()[-1]


class Simulator:
    """One simulator: @name is its folder and program, @words are those of its command line"""

    def __init__(self, name, *words):
        self.name = name
        self.words = [str(word) for word in words]
        self.dir = None
        self.process = None

    def build(self):
        """Compile the simulator and return where it is."""
        out = os.path.join(BUILD, self.name)
        done = subprocess.run(["make", "-s", "-C", os.path.join(HERE, self.name), f"OUT={out}"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise SimulatorError(f"{self.name} does not build:\n{done.stdout}")
        return os.path.join(out, self.name)

    def start(self, run_dir, logs):
        """Start it, before the machines start."""
        self.qemu = output_of(os.path.join(HERE, "qemu"))
        program = self.build()
        self.dir = os.path.join(run_dir, self.name)
        os.mkdir(self.dir)
        log_path = os.path.join(logs, f"{self.name}.log")
        with open(log_path, "wb") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", program, *self.words, self.dir],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        if not select.select([self.process.stdout], [], [], START)[0] or \
           self.process.stdout.readline() != b"ready\n":
            raise SimulatorError(f"{self.name} does not start, see {log_path}")

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    @staticmethod
    def memory_arguments(memory):
        """Return QEMU's arguments for memory that the simulator can map."""
        return ["-object", f"memory-backend-memfd,id=ram,size={memory},share=on", "-M", "memory-backend=ram"]

    def device(self, name):
        """Return a device of the simulator for QEMU, without its place."""
        return {"driver": "vfio-user-pci", "x-msg-timeout": MESSAGE_TIMEOUT_MS,
                "socket": {"type": "unix", "path": os.path.join(self.dir, name)}}

    def command(self, words):
        """Send a line to the control socket and return the answer, a dict."""
        if self.process is None or self.process.poll() is not None:
            raise SimulatorError(f"{self.name} has died")
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(START)
            sock.connect(os.path.join(self.dir, "control"))
            sock.sendall(words.encode() + b"\n")
            sock.shutdown(socket.SHUT_WR)
            text = b"".join(iter(lambda: sock.recv(1 << 16), b""))
        answer = json.loads(text)
        if not answer["ok"]:
            raise SimulatorError(f"{self.name}: {words}: {answer['error']}")
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
                raise SimulatorError(f"not so after {timeout} s: "
                                     f"{ {key: value for key, value in stats.items() if key != 'devices'} }")
            time.sleep(0.05)
