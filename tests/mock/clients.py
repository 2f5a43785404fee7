#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""clients.py MOCK KERNEL [CASE...]: the kernel's clients of NTBs and DMA engines on kfi_ntb_mock.

Runs in User Mode Linux. MOCK is the module, KERNEL the build directory with the clients. Counters
must be exact. Writes KTAP to stdout.
"""

import contextlib
import re
import subprocess
import sys
import time

DEBUG = "/sys/kernel/debug"
SIZE = 1 << 20          # of a window
PERF_TRIES, PERF_HANDSHAKE = 4, 15
CASES = []


class Failed(Exception):
    """A check has failed; the text says which."""


def case(function):
    CASES.append(function)
    return function


def check(truth, what):
    if not truth:
        raise Failed(what)


def equal(got, want, what):
    check(got == want, f"{what}: {got} instead of {want}")


def sh(command, timeout=60):
    """Return the output of a command. Some debugfs files end lines with a zero byte."""
    try:
        done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"takes longer than {timeout} s: {command}") from error
    text = done.stdout.decode(errors="replace").replace("\0", "").strip()
    check(done.returncode == 0, f"'{command}' ends with {done.returncode}: {text}")
    return text


def until(what, condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, f"not within {seconds} s: {what}")
        time.sleep(0.05)


def command(line):
    with open(f"{DEBUG}/kfi_ntb_mock/control", "w", encoding="ascii") as control:
        control.write(line)


def stats():
    """Return the counters of each object, by names like "end 0.1"."""
    found = {}
    with open(f"{DEBUG}/kfi_ntb_mock/stats", encoding="ascii") as file:
        for line in file:
            words = line.split()
            found[" ".join(words[:2])] = dict(zip(words[2::2], map(int, words[3::2])))
    return found


def grown(function):
    """Return what function() adds to each counter."""
    before = stats()
    function()
    return {name: {key: value - before[name][key] for key, value in counters.items()} for name, counters in stats().items()}


def engine(counters, key):
    """Return the sum over all channels."""
    return sum(values[key] for name, values in counters.items() if name.startswith("dma "))


def module_path(name):
    return sh(f"find {KERNEL}/drivers/ntb {KERNEL}/drivers/dma {KERNEL}/drivers/net -name {name}.ko")


@contextlib.contextmanager
def loaded(*modules):
    """Load modules with parameters, as "name key=value", and remove them at the end."""
    names = []
    try:
        for module in modules:
            name, _, parameters = module.partition(" ")
            path = MOCK if name == "kfi_ntb_mock" else module_path(name)
            sh(f"insmod {path} {parameters}")
            names.insert(0, name)
        yield
    finally:
        for name in names:
            sh(f"rmmod {name}")


def mock(parameters=""):
    return f"kfi_ntb_mock window_kib={SIZE // 1024} {parameters}"


@contextlib.contextmanager
def tools(parameters=""):
    """Load ntb_tool on both ends and bring the link up. Yield the directories of its files.

    Its windows are closed before it is removed, because it would remove their files twice.
    """
    with loaded(mock(parameters), "ntb_tool"):
        a, b = (f"{DEBUG}/ntb_tool/mock0.{port}" for port in (0, 1))
        sh(f"echo Y > {a}/link; echo Y > {b}/link; echo Y > {a}/peer0/link_event; echo Y > {b}/peer0/link_event")
        yield a, b
        sh(f"for d in {a} {b}; do echo 0:0 > $d/peer0/peer_mw_trans0; echo 0 > $d/peer0/mw_trans0; done")


@case
def probe():
    """devices, ports and channels; five times loaded and removed"""
    for count in range(5):
        with loaded(mock(f"bridges={1 + count % 4} channels={count}")):
            names = sh("ls /sys/bus/ntb/devices").split()
            equal(names, [f"mock{n}.{port}" for n in range(1 + count % 4) for port in (0, 1)], "devices")
            equal(len(sh("ls /sys/class/dma").split()), count, "channels")


@case
def parameters():
    """invalid parameters are refused, and leave nothing"""
    for bad in ("bridges=0", "bridges=5", "windows=0", "windows=5", "window_kib=3", "window_kib=2", "window_kib=32768",
                "align_kib=3", "align_kib=1", "vectors=2", "channels=17", "ring=0"):
        sh(f"! insmod {MOCK} {bad}")
    with loaded(mock("bridges=4 windows=4 window_kib=16384 align_kib=4 vectors=1")):
        pass


@case
def pingpong():
    """ntb_pingpong runs, with all vectors and with one"""
    for vectors in (31, 1):
        with loaded(mock(f"vectors={vectors} delay_ms=20"), "ntb_pingpong delay_ms=1"):
            for port in (0, 1):
                until("50 rounds", lambda p=port: int(sh(f"cat {DEBUG}/ntb_pingpong/mock0.{p}/count")) >= 50)


@case
def removed_under_pingpong():
    """devices are removed while their client runs and the link flaps"""
    with loaded(mock(), "ntb_pingpong delay_ms=1"):
        command("link 0 flap 20 3 7")
        command("end 0.1 kill")
        command("end 0.1 revive")
        until("a round", lambda: int(sh(f"cat {DEBUG}/ntb_pingpong/mock0.1/count")) >= 10)
        sh("rmmod kfi_ntb_mock")
        equal(sh("ls /sys/bus/ntb/devices"), "", "devices left")
        sh(f"insmod {MOCK}")


@case
def scratchpads():
    """ntb_tool: every scratchpad, in both directions; each access is one register access"""
    with tools() as (a, b):
        def write():
            for n in range(16):
                sh(f"echo {n + 1} > {a}/peer0/spad{n}; echo {n + 0x101} > {b}/peer0/spad{n}")
        more = grown(write)
        for end in ("end 0.0", "end 0.1"):
            equal((more[end]["reg_writes"], more[end]["reg_reads"]), (16, 0), f"{end}: writes, reads")
        for n in range(16):
            equal(int(sh(f"cat {b}/spad{n}"), 0), n + 1, f"scratchpad {n}")
            equal(int(sh(f"cat {a}/spad{n}"), 0), n + 0x101, f"scratchpad {n} the other way")


@case
def doorbells():
    """ntb_tool: a doorbell interrupts once until it is cleared; a masked one when it is unmasked"""
    with tools() as (a, b):
        def irqs(text):
            return grown(lambda: (sh(text), time.sleep(0.2)))["end 0.1"]["bell_irqs"]
        sh(f"echo 'c 0x7fffffff' > {b}/db; echo 'c 0x7' > {b}/db_mask")
        equal(irqs(f"echo 's 1' > {a}/peer_db"), 1, "interrupts of a doorbell")
        equal(irqs(f"echo 's 1' > {a}/peer_db"), 0, "interrupts of one that is pending")
        equal(irqs(f"echo 'c 1' > {b}/db; echo 's 3' > {a}/peer_db"), 2, "interrupts of two")
        equal(irqs(f"echo 's 8' > {a}/peer_db"), 0, "interrupts of one that is masked")
        equal(irqs(f"echo 'c 8' > {b}/db_mask"), 1, "interrupts when it no longer is")
        equal(int(sh(f"cat {b}/db"), 0), 0xb, "doorbells")


@case
def windows():
    """ntb_tool: a write to a window arrives at the peer; one to a closed window is dropped"""
    with tools() as (a, b):
        sh(f"echo 0:{SIZE} > {a}/peer0/peer_mw_trans0")
        more = grown(lambda: sh(f"echo nobody > {a}/peer0/peer_mw0"))
        check(more["end 0.0"]["lost_closed"] >= 1, "not counted as lost")
        sh(f"echo {SIZE} > {b}/peer0/mw_trans0; head -c {SIZE} /dev/urandom > /tmp/in")
        more = grown(lambda: sh(f"dd if=/tmp/in of={a}/peer0/peer_mw0 bs=64k 2>&1"))
        equal(more["end 0.0"]["cpu_bytes"], SIZE, "bytes stored")
        equal(more["end 0.0"]["cpu_reads"], 0, "reads")
        sh(f"dd if={b}/peer0/mw0 of=/tmp/out bs=64k 2>&1; cmp /tmp/in /tmp/out")
        sh(f"dd if={a}/peer0/peer_mw0 of=/tmp/out bs=64k 2>&1; cmp /tmp/in /tmp/out")
        check(stats()["end 0.0"]["cpu_reads"] >= 16, "reads are not counted")


@case
def link():
    """the link: held down and released, training, and that both ends must enable it"""
    with tools() as (a, b):
        more = grown(lambda: (command("link 0 down"), sh(f"for d in {a} {b}; do echo N > $d/peer0/link_event; done")))
        equal((more["end 0.0"]["link_irqs"], more["end 0.1"]["link_irqs"]), (1, 1), "link interrupts")
        equal(int(sh(f"cat {a}/peer0/spad0"), 0), 0xffffffff, "a scratchpad behind a dead link")
        command("link 0 up")
        sh(f"for d in {a} {b}; do echo Y > $d/peer0/link_event; done")
        sh(f"echo N > {a}/link; for d in {a} {b}; do echo N > $d/peer0/link_event; done")
        command("link 0 delay 700")
        start = time.monotonic()
        sh(f"echo Y > {a}/link; for d in {a} {b}; do echo Y > $d/peer0/link_event; done")
        check(time.monotonic() - start >= 0.7, "up before its time")


@case
def second_link():
    """two bridges do not affect each other"""
    with loaded(mock("bridges=2 delay_ms=20"), "ntb_pingpong delay_ms=1"):
        until("rounds on the second", lambda: int(sh(f"cat {DEBUG}/ntb_pingpong/mock1.0/count")) >= 10)
        more = grown(lambda: (command("link 0 down"), time.sleep(1)))
        check(more["end 1.0"]["bells_rung"] >= 5, "the second stands still")
        equal(more["end 1.0"]["link_irqs"], 0, "link interrupts of the second")
        equal(more["end 0.0"]["link_irqs"], 1, "link interrupts of the first")


def perf_run(port, timeout=60):
    """Run a test of ntb_perf to its peer. Return the bytes that it has copied."""
    run = f"{DEBUG}/ntb_perf/mock0.{port}/run"
    sh(f"echo 0 > {run}", timeout)
    text = sh(f"cat {run}")
    found = re.search(r"0: copied (\d+) bytes", text)
    check(found, f"ntb_perf says {text}")
    return int(found.group(1))


def perf_ready():
    """Have both ends exchanged their windows?

    The link must be up when a command comes (perf_spad_cmd_recv).
    """
    for attempt in range(PERF_TRIES):
        try:
            return perf_run(0, PERF_HANDSHAKE)
        except Failed:
            if attempt + 1 == PERF_TRIES:
                raise
            command("link 0 flap 1 100 1000")


@case
def perf_dma():
    """ntb_perf with DMA: its bytes arrive, by as many copies as it requests"""
    with loaded(mock("delay_ms=50"), "ntb_perf use_dma=1 total_order=23 chunk_order=19"):
        perf_ready()
        copied = []
        more = grown(lambda: copied.append(perf_run(0)))
        equal(copied[0], 1 << 23, "bytes that ntb_perf says")
        equal((engine(more, "copies"), engine(more, "bytes")), (16, 1 << 23), "copies, bytes")
        equal((more["end 0.0"]["dma_writes"], more["end 0.0"]["dma_bytes"]), (16 * (1 << 19 - 16), 1 << 23), "bytes into the window")
        equal(sum(more["end 0.0"][key] for key in ("cpu_writes", "cpu_reads", "dma_reads", "lost_dead", "lost_closed")), 0,
              "stores, reads, losses")
        equal(perf_run(1), 1 << 23, "bytes the other way")


@case
def perf_cpu():
    """ntb_perf without DMA"""
    with loaded(mock("delay_ms=50"), "ntb_perf use_dma=0 total_order=20 chunk_order=16"):
        perf_ready()
        more = grown(lambda: equal(perf_run(1), 1 << 20, "bytes"))
        equal((more["end 0.1"]["cpu_bytes"], engine(more, "copies")), (1 << 20, 0), "bytes stored, copies")


@case
def perf_stuck():
    """a link that seems up and drops all writes: DMA completes, and nothing has arrived"""
    with loaded(mock("delay_ms=50"), "ntb_perf use_dma=1 total_order=20 chunk_order=16"):
        perf_ready()
        command("link 0 stuck on")
        command("link 0 down")
        more = grown(lambda: equal(perf_run(0), 1 << 20, "bytes"))
        check(more["end 0.0"]["lost_dead"] > 0 and engine(more, "errors") == 0, "nothing lost")
        command("link 0 stuck off")
        command("link 0 up")


def dmatest(options="", iterations=20, threads=2, channels=8):
    """Run dmatest until all of its threads have ended. Return their failures."""
    sh("dmesg -C")
    with loaded(f"dmatest timeout=20000 iterations={iterations} threads_per_chan={threads} {options} run=1"):
        until("dmatest's end", lambda: int(sh("dmesg | grep -c 'dmatest: .*summary' || :")) == threads * channels)
        found = re.findall(r"summary (\d+) tests, (\d+) failures", sh("dmesg | grep 'dmatest: .*summary'"))
    check(all(int(tests) == iterations for tests, _ in found), f"dmatest says {found}")
    return sum(int(failures) for _, failures in found)


@case
def dmatest_all():
    """dmatest on all channels, two threads each, not polled: that may block the engine's thread"""
    with loaded(mock()):
        more = grown(lambda: equal(dmatest(), 0, "failures"))
        equal(engine(more, "copies"), 2 * 8 * 20, "copies")


