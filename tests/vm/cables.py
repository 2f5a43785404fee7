# SPDX-License-Identifier: GPL-2.0
"""Cases of scenario.py over USB4 cables (usb4sim): pulls, bad frames, lost interrupts, silence, sleep, removal

The simulator counts the faults that its switches cause: a fault that did not happen fails the case.
"""

import random
import re
import time

import bed
import usb4sim
from bed import check
from load import all_fail, load_all, quick
from simulator import SimulatorError

CASES = []
case = bed.register_in(CASES)
# A loaded machine takes its time for the core's handshake.
PATIENCE = 120


def parts(s, name):
    """Return what kfi_usb4 says of the ways to the other machine, {"b.0": {"cable": "up, ..."}}."""
    found = {}
    for row in s.kfi.json(name, "show devices"):
        found.setdefault(row["device"], {})[row["part"]] = row["state"]
    return found


def frames(s, name):
    """Return the counters of frames of the first cable, {"sent": 12, ...}."""
    text = parts(s, name)[f"{'b' if name == 'a' else 'a'}.0"]["frames"]
    return {word: int(count) for count, word in re.findall(r"(\d+) (\w+)", text)}


def is_up(s, name, domain=None):
    """Is that cable up, or any?"""
    return any(way["cable"].startswith("up") for found, way in parts(s, name).items() if found == (domain or found))


def wait(condition, what, seconds=PATIENCE):
    deadline = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < deadline, f"{what} after {seconds} s")
        time.sleep(0.2)


def wait_up(s, *names):
    for name in names or s.pair.vms:
        wait(lambda n=name: is_up(s, n), f"{name} is not up")


def wait_down(s, *names):
    for name in names or s.pair.vms:
        wait(lambda n=name: not is_up(s, n), f"{name} is not down")


@case(1800)
def pulls(s):
    """the cable is pulled under load and plugged again: errors in time, and the same servers go on"""
    lot = random.Random(s.seed)
    wait_up(s)
    for number in range(s.flaps):
        jobs = load_all(s)
        time.sleep(lot.random())
        s.pair.devices.command("cable 0 unplug")
        all_fail(s, jobs)
        wait_down(s)
        time.sleep(lot.choice((0, 0.5, 2)))
        s.pair.devices.command("cable 0 plug")
        wait_up(s)
        quick(s, iterations=2)
        s.pair.progress(f"{s.pair.series}: {number + 1} pulls")


@case(1800)
def pulls_held(s):
    """the cable is pulled for up to ten seconds under load, and connections wait for it: nothing fails"""
    lot = random.Random(s.seed)
    wait_up(s)
    for name in "ab":
        s.pair.run(name, "echo 30 >/sys/module/kfi_usb4/parameters/hold_s")
    try:
        for number in range(s.flaps):
            jobs = [s.long_run(30, depth=64, op="write", timeout=60), s.long_run(30, type="msg", service=7472, op="send", size=300, timeout=60)]
            time.sleep(2 + lot.random())
            s.pair.devices.command("cable 0 unplug")
            wait_down(s)
            time.sleep(lot.uniform(0, 8))
            s.pair.devices.command("cable 0 plug")
            wait_up(s)
            for job in jobs:
                s.finish(job, 120)
            s.pair.progress(f"{s.pair.series}: held {number + 1} times")
        again = s.pair.run("a", "dmesg | grep -c 'kfi_usb4: .*: up again'").text
        check(int(again) >= s.flaps, f"{again} lives went on instead of {s.flaps}")
    finally:
        for name in "ab":
            s.pair.run(name, "echo 0 >/sys/module/kfi_usb4/parameters/hold_s")


