# SPDX-License-Identifier: GPL-2.0
"""The gain of a second CPU: eight connections at once on one CPU and on two, and four over a bridge

User Mode Linux has one CPU, so this runs in an emulated machine of a stock kernel with two CPUs,
one of which is taken off line and put back in turns. Only the quotient is valid there. Waits for
locks are counted in separate runs.

Two emulated CPUs that do not run at the same time wait for each other in vain: so a run during
which the host had no CPU for one of them does not count, whatever its result, and is repeated.
"""

import collections
import glob
import os
import re
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "vm"))
import bed               # noqa: E402
import pair as vm        # noqa: E402

PLACE = "/lib/modules/$(uname -r)/extra"
NODES = """
    for ko in kfi kfi_loop kfi_sockets kfi_bench_tcp; do insmod {place}/$ko.ko; done
    exec 7</run/netns/ca 8</run/netns/cb
    insmod {place}/kfi_bench.ko net_a=7 net_b=8 addr_a=10.78.0.1 addr_b=10.78.0.2""".format(place=PLACE)
# The mock is of the newest kernel. Its interrupts come on the CPU that has rung the doorbell.
BRIDGE = """
    modprobe -a kfi_loop kfi_sockets kfi_bench_tcp
    modprobe kfi_ntb_mock inline_irqs=1
    modprobe kfi_ntb queues=4
    exec 7</run/netns/ca 8</run/netns/cb
    insmod {place}/kfi_bench.ko net_a=7 net_b=8 bridge_a=mock0.0 bridge_b=mock0.1""".format(place=PLACE)
# case: series, arguments of make, how modules are loaded, and in which order they are removed
CASES = {
    "scale": ("6.12", [], NODES, "kfi_bench kfi_bench_tcp kfi_sockets kfi_loop kfi"),
    "queues": ("7.2", ["KFI_MOCK=y"], BRIDGE, "kfi_bench kfi_bench_tcp kfi_ntb kfi_ntb_mock kfi_sockets kfi_loop kfi"),
}
RUN = "/sys/kernel/debug/kfi_bench/run"
SECOND = "/sys/devices/system/cpu/cpu1/online"
TRACING = "/sys/kernel/tracing"
TRACE_MS = 200
PLACES = 4      # shown of each variant
WAITED = 0.25   # of the time of a run, all threads together: more makes it void. 0.19 at most on an idle host of two CPUs
PATIENCE = 900  # seconds until what is missing is given up
# A spinlock that is not free: every wait enters this function. Other locks have an event, which
# spinlocks have only with more than two CPUs.
SPIN = "native_queued_spin_lock_slowpath"
EVENT = re.compile(SPIN + r" <-|: contention_begin:.*flags=(?!SPIN)")
# Functions in a stack above the place that waits
LOCKING = re.compile(r"^\[|ftrace|contention|spin_|mutex_|rwsem|rtmutex|^_raw_|lock_slow|queued_|^down_|^trace_|event_trigger|^__?bpf")


def variants(pair, case):
    """Return the names, in the order of cases.c, from a run of one round."""
    text = measure(pair, case, 10)
    return [f"{case}/{line.split()[1]}" for line in text.splitlines() if line.startswith("variant")]


def measure(pair, name, ms):
    """Run a case, or CASE/VARIANT."""
    return pair.run("a", f"echo '{name} 1 {ms} wall' >{RUN} && cat {RUN}", timeout=120).text


def waited(pair):
    """Return the seconds for which threads of the machine were runnable and had no CPU of the host.
    """
    nanoseconds = 0
    for path in glob.glob(f"/proc/{pair.vms['a'].process.pid}/task/*/schedstat"):
        with open(path, encoding="ascii") as file:
            nanoseconds += int(file.read().split()[1])
    return nanoseconds / 1e9


def undisturbed(pair, variant, ms):
    """Return the output of a run, or None if it was disturbed."""
    start, before = time.monotonic(), waited(pair)
    text = measure(pair, variant, ms)
    return text if waited(pair) - before < WAITED * (time.monotonic() - start) else None


def numbered(text, cpus, number):
    """Yield lines of kfi_bench with the number of CPUs appended to names."""
    for line in text.splitlines():
        word = line.split()
        if word[0] in ("variant", "failed"):
            yield " ".join([word[0], f"{word[1]}-{cpus}"] + word[2:])
        else:
            yield f"{word[0]}-{cpus} {number} {word[2]} {word[3]}"


