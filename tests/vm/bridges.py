# SPDX-License-Identifier: GPL-2.0
"""Cases of scenario.py over bridges (ntbsim): links, engines, interrupts, removal

The simulator counts the faults that its switches cause: a fault that did not happen fails the case.
"""

import random
import subprocess
import time

import bed
import pair as vm
from bed import check
from load import BUSY, all_fail, end, load_all, quick

DEVICE = ("0000:00:10.0", "0000:00:11.0")
DRIVER = "/sys/bus/pci/drivers/ntb_hw_intel"
CASES = []
case = bed.register_in(CASES)


def other_end(bridge):
    """Return the address of the peer over that bridge."""
    return f"{DEVICE[bridge]}/peer"


def link_stats(s, name):
    """Return the counters of kfi_ntb for the first bridge on a machine."""
    text = s.pair.run(name, f"cat /sys/kernel/debug/kfi_ntb/{DEVICE[0]}/stats").text
    return {key: int(value) for key, value in (line.split() for line in text.splitlines())}


def wait_up(s, seconds=20):
    """Wait until kfi_ntb's link of the first bridge is up on both machines."""
    for name in s.pair.vms:
        s.pair.run(name, f"for i in $(seq {10 * seconds}); do grep -q 'up 1' /sys/kernel/debug/kfi_ntb/{DEVICE[0]}/stats && "
                   "exit 0; sleep 0.1; done; exit 1", 2 * seconds)


def wait_bytes(s, more=1 << 19, device="ntb0.b", seconds=60):
    """Wait until that many more bytes have come out of a bridge."""
    target = s.pair.devices.counters(device)["window_bytes_in"] + more
    s.pair.devices.wait_until(lambda stats: stats["devices"][device]["window_bytes_in"] >= target, seconds)


def sent(s, kind):
    """Return the bytes that the endpoints of that kind on a have sent."""
    return sum(row["tx_bytes"] for row in s.kfi.json("a", "stats") if row["type"] == kind)


def fails_or_goes_on(s, job, seconds=60):
    """An idle RDM endpoint may continue in the next life of the link: it connects again."""
    before, deadline = sent(s, "rdm"), time.monotonic() + seconds
    while job.poll() is None and sent(s, "rdm") <= before + BUSY:
        if time.monotonic() > deadline:     # stuck() asks the kernels, which then complain
            raise vm.Failed(f"{job} neither fails nor goes on; see {s.kfi.stuck()}")
        time.sleep(0.3)
    if job.poll():
        check(job.result.status == 1, f"{job} ended with {job.result.status}:\n{job.result.text}")


def resets(s):
    return [link_stats(s, name)["resets"] for name in s.pair.vms]


def flap(s, lot):
    """Flap once under load. Return whether kfi_ntb noticed: a driver may look too late to see it.
    """
    wait_up(s)
    jobs = load_all(s, address=other_end(0))
    before, downs = resets(s), s.pair.devices.counters("ntb0.a")["link_downs"]
    s.pair.devices.command(f"link 0 delay {lot.choice((0, 20, 200))}")
    s.pair.devices.command(f"link 0 flap {lot.choice((1, 1, 3))} {lot.choice((5, 20, 300))} {lot.choice((5, 100))}")
    try:
        s.pair.devices.wait_until(lambda stats: not stats["links"][0]["flaps_left"] and stats["links"][0]["carries"])
        check(s.pair.devices.counters("ntb0.a")["link_downs"] > downs, "the link has not flapped")
        wait_up(s)
        time.sleep(0.5)
        told = resets(s) != before
        if told:
            wait_up(s)
            fails_or_goes_on(s, jobs[0])
            all_fail(s, jobs[1:])
    finally:
        end(jobs)
    return told


@case(7200)
def flaps(s):
    """the link flaps under load, briefly or longer: all ends in time, and the next life works"""
    lot = random.Random(s.seed)
    told = tries = 0
    while told < s.flaps:
        check(tries < 3 * s.flaps, f"of {tries} flaps the driver has told of {told}")
        tries += 1
        told += flap(s, lot)
        s.pair.progress(f"{s.pair.series}: {tries} flaps, {told} told of")
    s.pair.devices.command("link 0 delay 200")
    wait_up(s)
    quick(s)


