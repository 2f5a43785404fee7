#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""ntb_scenario.py 6.1|6.12... [-k WORD]: do the simulated NTB and DMA engine behave like hardware?

Two machines of a stock kernel with its own, unmodified drivers and clients of NTBs, on the
simulator (ntbsim/), without kfabric. Everything countable is counted: the simulator's counters must
be what the guests did. After each case the consoles must be clean. The last line is "N passed, N
failed".
"""

import argparse
import functools
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import ntbsim            # noqa: E402
import pair as vm        # noqa: E402
from bed import closing  # noqa: E402
from scenario import Verdict, check, usable  # noqa: E402

CASES = []
LINKS = 2
SIZE = 1 << 20           # of a window
DEVICE = "0000:00:10.0"  # the first NTB in both guests
TOOL = f"/sys/kernel/debug/ntb_tool/{DEVICE}"
PERF = f"/sys/kernel/debug/ntb_perf/{DEVICE}"
PONG = f"/sys/kernel/debug/ntb_pingpong/{DEVICE}"
ENGINE = "/sys/bus/pci/devices/0000:00:18.0"
# A disk whose data nobody reads, with memory of its own (BAR 2)
DISK = "/sys/bus/pci/devices/0000:00:1c.0"
WITH_CMB = ["-drive", "driver=null-co,size=16M,if=none,id=cmb", "-device", "nvme,drive=cmb,serial=cmb,cmb_size_mb=1,addr=0x1c"]
BAR = f"/sys/bus/pci/devices/{DEVICE}/resource"
OTHER = {"a": "b", "b": "a"}
PERF_TRIES, PERF_HANDSHAKE = 4, 10
CLEAN = [f"link {n} {words}" for n in range(LINKS) for words in ("stuck off", "dead-writes drop", "delay 200")] + \
        [f"dma.{side} {words} 0" for side in OTHER for words in ("fail-read", "slow", "lose-interrupts")] + \
        [f"ntb{n}.{side} lose-interrupts 0" for side in OTHER for n in range(LINKS)]
# With windows that are set up, rmmod ntb_tool takes their files away twice, and oopses.
UNLOAD = """
for peer in /sys/kernel/debug/ntb_tool/*/peer0; do
	[ -d $peer ] || continue
	echo 0:0 >$peer/peer_mw_trans0
	echo 0 >$peer/mw_trans0
done
for module in dmatest ntb_tool ntb_pingpong ntb_perf ntb_netdev ntb_transport; do
	! grep -q "^$module " /proc/modules || rmmod $module || exit 1
done
"""


def case(budget):
    """Register a case, which must clean up; it fails if it takes longer than its budget of seconds.
    """
    def register(function):
        @functools.wraps(function)
        def run(bed):
            try:
                function(bed)
            finally:
                bed.clean()
        CASES.append((run, budget))
        return run
    return register


class Bed:
    """The pair with drivers loaded, and functions for the cases"""

    def __init__(self, pair):
        self.pair = pair
        self.sim = pair.devices

    def both(self, command, timeout=30):
        for name in self.pair.vms:
            self.pair.run(name, command, timeout)

    def until(self, name, condition, seconds=20):
        """Wait until a condition, in words of the shell, is true on a machine."""
        self.pair.run(name, f"for i in $(seq {10 * seconds}); do {{ {condition}; }} 2>/dev/null && exit 0; sleep 0.1; "
                      "done; echo it never was true; exit 1", 2 * seconds)

    def clean(self):
        """Remove what a case has left: clients of NTBs, switches."""
        for command in CLEAN:
            self.sim.command(command)
        # ntb_perf won't go while it waits for its peer's answer, unless the link does
        for n in range(LINKS):
            self.sim.command(f"link {n} down")
        for name, machine in self.pair.vms.items():
            if machine.alive:
                self.pair.run(name, UNLOAD, 60)
        for n in range(LINKS):
            self.sim.command(f"link {n} up")

    def text(self, name, command, timeout=30):
        """Return the output of a command. Some debugfs files end lines with a zero byte."""
        return self.pair.run(name, command, timeout).text.replace("\0", "").strip()

    def load(self, *names):
        for name in names or self.pair.vms:
            self.pair.run(name, "modprobe -a ntb_hw_intel ioatdma", 30)

    def tool(self):
        """Load ntb_tool on both machines and bring the link up."""
        self.both(f"modprobe ntb_tool && echo Y >{TOOL}/link")
        self.both(f"echo Y >{TOOL}/peer0/link_event")

    def window(self, to="b"):
        """Open a window of ntb_tool from the other machine to that one."""
        self.pair.run(to, f"echo {SIZE} >{TOOL}/peer0/mw_trans0")
        self.pair.run(OTHER[to], f"echo 0:{SIZE} >{TOOL}/peer0/peer_mw_trans0")

    def perf(self, dma, total_order, chunk_order):
        """Load ntb_perf on both machines and wait for its handshake."""
        load = f"modprobe ntb_perf use_dma={dma} total_order={total_order} chunk_order={chunk_order}"
        for attempt in range(PERF_TRIES):
            self.both(load)
            try:
                # waits until both have told each other their windows
                return self.perf_run("a", PERF_HANDSHAKE)
            except vm.TimedOut:
                # A command whose doorbell overtakes the link's own interrupt is forgotten (perf_spad_cmd_recv),
                # which two busy emulated machines now and then make happen.
                if attempt + 1 == PERF_TRIES:
                    raise
                self.clean()

    def perf_run(self, name, timeout=60):
        """Run one test to the peer. Return the bytes copied."""
        self.pair.run(name, f"echo 0 >{PERF}/run", timeout)
        text = self.text(name, f"cat {PERF}/run")
        found = re.search(r"0: copied (\d+) bytes", text)
        check(found, f"ntb_perf on {name} says\n{text}")
        return int(found.group(1))

    def grown(self, device, function):
        """Return what function() adds to those counters of a device that it changes."""
        return self.all_grown(function)[device]

    def all_grown(self, function):
        before = self.sim.stats()["devices"]
        function()
        for name, machine in self.pair.vms.items():
            # as on any PCI bus, a read pushes the writes before it along; this one is not the case's
            if machine.alive:
                self.pair.run(name, f"poke {BAR}0 0")
                before[f"ntb0.{name}"]["mmio_reads"] += 1
        after = self.sim.stats()["devices"]
        return {device: {key: counters[key] - before[device][key] for key in counters}
                for device, counters in after.items()}

    def steady(self, device):
        """Wait until a device is idle."""
        last = None
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            now = self.sim.counters(device)
            if now == last:
                return
            last = now
            time.sleep(0.3)
        raise vm.Failed(f"{device} comes to no rest")

    def dmatest(self, name, options="", iterations=20, threads=1, timeout=60):
        """Run dmatest until all of its threads have ended. Return their number, and failures."""
        self.pair.run(name, f"dmesg -c >/dev/null; modprobe dmatest timeout=20000 iterations={iterations} "
                      f"threads_per_chan={threads} {options} run=1", timeout)
        self.until(name, f"dmesg >/tmp/said; [ $(({threads} * $(grep -c 'dmatest: Started' /tmp/said))) = "
                   "$(grep -c 'dmatest: .*summary' /tmp/said) ]", timeout // 2)
        text = self.text(name, "grep dmatest /tmp/said; rmmod dmatest")
        found = re.findall(r"summary (\d+) tests, (\d+) failures", text)
        check(found and all(int(tests) == iterations for tests, _ in found), f"dmatest says\n{text}")
        return len(found), sum(int(failures) for _, failures in found)

    def ping(self, count=5, size=1400):
        self.pair.run("a", f"/bin/busybox ping -c {count} -s {size} 10.79.0.2", 60)


def equal(got, want, what):
    check(got == want, f"{what}: {got} instead of {want}")


@case(60)
def probe(s):
    """the drivers accept the devices, and the link is down"""
    s.load()
    for name, topology in (("a", "NTB_TOPO_B2B_USD"), ("b", "NTB_TOPO_B2B_DSD")):
        info = s.text(name, f"cat /sys/kernel/debug/ntb_hw_intel/{DEVICE}/info")
        for line in (topology, "Link Status -\t\tDown", "Memory Window Count -\t2", "Scratchpad Count -\t16",
                     "Doorbell Valid Mask -\t0x7fffffff"):
            check(line in info, f"{name}: no \"{line}\" in\n{info}")
        equal(s.text(name, "ls /sys/bus/ntb/devices | wc -l"), str(LINKS), f"{name}: NTBs")
        equal(s.text(name, "ls -d /sys/class/dma/dma0chan* | wc -l"), "4", f"{name}: DMA channels")
    check(not s.sim.carries(), "the link is up before anybody has enabled it")


@case(60)
def dmatest(s):
    """dmatest: four channels, two threads on each, every byte compared"""
    results = []
    grown = s.grown("dma.b", lambda: results.append(s.dmatest("b", "test_buf_size=65536", 50, threads=2)))
    equal(results[0], (8, 0), "threads and failures")
    equal(grown["descriptors"], 400, "descriptors that copy")
    equal(grown["dma_errors"], 0, "errors")


@case(60)
def scratchpads(s):
    """ntb_tool: every scratchpad, in both directions; each access is one register access"""
    s.tool()
    for name, peer in OTHER.items():
        s.pair.run(name, " && ".join(f"echo {0x5eed0000 + n:#x} >{TOOL}/peer0/spad{n}" for n in range(16)))
        said = s.text(peer, f"cd {TOOL} && cat " + " ".join(f"spad{n}" for n in range(16)))
        equal(said.split(), [f"{0x5eed0000 + n:#x}" for n in range(16)], f"scratchpads of {peer}")
    grown = s.all_grown(lambda: s.pair.run("a", f"echo 7 >{TOOL}/peer0/spad3"))
    equal((grown["ntb0.a"]["mmio_writes"], grown["ntb0.a"]["mmio_reads"], grown["ntb0.b"]["scratchpads"]), (1, 0, 1),
          "a scratchpad written: writes, reads, arrived")
    # one read: cat would read twice
    grown = s.grown("ntb0.a", lambda: s.pair.run("a", f"dd if={TOOL}/peer0/spad3 bs=64 count=1"))
    equal((grown["mmio_writes"], grown["mmio_reads"]), (0, 1), "a scratchpad read: writes, reads")


@case(60)
def doorbells(s):
    """ntb_tool: a doorbell interrupts once until it is cleared; a masked one when it is unmasked"""
    s.tool()

    def ring(bits):
        return s.grown("ntb0.b", lambda: s.pair.run("a", f"echo 's {bits}' >{TOOL}/peer_db"))

    def seen():
        return s.text("b", f"cat {TOOL}/db")

    s.pair.run("b", f"echo 'c 0x7fffffff' >{TOOL}/db; echo 'c 0x5' >{TOOL}/db_mask")
    waiting = s.pair.spawn("b", f"echo 0x5 >{TOOL}/db_event")
    grown = ring("0x5")
    equal((grown["doorbells"], grown["interrupts"]), (2, 2), "two doorbells: rung, interrupts")
    waiting.wait(20)
    equal(seen(), "0x5", "doorbells")
    grown = ring("0x4")
    equal((grown["doorbells"], grown["doorbells_masked"], grown["interrupts"]), (1, 1, 0), "a pending one again")
    grown = ring("0x10")
    equal((grown["doorbells_masked"], grown["interrupts"]), (1, 0), "a masked one")
    equal(seen(), "0x15", "doorbells with the masked one")
    grown = s.grown("ntb0.b", lambda: s.pair.run("b", f"echo 'c 0x10' >{TOOL}/db_mask"))
    equal(grown["interrupts"], 1, "interrupts of unmasking it")
    s.pair.run("b", f"echo 'c 0x15' >{TOOL}/db")
    equal(seen(), "0x0", "doorbells after clearing")
    equal(ring("0x4")["interrupts"], 1, "interrupts of one that was cleared")
    s.both(f"echo 'c 0x7fffffff' >{TOOL}/db; echo 's 0x7fffffff' >{TOOL}/db_mask")


@case(60)
def windows(s):
    """ntb_tool: a write to a window arrives at the peer; one to a closed window is dropped"""
    s.tool()
    s.window()
    grown = s.grown("ntb0.b", lambda: s.pair.run("a", f"printf 'through the bridge' >{TOOL}/peer0/peer_mw0"))
    equal(s.text("b", f"head -c 18 {TOOL}/peer0/mw0"), "through the bridge", "what came out")
    equal((grown["window_bytes_in"], grown["misses"]), (18, 0), "bytes in, misses")
    s.pair.run("b", f"printf 'and back' >{TOOL}/peer0/mw0")
    equal(s.text("a", f"head -c 8 {TOOL}/peer0/peer_mw0"), "and back", "what was read across the bridge")
    s.pair.run("b", f"echo 0 >{TOOL}/peer0/mw_trans0")
    grown = s.grown("ntb0.b", lambda: s.pair.run("a", f"printf 'lost' >{TOOL}/peer0/peer_mw0"))
    check(grown["misses"] >= 1 and not grown["window_bytes_in"], f"a closed window let something in: {grown}")
    equal(s.text("a", f"head -c 4 {TOOL}/peer0/peer_mw0 | od -An -tx1"), "ff ff ff ff", "read from a closed window")


@case(60)
def limits(s):
    """a window ends where its limit register says, to the byte"""
    s.tool()
    s.window()
    # what intel_ntb3_mw_set_trans() would set for 8 KiB; ntb_tool can't have so little, aligned to the window
    s.pair.run("b", f"poke {BAR}0 0x4018 0x2000 && poke {BAR}0 0x401c 0x20000000")
    for offset, arrives in ((0x1ffc, True), (0x2000, False), (SIZE - 4, False)):
        grown = s.grown("ntb0.b", lambda at=offset: s.pair.run("a", f"poke {BAR}2 {at:#x} 0x600df00d"))
        equal((grown["window_bytes_in"], grown["misses"]), (4, 0) if arrives else (0, 1), f"a write at {offset:#x}")
        equal(s.text("a", f"poke {BAR}2 {offset:#x}"), "0x600df00d" if arrives else "0xffffffff", f"read at {offset:#x}")


@case(60)
def message(s):
    """an interrupt message that a writes through a window interrupts b"""
    s.tool()
    # vector 5 of b's NTB: address and data as b's kernel has set them
    low, data = s.text("b", f"poke {BAR}0 0x2050; poke {BAR}0 0x2058").split()
    check(low.startswith("0xfee"), f"vector 5 of b goes to {low}")
    s.pair.run("b", f"poke {BAR}0 0x10 0xfee00000 && poke {BAR}0 0x14 0 && "
               f"poke {BAR}0 0x4018 {SIZE:#x} && poke {BAR}0 0x401c 0x20000000 && "
               f"poke {BAR}0 0x18 0 && poke {BAR}0 0x1c 0")
    # the sixth of its vectors' lines; 6.1 doesn't say there which device a line is of, and ours is the first
    count = "awk '/ndev_vec_isr/ { if (++n == 6) print $2 + $3 }' /proc/interrupts"
    before = int(s.text("b", count))
    grown = s.grown("ntb0.b", lambda: [
        s.pair.run("a", f"poke {BAR}2 {int(low, 16) - 0xfee00000:#x} {data}") for _ in range(3)])
    equal(grown["msis"], 3, "messages")
    s.until("b", f"[ $({count}) = {before + 3} ]")
    s.pair.run("b", f"poke {BAR}0 0x10 0")


@case(60)
def pingpong(s):
    """ntb_pingpong runs"""
    s.both("modprobe ntb_pingpong delay_ms=1")
    for name in s.pair.vms:
        s.until(name, f"[ $(cat {PONG}/count) -ge 50 ]")


@case(60)
def perf_dma(s):
    """ntb_perf with DMA: its bytes arrive, by as many descriptors as it requests"""
    s.perf(1, 24, 19)
    copied = []
    grown = s.all_grown(lambda: copied.append(s.perf_run("a")))
    equal(copied[0], 1 << 24, "bytes that ntb_perf says")
    equal(grown["dma.a"]["descriptors"], 1 << (24 - 19), "descriptors")
    equal(grown["dma.a"]["dma_bytes"], 1 << 24, "bytes of DMA")
    equal((grown["ntb0.b"]["window_bytes_in"], grown["ntb0.a"]["dropped"], grown["ntb0.b"]["misses"]), (1 << 24, 0, 0),
          "bytes in, dropped, missed")
    equal(grown["ntb0.a"]["window_cpu_writes"] + grown["ntb0.a"]["mmio_reads"], 0, "CPU stores and register reads")
    equal(s.perf_run("b"), 1 << 24, "bytes the other way")


@case(60)
def perf_cpu(s):
    """ntb_perf without DMA"""
    s.perf(0, 18, 14)
    grown = s.grown("ntb0.a", lambda: equal(s.perf_run("b"), 1 << 18, "bytes"))
    equal(grown["window_bytes_in"], 1 << 18, "bytes in")


NETDEV = """
modprobe ntb_transport use_dma=1 copy_bytes=0 && modprobe ntb_netdev || exit 1
for dev in /sys/class/net/*; do
	case $(readlink -f $dev/device) in
	*/%s/*) ip link set ${dev##*/} name ntb ;;
	esac
