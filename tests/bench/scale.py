# SPDX-License-Identifier: GPL-2.0
"""What a second CPU is worth: eight connections at once on one CPU and on two.

A uniprocessor kernel can't tell, so this runs in an emulated machine of a stock kernel with two CPUs, one of which is
taken off line and put back in turns. Only the quotient means anything there. Where CPUs wait for each other's locks is
counted in runs of its own.
"""

import collections
import os
import re
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "vm"))
import bed               # noqa: E402
import pair as vm        # noqa: E402

SERIES = "6.12"
CASE = "scale"
MODULES = ("kfi", "kfi_loop", "kfi_sockets", "kfi_bench_tcp")
RUN = "/sys/kernel/debug/kfi_bench/run"
SECOND = "/sys/devices/system/cpu/cpu1/online"
TRACING = "/sys/kernel/tracing"
TRACE_MS = 200
PLACES = 4      # shown of each variant
# A spinlock that is not free: entered by every wait. Mutexes and the like have an event, which spinlocks have only from the
# third CPU on.
SPIN = "native_queued_spin_lock_slowpath"
EVENT = re.compile(SPIN + r" <-|: contention_begin:.*flags=(?!SPIN)")
# What a stack has on top of the place that waits.
LOCKING = re.compile(r"^\[|ftrace|contention|spin_|mutex_|rwsem|rtmutex|^_raw_|lock_slow|queued_|^down_|^trace_|event_trigger|^__?bpf")


def load(pair):
    pair.run("a", bed.TWO_NODES)
    place = "/lib/modules/$(uname -r)/extra"
    for name in MODULES:
        pair.run("a", f"insmod {place}/{name}.ko")
    pair.run("a", f"""
        exec 7</run/netns/ca 8</run/netns/cb
        insmod {place}/kfi_bench.ko net_a=7 net_b=8 addr_a=10.78.0.1 addr_b=10.78.0.2""")


def variants(pair):
    """Their names, in the order of cases.c: a run of a round tells."""
    text = measure(pair, "", 10)
    return [line.split()[1] for line in text.splitlines() if line.startswith("variant")]


def measure(pair, variant, ms):
    name = f"{CASE}/{variant}" if variant else CASE
    return pair.run("a", f"echo '{name} 1 {ms} wall' >{RUN} && cat {RUN}", timeout=120).text


def rounds_of(pair, count, ms, said):
    """Lines like kfi_bench's own, names with the number of CPUs behind them."""
    lines = {}
    for number in range(count):
        for cpus in ((1, 2), (2, 1))[number % 2]:
            pair.run("a", f"echo {cpus - 1} >{SECOND}")
            for line in measure(pair, "", ms).splitlines():
                word = line.split()
                if word[0] == "variant":
                    lines[f"variant {word[1]}-{cpus} {word[2]} {word[3]}"] = None
                elif word[0] == "failed":
                    lines[f"failed {word[1]}-{cpus} {word[2]}"] = None
                else:
                    lines[f"{word[0]}-{cpus} {number} {word[2]} {word[3]}"] = None
        said(f"round {number + 1} of {count}, on one CPU and on two")
    pair.run("a", f"echo 1 >{SECOND}")
    return list(lines)


def trace(pair, variant):
    """Every wait for a lock in one run on two CPUs, and how many operations that had."""
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
        echo '{CASE}/{variant} 1 {TRACE_MS} wall' >{RUN}
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
    ops = sum(int(line.split()[2]) for line in runs.splitlines() if line.startswith(f"{variant} "))
    return ops, events


def contention(events):
    """How often somebody waited, by the function that wanted the lock."""
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


def run(out, runs, rounds, ms):
    """Measure; runs/scale.txt and contention.txt. The lines of the latter; raises vm.VmError."""
    logs = os.path.join(out, "scale")
    progress = vm.Progress()
    progress.during(f"{SERIES}: looking for what it needs", [os.path.join(vm.HERE, "need")], os.path.join(logs, "need.log"))
    progress.during(f"{SERIES}: building the modules", [os.path.join(vm.HERE, "modules"), SERIES, "KFI_BENCH=y"],
                    os.path.join(logs, "modules.log"))
    ko = os.path.join(vm.BUILD, f"vm-{SERIES}", "ko")
    with vm.Pair(SERIES, logs, ko=ko, progress=progress, names=("a",), memory="1G") as pair:
        load(pair)
        names = variants(pair)
        lines = rounds_of(pair, rounds, ms, progress)
        (runs / f"{CASE}.txt").write_text("\n".join(lines) + "\n")
        told = []
        for name in names:
            progress(f"lock contention: {name}")
            ops, events = trace(pair, name)
            with open(os.path.join(logs, f"{name}.trace"), "w", encoding="utf-8") as file:
                file.write(events)
            told += contention_lines(name, ops, contention(events))
        pair.run("a", "rmmod kfi_bench kfi_bench_tcp kfi_sockets kfi_loop kfi")
        pair.check_logs()
    (out / "contention.txt").write_text("\n".join(told) + "\n")
    return told