@case(300)
def silent(s):
    """a link that seems up and drops everything: errors in time, and traffic when it is back"""
    jobs = load_all(s, address=other_end(0))
    s.pair.devices.command("link 0 stuck on")
    s.pair.devices.command("link 0 down")
    try:
        all_fail(s, jobs)
    finally:
        s.pair.devices.command("link 0 up")
        s.pair.devices.command("link 0 stuck off")
    wait_up(s)
    quick(s)


@case(300)
def survivor(s):
    """a machine is killed and comes back, twice: the other one's endpoints serve its successors"""
    s.kfi.serve("a", "rdm", 7473, "ntb")
    s.kfi.serve("a", "msg", 7474, "ntb")
    for last in (False, True):
        wait_up(s)
        words = {"provider": "ntb", "verify": True, "mode": "bandwidth"}
        for kind, service in (("rdm", 7473), ("msg", 7474)):
            s.kfi.perf("b", "0", type=kind, service=service, op="send,write,read", size="64,65536", iterations=10, **words)
        if not last:
            s.pair.spawn("b", "kfi " + s.kfi.perf_words("0", duration=200, op="write,read", service=7473, **words))
            wait_bytes(s, device="ntb0.a")
            s.pair.kill("b")
            s.pair.restart("b")
            s.below("b")
            s.load("b")
    s.kfi.command("a", "perf stop")
    quick(s)


@case(300)
def dma_errors(s):
    """copies that fail, reading or writing, fail their operations and not the link"""
    for kind in ("write", "read"):
        for device in ("dma.a", "dma.b"):
            wait_up(s)
            jobs = load_all(s, address=other_end(0))
            # What b sends otherwise is so short that its CPU writes it.
            jobs.append(s.long_run(200, address=other_end(0), no_check=True, op="read"))
            before, ups = s.pair.devices.counters(device)["dma_errors"], link_stats(s, "a")["ups"]
            s.pair.devices.command(f"{device} fail-{kind} 50")
            try:
                s.pair.devices.wait_until(lambda stats, d=device, n=before: stats["devices"][d]["dma_errors"] > n)
                time.sleep(1)
            finally:
                end(jobs)
            check(link_stats(s, "a")["ups"] == ups, f"the link has gone with a {kind} error of {device}")
            quick(s)


@case(300)
def lost_interrupts(s):
    """lost interrupts of doorbells and completions: found at the next beat, and nothing fails"""
    for device in ("ntb0.b", "ntb0.a", "dma.a", "dma.b"):
        job = s.long_run(4, address=other_end(0), op="send,write", depth=32)
        wait_bytes(s)
        lost = s.pair.devices.counters(device)["interrupts_lost"]
        s.pair.devices.command(f"{device} lose-interrupts 5")
        s.finish(job)
        check(s.pair.devices.counters(device)["interrupts_lost"] > lost, f"{device} has lost no interrupt")
        s.pair.devices.command(f"{device} lose-interrupts 0")


@case(300)
def driver_gone(s):
    """the bridge's driver is removed under load, on either side: errors in time, and it comes back
    """
    for name in ("b", "a"):
        jobs = load_all(s, address=other_end(0))
        s.pair.run(name, f"echo {DEVICE[0]} >{DRIVER}/unbind", 60)
        all_fail(s, jobs)
        domains = {row["domain"] for row in s.kfi.json(name, "info -p ntb")}
        check(domains == {DEVICE[1]}, f"{name}: offered are {domains}")
        s.pair.run(name, f"echo {DEVICE[0]} >{DRIVER}/bind", 60)
        if name == "b":
            # the server had all addresses there were
            s.kfi.command("b", "perf stop")
        wait_up(s)
        quick(s)


@case(300)
def rebooted(s):
    """a machine reboots: kfi_ntb takes its links down before the next kernel runs"""
    machine = s.pair.vms["b"]
    console = machine.consoles[-1]

    def taken_down():
        with open(console, encoding="utf-8", errors="replace") as log:
            return log.read().count("link down: it is taken down")

    before = taken_down()
    s.pair.spawn("b", "reboot -f")
    try:
        machine.process.wait(60)
    except subprocess.TimeoutExpired:
        raise vm.TimedOut("b does not reboot") from None
    check(taken_down() > before, "the links stayed up until the reset")
    s.pair.restart("b")
    s.below("b")
    s.load("b")
    wait_up(s)
    quick(s)