@case
def dmatest_faults():
    """dmatest: a failed or omitted copy fails one test; slow copies and lost interrupts none"""
    with loaded(mock()):
        for fault in ("fail-read", "fail-write", "drop"):
            command(f"dma 0 {fault} 10")
            check(dmatest("test_buf_size=4096") >= 1, f"{fault}: no failure")
        equal(dmatest("test_buf_size=4096"), 0, "failures after faults")
        command("dma 1 lose 3")
        command("dma 2 slow 20000")
        more = grown(lambda: equal(dmatest("test_buf_size=4096"), 0, "failures with lost interrupts"))
        equal(engine(more, "lost_irqs"), 3, "interrupts lost")


def both_down():
    return not any(stats()[f"end 0.{port}"]["seen_up"] for port in (0, 1))


@contextlib.contextmanager
def network():
    """Create the network devices of ntb_netdev, one on each node, with addresses.

    ntb_transport has faults: it loses a race if the link comes up at once (hence delay_ms), leaks
    memory of clients that never come (hence one), and is freed before work that a lost link queues
    (hence the link goes down first).
    """
    with loaded(mock("delay_ms=200"), "ntb_transport use_dma=1 copy_bytes=0 max_num_clients=1", "ntb_netdev"):
        sh("ip netns add a; ip netns add b")
        try:
            for port, node in enumerate("ab"):
                put_on_node(port, node)
            until_carrier()
            yield
        finally:
            sh("for n in a b; do ip -n $n link set ntb netns 1 name ntb_$n; ip netns del $n; done")
            command("link 0 down")
            until("both know that it is down", both_down)