def round_of(pair, names, number, ms):
    """Run each variant on one CPU and on two. Return lines of those that were not disturbed."""
    texts = {name: [] for name in names}
    for cpus in ((1, 2), (2, 1))[number % 2]:
        pair.run("a", f"echo {cpus - 1} >{SECOND}")
        for name in names:
            text = undisturbed(pair, name, ms)
            texts[name] += numbered(text, cpus, number) if text else [None]
    return {name: lines for name, lines in texts.items() if None not in lines}


def rounds_of(pair, names, count, ms, said):
    """Run rounds until each variant has @count, or the host stays busy for too long."""
    lines, left = {}, dict.fromkeys(names, count)
    number, end = 0, time.monotonic() + PATIENCE
    while left and time.monotonic() < end:
        for name, new in round_of(pair, list(left), number, ms).items():
            lines.update(dict.fromkeys(new))
            left[name] -= 1
        left = {name: more for name, more in left.items() if more}
        number += 1
        said(f"round {number}, on one CPU and on two; disturbed: {sum(left.values()) - len(left) * max(0, count - number)}")
    if left:
        said("the host is too busy, not enough undisturbed runs of " + ", ".join(left))
    pair.run("a", f"echo 1 >{SECOND}")
    return list(lines)


def trace(pair, variant):
    """Return every wait for a lock in one run on two CPUs, and the number of operations."""
    pair.run("a", f"""
        echo 0 >{SECOND}        # the kernel patches itself: see guest-init
        cd {TRACING}
        echo 32768 >buffer_size_kb
        echo {SPIN} >set_ftrace_filter
        echo 1 >options/func_stack_trace
        echo 0 >tracing_on
        echo function >current_tracer
        echo stacktrace >events/lock/contention_begin/trigger
        echo 1 >events/lock/contention_begin/enable
        echo 1 >{SECOND}
        echo >trace""")
    done = pair.run("a", f"""
        echo 1 >{TRACING}/tracing_on
        echo '{variant} 1 {TRACE_MS} wall' >{RUN}
        echo 0 >{TRACING}/tracing_on
        cat {RUN}
        echo ==
        cat {TRACING}/trace""", timeout=240)
    pair.run("a", f"""
        echo 0 >{SECOND}
        cd {TRACING}
        echo 0 >events/lock/contention_begin/enable
        echo '!stacktrace' >events/lock/contention_begin/trigger
        echo nop >current_tracer
        echo >set_ftrace_filter
        echo 1 >{SECOND}""")
    runs, _, events = done.text.partition("==\n")
    ops = sum(int(line.split()[2]) for line in runs.splitlines() if line.startswith(f"{os.path.basename(variant)} "))
    return ops, events


def contention(events):
    """Return the number of waits for each function that wanted a lock."""
    waits = collections.Counter()
    open_event = False
    for line in events.splitlines():
        if EVENT.search(line):
            open_event = True
        elif open_event and line.startswith(" =>"):
            name = line.split()[1].split("+")[0]
            if not LOCKING.search(name):
                waits[name] += 1
                open_event = False
    return waits


def contention_lines(variant, ops, waits):
    yield f"{variant:16} {sum(waits.values())} waits for locks in {ops} operations"
    for place, count in waits.most_common(PLACES):
        yield f"{'':16} {count:6} in {place}"


def run(case, out, runs, rounds, ms):
    """Measure; write runs/CASE.txt and contention-CASE.txt. Return the lines of the latter."""
    series, arguments, load, unload = CASES[case]
    logs = os.path.join(out, case)
    progress = vm.Progress()
    progress.during(f"{series}: looking for what it needs", [os.path.join(vm.HERE, "need")], os.path.join(logs, "need.log"))
    progress.during(f"{series}: building the modules", [os.path.join(vm.HERE, "modules"), series, "KFI_BENCH=y", *arguments],
                    os.path.join(logs, "modules.log"))
    ko = [os.path.join(vm.BUILD, f"vm-{series}", "ko"), vm.script("stock-modules", series)]
    with vm.Pair(series, logs, ko=ko, progress=progress, names=("a",), memory="1G") as pair:
        pair.run("a", bed.TWO_NODES)
        pair.run("a", load)
        names = variants(pair, case)
        lines = rounds_of(pair, names, rounds, ms, progress)
        (runs / f"{case}.txt").write_text("".join(line + "\n" for line in lines))
        told = []
        for name in names:
            progress(f"lock contention: {name}")
            ops, events = trace(pair, name)
            with open(os.path.join(logs, f"{os.path.basename(name)}.trace"), "w", encoding="utf-8") as file:
                file.write(events)
            told += contention_lines(os.path.basename(name), ops, contention(events))
        pair.run("a", f"rmmod {unload}")
        pair.check_logs()
    (out / f"contention-{case}.txt").write_text("\n".join(told) + "\n")
    return told