@case(1800)
def pulled_early(s):
    """the cable is pulled in the midst of the handshake, at each of its packets"""
    for packet in range(2, 34, 34 // (s.flaps + 2)):
        s.pair.devices.command("cable 0 unplug")
        wait_down(s)
        s.pair.devices.command(f"cable 0 unplug-at {packet}")
        s.pair.devices.command("cable 0 plug")
        try:
            s.pair.devices.wait_until(lambda stats: stats["cables"][0]["pulled"], 15)
        except SimulatorError:
            # there were not that many
            s.pair.devices.command("cable 0 unplug-at 0")
            s.pair.devices.command("cable 0 unplug")
        time.sleep(0.5)
        s.pair.devices.command("cable 0 plug")
        wait_up(s)
    quick(s)


@case(600)
def bad_frames(s):
    """one of a hundred frames is lost or damaged: all data right, and no connection lost"""
    wait_up(s)
    before = [frames(s, name) for name in "ab"]
    lives = [s.pair.run(name, "dmesg | grep -c 'kfi_usb4: .*: up'").text for name in "ab"]
    s.pair.devices.command("cable 0 lose ppm 10000")
    s.pair.devices.command("cable 0 damage ppm 10000")
    try:
        s.traffic(size="64,4096,65536", iterations=100, timeout=200)
        s.traffic("msg", size="64,65536", iterations=100, timeout=200)
    finally:
        s.pair.devices.command("cable 0 lose ppm 0")
        s.pair.devices.command("cable 0 damage ppm 0")
    for name, old in zip("ab", before):
        new = frames(s, name)
        for what in ("repeated", "gaps", "damaged"):
            check(new[what] > old[what], f"{name} has counted no frames that are {what}: {new}")
    check(lives == [s.pair.run(name, "dmesg | grep -c 'kfi_usb4: .*: up'").text for name in "ab"], "a life has ended")


@case(300)
def silent(s):
    """a cable that seems to be there and carries nothing: errors in time, and traffic when it is back"""
    wait_up(s)
    jobs = load_all(s)
    s.pair.devices.command("cable 0 stall on")
    try:
        all_fail(s, jobs)
    finally:
        s.pair.devices.command("cable 0 stall off")
    wait_up(s)
    quick(s)


@case(300)
def lost_interrupts(s):
    """the host interface sends no interrupt any more: the ring is restarted, and nothing fails"""
    wait_up(s)
    for name in "ab":
        restarts = frames(s, name)["restarts"]
        job = s.long_run(4, op="send,write", depth=32)
        time.sleep(1)
        # some, because one may be that of another ring
        s.pair.devices.command(f"nhi.{name} lose-interrupts 3")
        s.finish(job)
        check(s.pair.devices.counters(f"nhi.{name}")["interrupts_lost"], "no interrupt got lost")
        s.pair.devices.command(f"nhi.{name} lose-interrupts 0")
        wait(lambda n=name, old=restarts: frames(s, n)["restarts"] > old, f"the ring of {name} was not restarted", 10)
    quick(s)


@case(1800)
def survivor(s):
    """a machine is killed under writes and comes back: the other one's endpoints serve its successors"""
    s.kfi.serve("a", "rdm", 7473, "usb4")
    s.kfi.serve("a", "msg", 7474, "usb4")
    words = {"provider": "usb4", "verify": True, "mode": "bandwidth"}
    for number in range(s.kills + 1):
        wait_up(s)
        for kind, service in (("rdm", 7473), ("msg", 7474)):
            s.kfi.perf("b", "a", type=kind, service=service, op="send,write,read", size="64,65536", iterations=10, **words)
        if number == s.kills:
            break
        s.pair.spawn("b", "kfi " + s.kfi.perf_words("a", duration=200, op="write,read", service=7473, **words))
        time.sleep(2)
        s.pair.kill("b")
        s.pair.restart("b")
        s.below("b")
        s.load("b")
        s.pair.progress(f"{s.pair.series}: {number + 1} kills")
    s.kfi.command("a", "perf stop")
    quick(s)


@case(900)
def booted(s):
    """a machine boots again, with another UUID: it is reached under its name, by the domain that was in use all the time"""
    wait_up(s)
    s.kfi.serve("a", "msg", 7474, "usb4")
    s.serve()
    s.pair.kill("b")
    s.pair.restart("b")
    s.below("b")
    s.load("b")
    wait_up(s)
    names = {row["domain"] for row in s.kfi.json("a", "info -p usb4")}
    check(names == {"b.0"}, f"offered are {names}")
    quick(s)
    s.kfi.perf("b", "a", type="msg", service=7474, provider="usb4", verify=True, size="64,65536", iterations=10)
    s.kfi.command("a", "perf stop")
    s.kfi.command("b", "perf stop")


@case(600)
def second_interface(s):
    """a cable between other host interfaces of the same machines: the name stands for both ways"""
    s.pair.devices.command("cable 2 plug")
    for name, domain in (("a", "b.1"), ("b", "a.1")):
        wait(lambda n=name, d=domain: is_up(s, n, d), f"{domain} is not up")
    names = {row["domain"] for row in s.kfi.json("a", "info -p usb4 b 4000")}
    check(names == {"b.0", "b.1"}, f"offered are {names}")
    quick(s)
    s.kfi.command("b", "perf stop")
    s.pair.devices.command("cable 0 unplug")
    wait(lambda: not is_up(s, "a", "b.0"), "b.0 is not down")
    quick(s)
    s.kfi.command("b", "perf stop")
    s.pair.devices.command("cable 0 plug")
    wait(lambda: is_up(s, "a", "b.0"), "b.0 is not up")
    s.pair.devices.command("cable 2 unplug")
    wait(lambda: "b.1" not in {row["domain"] for row in s.kfi.json("a", "info -p usb4")}, "b.1 is still offered")
    quick(s)


@case(600)
def second_cable(s):
    """a second cable is a way of its own, with its own name, and both fail alone"""
    s.pair.devices.command("cable 1 plug")
    for name, domain in (("a", "b.1"), ("b", "a.1")):
        wait(lambda n=name, d=domain: is_up(s, n, d), f"{domain} is not up")
    names = {row["domain"] for row in s.kfi.json("a", "info -p usb4")}
    check(names == {"b.0", "b.1"}, f"offered are {names}")
    quick(s)
    s.kfi.command("b", "perf stop")
    s.pair.devices.command("cable 0 unplug")
    for name, domain in (("a", "b.0"), ("b", "a.0")):
        wait(lambda n=name, d=domain: not is_up(s, n, d), f"{domain} is not down")
    quick(s)
    s.kfi.command("b", "perf stop")
    s.pair.devices.command("cable 0 plug")
    for name, domain in (("a", "b.0"), ("b", "a.0")):
        wait(lambda n=name, d=domain: is_up(s, n, d), f"{domain} is not up")
    s.pair.devices.command("cable 1 unplug")
    wait(lambda: "b.1" not in {row["domain"] for row in s.kfi.json("a", "info -p usb4")}, "b.1 is still offered")
    quick(s)


@case(300)
def beside_net(s):
    """thunderbolt_net works over the same cable at the same time"""
    wait_up(s)
    for name in "ab":
        s.pair.run(name, "modprobe thunderbolt_net")
    for name, number in (("a", 1), ("b", 2)):
        s.pair.run(name, f"until [ -e {usb4sim.netdev(0)} ]; do sleep 0.1; done; dev=$(basename {usb4sim.netdev(0)}); "
                   f"ip addr add 10.79.0.{number}/24 dev $dev && ip link set $dev up", PATIENCE)
    s.pair.run("a", "until ping -c 1 -W 1 10.79.0.2; do :; done", PATIENCE)
    job = s.pair.spawn("a", "ping -i 0.2 -c 20 10.79.0.2")
    quick(s)
    check(" 0% packet loss" in job.wait(60).text, "pings got lost")
    for name in "ab":
        s.pair.run(name, "rmmod thunderbolt_net")
    quick(s)


@case(600)
def sleeps(s):
    """a machine goes to sleep and wakes up (pm_test): errors in time, and traffic afterwards"""
    for name in "ba":
        wait_up(s)
        jobs = load_all(s)
        s.pair.run(name, "echo devices >/sys/power/pm_test && echo mem >/sys/power/state", 120)
        all_fail(s, jobs)
        wait_up(s)
        quick(s)


@case(300)
def driver_gone(s):
    """kfi_usb4 loses the cable's service under load, on either side: errors in time, and it comes back"""
    for name in "ba":
        wait_up(s)
        jobs = load_all(s)
        service = s.pair.run(name, "cd /sys/bus/thunderbolt/drivers/kfi_usb4 && echo 0-*").text.split()[0]
        s.pair.run(name, f"echo {service} >/sys/bus/thunderbolt/drivers/kfi_usb4/unbind", 60)
        all_fail(s, jobs)
        wait_down(s, name)
        s.pair.run(name, f"echo {service} >/sys/bus/thunderbolt/drivers/kfi_usb4/bind", 60)
        wait_up(s)
        quick(s)


@case(600)
def reloaded(s):
    """the driver is unloaded in order, and the other machine is told at once"""
    wait_up(s)
    s.kfi.command("b", "perf stop")
    s.kfi.unload("b")
    wait_down(s, "a")
    text = s.pair.run("a", "dmesg | grep 'kfi_usb4: .*: down' | tail -n 1").text
    check("logged out" in text, f"a was not told: {text}")
    s.load("b")
    wait_up(s)
    quick(s)
