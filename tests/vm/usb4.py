#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""usb4.py [SERIES[,SERIES]]... [--lanes 2] [--three] [--seed N] [-k WORD] - the USB4 simulator under the kernel's own drivers.

Two stock machines with thunderbolt.ko and thunderbolt_net.ko, joined by usb4sim: what the drivers see of cables, machines and faults
must be what they would see of hardware. Nothing of kfabric runs here. "6.1,newest" is machine a with 6.1 and b with the newest. The last line
is "N passed, N failed".
"""

import argparse
import os
import random
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import pair as vm        # noqa: E402
import usb4sim           # noqa: E402
from bed import check, closing, register_in    # noqa: E402
from scenario import Verdict, once_more, usable     # noqa: E402

CASES = []
case = register_in(CASES)
PORT = 5000
SIZE = 4 << 20
SUBNET = "10.79.{}."
NUMBER = {"a": 1, "b": 2, "c": 3}
TWO = ("a0-b0", "a1-b1")
THREE = ("a0-b0", "b1-c0", "c1-a1")
# A loaded machine takes its time for a handshake; two lanes take ten seconds more.
PATIENCE = 120


class Usb4:
    """Machines with cables between them. Only cable 0 of two machines is plugged when they boot."""

    def __init__(self, pair, cables):
        self.pair = pair
        self.sim = pair.devices
        # the ends of a cable: machine and port
        self.ends = [[(end[0], int(end[1])) for end in cable.split("-")] for cable in cables]
        self.fresh(pair.vms)

    def fresh(self, names):
        """A machine has booted."""
        for name in names:
            self.pair.run(name, usb4sim.STAY_AWAKE)
            self.pair.run(name, f"head -c {SIZE} /dev/urandom >/tmp/file && httpd -p {PORT} -h /tmp")

    @staticmethod
    def address(cable, name):
        return SUBNET.format(cable) + str(NUMBER[name])

    def wait(self, name, condition, timeout=PATIENCE):
        self.pair.run(name, f"until {condition}; do sleep 0.1; done", timeout)

    def gone(self, cable=0, names="abc"):
        """Machines have noticed that the other one is not there."""
        for name, port in self.ends[cable]:
            if name in names:
                self.wait(name, f"[ ! -e {usb4sim.peer(port)} ]")

    def up(self, cable=0):
        """The network device of a cable comes up on both machines, and they reach each other."""
        for name, port in self.ends[cable]:
            self.wait(name, f"[ -e {usb4sim.netdev(port)} ]")
            self.pair.run(name, f"dev=$(basename {usb4sim.netdev(port)}) && "
                          f"ip addr add {self.address(cable, name)}/24 dev $dev && ip link set $dev up")
        self.reaches(cable)

    def reaches(self, cable=0):
        (name, _), (other, _) = self.ends[cable]
        self.wait(name, f"ping -c 1 -W 1 {self.address(cable, other)} >/dev/null")

    def plug(self, *cables):
        for cable in cables:
            self.sim.command(f"cable {cable} plug")
        for cable in cables:
            self.up(cable)

    def unplug(self, cable=0):
        self.sim.command(f"cable {cable} unplug")
        self.gone(cable)

    def ping(self, count, words=""):
        """Return how many of so many pings were answered, and the output."""
        text = self.pair.run("a", f"ping -c {count} -W 1 {words} {self.address(0, 'b')}", check=False).text
        return int(text.split(" packets received")[0].split()[-1]), text

    def transfer(self, size=SIZE, timeout=120):
        """Fetch a file by TCP and compare it. Return the seconds."""
        for source, sink in ("ba", "ab"):
            want = self.pair.run(source, f"head -c {size} /tmp/file >/tmp/part && sha256sum </tmp/part").text
            start = time.monotonic()
            got = self.pair.run(sink, f"wget -q -O - http://{self.address(0, source)}:{PORT}/part | sha256sum", timeout).text
            seconds = time.monotonic() - start
            check(got == want, f"{sink} got another file than {source} has: {got} instead of {want}")
        return seconds

    def counted(self, what, since=None):
        """Return a counter of both machines, or by how much it has grown."""
        devices = self.sim.stats()["devices"]
        total = sum(devices[f"nhi.{name}"][what] for name in "ab")
        return total - (since or 0)


@case(300)
def comes_up(s):
    """the drivers find the other host, and thunderbolt_net comes up"""
    s.up()
    for name, other in ("ab", "ba"):
        said = s.pair.run(name, "cat /sys/bus/thunderbolt/devices/0-1/device_name").text.strip()
        check(said == other, f"{name} takes its peer for {said}")
        lanes = s.pair.run(name, "cat /sys/bus/thunderbolt/devices/0-1/rx_lanes").text.strip()
        check(lanes == str(s.sim.lanes), f"{name} has {lanes} lanes")


@case(120)
def transfer(s):
    """4 MiB arrive in both directions as they were, in frames of up to 4 KiB"""
    before = s.counted("bytes_received")
    s.transfer()
    check(s.counted("bytes_received", before) >= 2 * SIZE, "the file went another way")
    for bad in ("frames_lost", "frames_damaged", "frames_cut", "frames_refused", "overflows", "dma_errors", "control_bad"):
        check(s.counted(bad) == 0, f"{s.counted(bad)} {bad}")


@case(300)
def lost_frames(s):
    """TCP survives frames that are lost or arrive with a wrong checksum"""
    s.sim.command("cable 0.a lose every 90")
    s.sim.command("cable 0.b lose ppm 8000")
    s.sim.command("cable 0 damage every 110")
    s.transfer()
    for words in ("0 lose every 0", "0 lose ppm 0", "0 damage every 0"):
        s.sim.command(f"cable {words}")
    for what in ("frames_lost", "frames_damaged"):
        check(s.counted(what) > 5, f"only {s.counted(what)} {what}")
    for name in "ab":
        damaged = s.sim.counters(f"nhi.{name}")["frames_damaged"]
        s.wait(name, f"[ $(cat /sys/class/net/thunderbolt0/statistics/rx_crc_errors) = {damaged} ]", 10)


@case(120)
def slow_cable(s):
    """a delay, a limited rate and a stall are as long as asked for, and nothing is lost"""
    lost = s.counted("frames_lost")
    s.sim.command("cable 0 delay 100000")
    answered, text = s.ping(2)
    check(answered == 2, text)
    least = float(text.split("min/avg/max = ")[1].split("/")[0])
    check(least >= 200, f"{least} ms are less than two delays of 100 ms")
    s.sim.command("cable 0 delay 0")
    least = s.transfer(SIZE // 16) + 3      # more than it takes without a limit
    s.sim.command(f"cable 0 rate {int(SIZE / 16 / least / 1000)}")
    seconds = s.transfer(SIZE // 16)
    check(seconds >= 0.9 * least, f"{seconds:.1f} s where the rate allows {least:.1f} s")
    s.sim.command("cable 0 rate 0")
    s.sim.command("cable 0 stall on")
    answered, text = s.ping(2)
    check(answered == 0, f"a cable that is stalled carries frames: {text}")
    s.sim.command("cable 0 stall off")
    s.reaches()
    check(s.counted("frames_lost", lost) == 0, "frames got lost")


@case(120)
def lost_interrupt(s):
    """after one lost interrupt thunderbolt_net hears nothing until the ring is started again"""
    s.reaches()
    s.sim.command("nhi.b lose-interrupts 1")
    answered, text = s.ping(4)
    check(answered == 0, f"an interrupt got lost, and pings were answered: {text}")
    check(s.sim.counters("nhi.b")["interrupts_lost"] == 1, "no interrupt got lost")
    s.pair.run("b", "ip link set thunderbolt0 down && ip link set thunderbolt0 up")
    s.reaches()


@case(300)
def unplugged(s):
    """the cable is pulled under load and plugged again"""
    s.sim.command("cable 0 rate 500")
    job = s.pair.spawn("a", f"wget -q -O /dev/null http://{s.address(0, 'b')}:{PORT}/file")
    time.sleep(1)
    s.unplug()
    job.kill()
    s.sim.command("cable 0 rate 0")
    s.plug(0)
    s.transfer(1 << 20)


@case(300)
def bad_handshake(s):
    """packets of the handshake get lost, and the cable is pulled in its midst"""
    s.unplug()
    s.sim.command("cable 0 unplug-at 3")
    s.sim.command("cable 0 plug")
    s.sim.wait_until(lambda stats: stats["cables"][0]["pulled"], PATIENCE)
    s.sim.command("cable 0 lose-control next 2")
    s.plug(0)
    check(s.counted("control_lost") == 4, f"{s.counted('control_lost')} packets got lost instead of 4")


@case(600)
def killed(s):
    """a machine is killed and comes back: the other one sees an unplug and a plug"""
    downs = s.sim.counters("nhi.a")["cable_downs"]
    s.pair.kill("b")
    s.gone(0, "a")
    check(s.sim.counters("nhi.a")["cable_downs"] == downs + 1, "the cable did not go down")
    s.pair.restart("b")
    s.fresh("b")
    s.up()
    s.transfer(1 << 20)


@case(300)
def second_cable(s):
    """a second cable between the same hosts is a second device, and they know nothing of each other"""
    s.plug(1)
    s.unplug(0)
    s.reaches(1)
    s.unplug(1)
    s.plug(0)


def triangle(s):
    """three machines with two cables each: a cable is pulled, then a machine is killed, and the others go on"""
    for cable in range(3):
        s.up(cable)
    s.unplug(0)
    s.reaches(1)
    s.reaches(2)
    s.plug(0)
    s.pair.kill("c")
    s.gone(1, "b")
    s.gone(2, "a")
    s.reaches(0)


def run_series(series, verdict, opts):
    mine, _, other = series.partition(",")
    logs = os.path.join(vm.BUILD, f"vm-{mine}", f"usb4-{3 if opts.three else 2}-{opts.lanes}{other}")
    names, cables, pulled, cases = ("abc", THREE, (), [(triangle, 300, ())]) if opts.three else ("ab", TWO, (1,), CASES)
    with vm.Pair(mine, logs, names=tuple(names), others={"b": other or mine}, modules=usb4sim.MODULES,
                 load={name: usb4sim.MODULES for name in names}, progress=verdict.progress,
                 devices=usb4sim.Usb4sim(*cables, pulled=pulled, lanes=opts.lanes, seed=opts.seed)) as pair:
        one = Usb4(pair, cables)
        for function, budget, _ in cases:
            if opts.wanted not in function.__name__ and function is not comes_up:
                continue
            if not verdict.case(series, function, budget, one) and not usable(pair):
                verdict.say(series, "the cases after that", 0, "a machine is broken")
                return


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series", nargs="*", default=["6.12"], help="6.1, 6.12, newest, or two of them for a and b; 6.12 unless told")
    parser.add_argument("--lanes", type=int, choices=(1, 2), default=1)
    parser.add_argument("--three", action="store_true", help="three machines with two cables each")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="of the frames that get lost")
    parser.add_argument("-k", dest="wanted", default="", metavar="WORD", help="only cases with this word in their names")
    opts = parser.parse_args()
    verdict = Verdict(vm.Progress())
    print(f"seed {opts.seed}", flush=True)
    return closing(verdict, opts.series, lambda series: once_more(
        series, verdict, lambda: run_series(series, verdict, opts)))


if __name__ == "__main__":
    sys.exit(main())