done
ip addr add 10.79.0.%d/24 dev ntb && ip link set ntb up
"""
CARRIER = "[ $(cat /sys/class/net/ntb/carrier) = 1 ]"


def net_up(s):
    """Bring up ntb_netdev with addresses, and wait until both machines see each other."""
    for number, name in enumerate(s.pair.vms, 1):
        s.pair.run(name, NETDEV % (DEVICE, number), 30)
    for name in s.pair.vms:
        s.until(name, CARRIER, 30)


@case(60)
def netdev(s):
    """ntb_transport with DMA and ntb_netdev: packets, and a file that arrives unchanged"""
    net_up(s)
    s.ping()
    grown = s.all_grown(lambda: transfer(s, 2 << 20))
    check(grown["ntb0.b"]["window_bytes_in"] > 2 << 20, "the file went another way")
    check(grown["dma.a"]["dma_bytes"] > 2 << 20, "the file went without DMA")


def transfer(s, size):
    """Copy a file of random bytes from a to b over the device."""
    # with an input that ends nc would hang up
    server = s.pair.spawn("b", "[ -p /tmp/pipe ] || mkfifo /tmp/pipe; busybox nc -l -p 7 <>/tmp/pipe >/tmp/in")
    s.until("b", "ss -ltn | grep -q :7")
    s.pair.run("a", f"head -c {size} /dev/urandom >/tmp/out && busybox nc 10.79.0.2 7 </tmp/out", 60)
    server.wait(30)
    equal(s.text("b", "wc -c </tmp/in"), str(size), "bytes that arrived")
    sums = [s.text(name, f"sha256sum </tmp/{file}") for name, file in (("a", "out"), ("b", "in"))]
    equal(sums[1], sums[0], "checksum")


@case(60)
def netdev_flaps(s):
    """the link flaps five times under ntb_netdev: all notice, and packets pass afterwards"""
    net_up(s)
    grown = s.all_grown(lambda: flap(s, 5, 300, 1200))
    for device in ("ntb0.a", "ntb0.b"):
        equal((grown[device]["link_downs"], grown[device]["link_ups"]), (5, 5), f"downs and ups at {device}")
    for name in s.pair.vms:
        s.until(name, CARRIER, 30)
    s.ping()


def flap(s, times, down_ms, up_ms):
    s.sim.command(f"link 0 flap {times} {down_ms} {up_ms}")
    s.sim.wait_until(lambda stats: not stats["links"][0]["flaps_left"] and stats["links"][0]["carries"])


@case(60)
def link(s):
    """the link: held down and released, training, and that both ends must enable it"""
    s.tool()
    grown = s.all_grown(lambda: (s.sim.command("link 0 down"), s.both(f"echo N >{TOOL}/peer0/link_event")))
    for device in ("ntb0.a", "ntb0.b"):
        equal((grown[device]["link_downs"], grown[device]["interrupts"]), (1, 1), f"{device}: down, interrupts")
    grown = s.grown("ntb0.a", lambda: s.pair.run("a", f"echo 1 >{TOOL}/peer0/spad0; echo 's 1' >{TOOL}/peer_db"))
    equal(s.text("a", f"cat {TOOL}/peer0/spad0"), "0xffffffff", "a scratchpad behind a dead link")
    s.sim.command("link 0 up")
    s.both(f"echo Y >{TOOL}/peer0/link_event")
    s.pair.run("a", f"echo N >{TOOL}/link")
    s.both(f"echo N >{TOOL}/peer0/link_event")
    s.sim.command("link 0 delay 700")
    start = time.monotonic()
    s.pair.run("a", f"echo Y >{TOOL}/link")
    s.both(f"echo Y >{TOOL}/peer0/link_event")
    check(time.monotonic() - start >= 0.7, "up before its time")
    s.sim.command("link 0 delay 0")
    s.pair.run("a", f"echo N >{TOOL}/link; echo Y >{TOOL}/link")
    check(s.sim.carries(), "an instant link-up takes time")


@case(60)
def stuck(s):
    """a link that seems up and drops all writes: DMA completes, and nothing has arrived"""
    s.perf(1, 22, 19)
    s.sim.command("link 0 stuck on")
    s.sim.command("link 0 down")
    state = s.sim.stats()["links"][0]
    equal((state["carries"], state["shown"]), (False, True), "carries, shown")
    grown = s.all_grown(lambda: equal(s.perf_run("a"), 1 << 22, "bytes"))
    equal((grown["ntb0.a"]["dropped"], grown["ntb0.b"]["window_bytes_in"], grown["ntb0.a"]["link_downs"]), (8, 0, 0),
          "writes dropped, bytes in, downs seen")


@case(60)
def dead_writes(s):
    """DMA writes to a dead link: an error if the switch says so"""
    s.perf(1, 20, 19)
    s.sim.command("link 0 stuck on")
    s.sim.command("link 0 down")
    s.sim.command("link 0 dead-writes fail")
    grown = s.grown("dma.a", lambda: s.pair.run("a", f"echo 0 >{PERF}/run", 60, check=False))
    check(grown["dma_errors"] >= 1, "no DMA error")
    s.clean()
    equal(s.dmatest("a", "test_buf_size=4096"), (4, 0), "threads and failures afterwards")


@case(60)
def dma_error(s):
    """a DMA error ends that copy, the driver reports it, and the engine continues"""
    for kind in ("read", "write"):
        s.sim.command(f"dma.a fail-{kind} 10")
        result = []
        grown = s.grown("dma.a", lambda: result.append(s.dmatest("a", "test_buf_size=4096")))
        equal(grown["dma_errors"], 1, f"{kind} errors")
        check(result[0][1] >= 1, "no test has failed")
        equal(s.dmatest("a", "test_buf_size=4096"), (4, 0), f"threads and failures after a {kind} error")


@case(60)
def slow_dma(s):
    """slow DMA delays copies, and the registers answer meanwhile"""
    s.sim.command("dma.a slow 50000")
    start = time.monotonic()
    equal(s.dmatest("a", "test_buf_size=4096", 10), (4, 0), "threads and failures")
    check(time.monotonic() - start >= 0.5, "ten copies of 50 ms in less than half a second")


@case(60)
def lost_interrupts(s):
    """a lost interrupt: the doorbell bit is set without an event; ioatdma finds its completions"""
    s.tool()
    s.pair.run("b", f"echo 'c 0x7fffffff' >{TOOL}/db; echo 'c 0x1' >{TOOL}/db_mask")
    s.sim.command("ntb0.b lose-interrupts 1")
    grown = s.grown("ntb0.b", lambda: s.pair.run("a", f"echo 's 1' >{TOOL}/peer_db"))
    equal((grown["doorbells"], grown["interrupts"], grown["interrupts_lost"]), (1, 0, 1), "rung, interrupts, lost")
    equal(s.text("b", f"cat {TOOL}/db"), "0x1", "the doorbell")
    s.pair.run("b", f"echo 'c 0x1' >{TOOL}/db; echo 's 0x1' >{TOOL}/db_mask")
    s.sim.command("dma.a lose-interrupts 3")
    grown = s.grown("dma.a", lambda: equal(s.dmatest("a", "test_buf_size=4096", 5), (4, 0), "threads and failures"))
    equal(grown["interrupts_lost"], 3, "interrupts of the engine lost")


@case(60)
def nonsense(s):
    """invalid accesses change nothing, and are counted"""
    before = s.sim.counters("ntb0.a")["mmio_refused"]
    s.pair.run("a", f"poke {BAR}0 0xfffc 1; poke {BAR}0 0xd00; poke {BAR}0 0x70 0xffff")
    check(s.sim.counters("ntb0.a")["mmio_refused"] >= before + 2, "not counted")


@case(60)
def second_link(s):
    """two NTBs between the machines: each has its own link, doorbells and windows"""
    s.tool()
    other = TOOL.replace("10.0", "11.0")
    s.both(f"echo Y >{other}/link")
    s.both(f"echo Y >{other}/peer0/link_event")
    grown = s.all_grown(lambda: s.pair.run("a", f"echo 0xabc >{other}/peer0/spad1"))
    equal((grown["ntb1.b"]["scratchpads"], grown["ntb0.b"]["scratchpads"]), (1, 0), "scratchpads of both")
    s.sim.command("link 0 down")
    s.both(f"echo N >{TOOL}/peer0/link_event")
    check(s.sim.carries(1), "one link took the other along")
    equal(s.text("b", f"cat {other}/spad1"), "0xabc", "the scratchpad")


@case(150)
def killed(s):
    """a machine is killed during writes to it: the other sees the link go, and come back later
    """
    s.perf(1, 24, 12)
    before = s.sim.counters("ntb0.b")["window_bytes_in"]
    running = s.pair.spawn("a", f"echo 0 >{PERF}/run")
    # before it has begun, ntb_perf would wait for a peer for ever
    s.sim.wait_until(lambda stats: stats["devices"]["ntb0.b"]["window_bytes_in"] > before)
    downs = s.sim.counters("ntb0.a")["link_downs"]
    s.pair.kill("b")
    s.sim.wait_until(lambda stats: stats["devices"]["ntb0.a"]["link_downs"] == downs + 1)
    running.wait(30)
    s.pair.run("a", "rmmod ntb_perf", 30)
    check(not s.sim.carries(), "the link carries without a peer")
    s.pair.restart("b")
    s.load("b")
    equal(s.sim.counters("ntb0.b")["connections"], 2, "connections of b's NTB")
    s.tool()
    equal(s.text("b", f"cat {TOOL}/spad3"), "0x0", "a scratchpad of the new b")
    for name in s.pair.vms:
        s.window(name)
        s.pair.run(OTHER[name], f"printf 'to the new' >{TOOL}/peer0/peer_mw0")
        equal(s.text(name, f"head -c 10 {TOOL}/peer0/mw0"), "to the new", f"what came to {name}")
    equal(s.dmatest("b"), (4, 0), "threads and failures on the new b")


@case(60)
def unload(s):
    """the drivers are removed and loaded again"""
    s.both("rmmod ntb_hw_intel ntb ioatdma")
    s.load()
    s.tool()
    s.clean()
    equal(s.dmatest("a"), (4, 0), "threads and failures")


@case(60)
def foreign(s):
    """the engine reads memory of another device, the CMB of a disk, which QEMU does not map for it"""
    s.both("rmmod ioatdma")
    grown = s.grown("dma.a", lambda: equal(s.text("a", f"engine {ENGINE} {DISK} 2"), "65536 bytes", "engine"))
    s.load()
    equal((grown["foreign_bytes"], grown["dma_bytes"], grown["descriptors"]), (65536, 65536, 16), "bytes and descriptors")
    equal(s.dmatest("a"), (4, 0), "threads and failures")


def build_guest(name, logs):
    """Build a program with which a guest accesses devices directly."""
    program = os.path.join(vm.BUILD, "ntbsim", name)
    source = os.path.join(vm.HERE, "ntbsim", "guest", f"{name}.c")
    os.makedirs(os.path.dirname(program), exist_ok=True)
    with open(os.path.join(logs, f"{name}.log"), "wb") as log:
        if subprocess.run(["gcc", "-static", "-O2", "-Wall", "-Werror", "-o", program, source],
                          stdout=log, stderr=log, check=False).returncode != 0:
            raise vm.VmError(f"{name} does not build, see {logs}/{name}.log")
    return program


def run_series(series, verdict, wanted):
    """Run all cases on one kernel, on one pair; a broken pair ends the series."""
    logs = os.path.join(vm.BUILD, f"vm-{series}", "ntb")
    os.makedirs(logs, exist_ok=True)
    verdict.progress.during("looking for what it needs", [os.path.join(vm.HERE, "need")], os.path.join(logs, "need.log"))
    verdict.progress(f"{series}: the kernel's modules for NTBs")
    ko = vm.script("stock-modules", series)
    with vm.Pair(series, logs, ko=ko, programs=[build_guest(name, logs) for name in ("poke", "engine")], modules=["ioatdma"],
                 qemu_extra=WITH_CMB,
                 append="iomem=relaxed", devices=ntbsim.Ntbsim(links=LINKS, bar2=SIZE, bar4=SIZE),
                 progress=verdict.progress) as pair:
        bed = Bed(pair)
        for function, budget in CASES:
            # the first one loads the drivers for all
            if wanted and wanted not in function.__name__ and function is not probe:
                continue
            if not verdict.case(series, function, budget, bed) and not usable(pair):
                verdict.say(series, "the cases after that", 0, "a machine is broken")
                return


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series", nargs="+", help="6.1, 6.12")
    parser.add_argument("-k", dest="wanted", default="", metavar="WORD",
                        help="only cases with this word in their name")
    opts = parser.parse_args()
    verdict = Verdict(vm.Progress())
    return closing(verdict, opts.series, lambda series: run_series(series, verdict, opts.wanted),
                   "the two machines and their NTBs")


if __name__ == "__main__":
    sys.exit(main())