def put_on_node(port, node):
    """Move the network device of that end into a namespace."""
    name = sh(f"for d in /sys/class/net/*; do case $(readlink -f $d/device) in */mock0.{port}/*) echo ${{d##*/}};; esac; done")
    check(name, f"mock0.{port} has no network device")
    sh(f"ip link set {name} netns {node} name ntb && ip -n {node} addr add 10.79.0.{port + 1}/24 dev ntb && "
       f"ip -n {node} link set ntb up")


def until_carrier():
    for node in "ab":
        until("carrier", lambda n=node: "LOWER_UP" in sh(f"ip -n {n} link show dev ntb"))


SERVER = """
import socket, sys, hashlib
listener = socket.create_server(("10.79.0.2", 7))
print("there", flush=True)
data = hashlib.sha256()
with listener.accept()[0] as conn:
    while block := conn.recv(65536):
        data.update(block)
print(data.hexdigest())
"""
CLIENT = """
import socket, os, sys, hashlib
data = os.urandom(int(sys.argv[1]))
with socket.create_connection(("10.79.0.2", 7)) as conn:
    conn.sendall(data)
print(hashlib.sha256(data).hexdigest())
"""


def transfer(size):
    """Send random bytes by TCP from a to b and compare them."""
    with subprocess.Popen(["ip", "netns", "exec", "b", "python3", "-c", SERVER], stdout=subprocess.PIPE, text=True) as server:
        equal(server.stdout.readline(), "there\n", "the server says")
        done = subprocess.run(["ip", "netns", "exec", "a", "python3", "-c", CLIENT, str(size)], stdout=subprocess.PIPE,
                              text=True, timeout=60, check=False)
        equal(server.stdout.readline(), done.stdout, "checksum")


@case
def netdev():
    """ntb_transport with DMA and ntb_netdev between two namespaces: packets and a byte stream"""
    with network():
        transfer(1)
        more = grown(lambda: transfer(2 << 20))
        check(more["end 0.0"]["dma_bytes"] > 2 << 20, "the bytes went another way")
        equal(more["end 0.0"]["lost_closed"] + more["end 0.0"]["lost_beyond"], 0, "lost")


def flap(times):
    """Wait for the new state of the link: at the ends, then at the network devices."""
    for _ in range(times):
        command("link 0 down")
        until("both know that it is down", both_down)
        command("link 0 up")
        until("both know that it is up", lambda: all(stats()[f"end 0.{port}"]["seen_up"] for port in (0, 1)))
        until_carrier()


@case
def netdev_flaps():
    """the link goes down three times under ntb_netdev: all notice, and packets pass afterwards"""
    with network():
        more = grown(lambda: flap(3))
        equal((more["end 0.0"]["link_irqs"], more["end 0.1"]["link_irqs"]), (6, 6), "link interrupts")
        transfer(100000)


def run(wanted):
    chosen = [c for c in CASES if not wanted or c.__name__ in wanted]
    failed = 0
    print(f"TAP version 13\n1..{len(chosen)}")
    for number, function in enumerate(chosen, 1):
        start = time.monotonic()
        try:
            function()
            print(f"ok {number} {function.__name__}", flush=True)
        except (Failed, OSError) as error:
            failed += 1
            print(f"# {error}\nnot ok {number} {function.__name__}", flush=True)
        print(f"# {function.__name__}: {time.monotonic() - start:.1f} s", flush=True)
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    MOCK, KERNEL = sys.argv[1:3]
    sys.exit(run(sys.argv[3:]))
