# SPDX-License-Identifier: GPL-2.0
"""What the CPUs of a machine cost each other, counted by a plugin of the emulator (executed/lines.c)

    with lines.machine("6.12", logs, ko, cpus=8) as pair:
        symbols = lines.symbols_of(pair)
        load, stop = "fio ... & echo running; wait", "killall -9 fio"
        counts = lines.counted(pair, symbols, load, stop, symbols.find("aio_complete_rw"), 800)
        counts.summary()

An *event* is a line that moves to the CPU that accesses it from the one that had written it, or a write that takes copies of a line
from other CPUs.

How it is counted:

- One thread of the emulator runs all CPUs in turns, and one nanosecond of the machine's clock is one instruction of all of them
  together. So load of the host changes nothing.
- Turns are short while it counts, or no two CPUs would meet at a line. The emulator lets a CPU run until the machine's next timer,
  divided by the number of CPUs, so a timer is added: a filter-buffer of the network device. A turn ends behind any instruction,
  because each is a block of its own then.
- A machine that is idle, or writes to its console, waits for other threads of the emulator, in short turns for very long. So these
  begin behind the start of the load, and end before it.
"""

import bisect
import collections
import re
import socket
import time

import executed
import pair as vm

PATIENCE = 900    # seconds
TURN = 1000       # instructions
FINE = "one-insn-per-tb on", "object_add filter-buffer,id=fine,netdev=net0,interval={}"
COARSE = "object_del fine", "one-insn-per-tb off"
# What is counted by calls of functions
CALLS = {name: re.compile(pattern) for name, pattern in {
    "switches": r"__switch_to_asm",
    "wakeups": r"try_to_wake_up",
    "IPIs": r"asm_sysvec_(reschedule_ipi|call_function(_single)?)",
    "lock waits": r"(native_|__pv_)?queued_spin_lock_slowpath|queued_(read|write)_lock_slowpath|__mutex_lock\S*|rwsem_down_\S+",
}.items()}
PAYLOAD = re.compile(r"copy|memcpy|memmove|memset|rep_movs|clear_page|csum")
OWN = re.compile(r"kfi|nvmet?_kfi")       # modules


class Lines(executed.Executed):
    """The plugin in each machine"""

    program = "lines"

    def records(self, name, at, learn, count):
        """Count during so many calls of the function at @at. Yield the letters and numbers of the answer."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(PATIENCE)
            sock.connect(self.socket(name))
            sock.sendall(f"{at:x} {learn} {count}\n".encode())
            for line in sock.makefile(encoding="ascii"):
                kind, *words = line.split()
                yield kind, [int(word, 16) for word in words]


class Symbols(executed.Symbols):
    """The functions of a machine, to be found by name, too"""

    def find(self, function, module="kernel"):
        return self.places[self.names.index((function, module))]

    def is_own(self, at):
        return OWN.match(self.of(at)[1]) is not None

    def name(self, at):
        function, module = self.of(at)
        return function if module in ("kernel", "processes") else f"{function} [{module}]"

    def place(self, at):
        """Return the function and the offset in it."""
        offset = f"+{at - self.places[bisect.bisect(self.places, at) - 1]:#x}" if at != executed.PROCESSES else ""
        return self.name(at) + offset


Flow = collections.namedtuple("Flow", "line at to source reads writes takes")


class Counts:
    """What was counted during a number of operations"""

    def __init__(self, records, symbols, ops):
        self.symbols, self.ops = symbols, ops
        self.instructions, self.busy, self.atomics = collections.Counter(), collections.Counter(), collections.Counter()
        self.flows, self.lost, self.first = [], 0, 0
        for kind, words in records:
            if kind == "T":
                self.first = words[1]
            elif kind == "I":
                at, cpu, times = words
                self.instructions[at] += times
                self.busy[cpu] += times if at != executed.PROCESSES else 0
            elif kind == "A":
                self.atomics[words[0]] += words[1]
            elif kind == "L":
                self.flows.append(Flow(*words))
            elif kind == "E":
                self.lost, = words

    def events(self, key, wanted=lambda flow: True):
        """Return the events of an operation by a key of their flow."""
        found = collections.Counter()
        for flow in filter(wanted, self.flows):
            found[key(flow)] += (flow.reads + flow.writes + flow.takes) / self.ops
        return found

    def own(self, flow):
        return self.symbols.is_own(flow.to)

    def own_lines(self):
        """Return the events of lines that kfabric's functions get, by line."""
        return self.events(lambda flow: flow.line, self.own)

    def summary(self):
        """Return the figures of an operation. Programs are left out, but for what their lines cost."""
        figures = {
            "instructions": sum(self.busy.values()),
            "of busiest CPU": max(self.busy.values()),
            "instructions, own": sum(n for at, n in self.instructions.items() if self.symbols.is_own(at)),
            "lines moved": sum(flow.reads + flow.writes for flow in self.flows),
            "of payload": sum(flow.reads + flow.writes for flow in self.flows if PAYLOAD.search(self.symbols.of(flow.to)[0])),
            "lines taken": sum(flow.takes for flow in self.flows),
            "moved, own": sum(flow.reads + flow.writes for flow in self.flows if self.own(flow)),
            "taken, own": sum(flow.takes for flow in self.flows if self.own(flow)),
            "lines new": self.first,
            "atomics": sum(self.atomics.values()),
            "atomics, own": sum(n for at, n in self.atomics.items() if self.symbols.is_own(at)),
        }
        starts = [(at, self.symbols.of(at)[0]) for at in self.symbols.places if at in self.instructions]
        for what, pattern in CALLS.items():
            figures[what] = sum(self.instructions[at] for at, name in starts if pattern.fullmatch(name))
        return {what: count / self.ops for what, count in figures.items()}

    def places(self, line):
        """Return the events of a line, by its offset, the instruction that gets it, and the one that has written it."""
        def place(flow):
            return f"+{flow.at & 63:<3} {self.symbols.place(flow.to)} <- {self.symbols.place(flow.source)}"
        return self.events(place, lambda flow: flow.line == line)

    def by_name(self, counts, name):
        found = collections.Counter()
        for at, count in counts.items():
            found[name(at)] += count / self.ops
        return found

    def report(self, out, most=40):
        """Write what the figures of an operation consist of."""
        def table(title, rows):
            out.write(f"\n{title}\n" + "".join(f"{count:10.3f}  {name}\n" for name, count in rows.most_common(most)))

        def lines(title, rows):
            out.write(f"\n{title}: the places that get them, <- the last that has written them\n")
            for line, count in rows.most_common(most):
                out.write(f"{count:10.3f}  {line * 64:#x}\n")
                out.write("".join(f"{events:20.3f}  {place}\n" for place, events in self.places(line).most_common(8)))

        name = self.symbols.name
        table("instructions by module", self.by_name(self.instructions, lambda at: self.symbols.of(at)[1]))
        table("instructions by function", self.by_name(self.instructions, name))
        table("events by module that gets the line", self.events(lambda flow: self.symbols.of(flow.to)[1]))
        table("events by function that gets the line", self.events(lambda flow: name(flow.to)))
        table("events by function, and the one that had written the line",
              self.events(lambda flow: f"{name(flow.to)} <- {name(flow.source)}"))
        table("atomics by function", self.by_name(self.atomics, name))
        lines("lines by events in functions of kfabric", self.own_lines())
        lines("all lines by events", self.events(lambda flow: flow.line))
        out.write(f"\n{self.lost} events were not attributed\n")


def machine(series, logs, ko, **options):
    """Return a machine that counts. Its CPUs are one thread's, the only one that counts instructions, and whose turns are short."""
    pair = vm.Pair(series, logs, ko=ko, names=("a",), devices=Lines(), boot_timeout=PATIENCE, append=executed.CLOCK,
                   qemu_extra=[*executed.COUNTING, *options.pop("extra", ())], **options)
    pair.accel = "tcg,thread=single"
    return pair


def symbols_of(pair):
    """Return the functions, to be read again after a module was loaded."""
    return Symbols(pair.run("a", "grep -E ' [tTwW] ' /proc/kallsyms", PATIENCE).text)


def monitor(pair, *commands):
    for command in commands:
        pair.vms["a"].monitor.sendall(command.encode() + b"\n")


def counted(pair, symbols, load, stop, at, ops):
    """Run a load, and return what @ops operations of it cost, each of which calls the function at @at. Half as many are watched
    before. The load says "running" when it is, and the command @stop ends it."""
    job = pair.spawn("a", load)
    end = time.monotonic() + PATIENCE
    while "running" not in job.output():
        if job.result or time.monotonic() > end:
            raise vm.Failed(f"{job} does not run:\n{job.output()}")
        time.sleep(0.1)
    monitor(pair, FINE[0], FINE[1].format(max(1, pair.cpus * TURN // 1000)))
    try:
        records = list(pair.devices.records("a", at, ops // 2, ops))
    except OSError as error:
        raise vm.TimedOut(f"{job}: not {ops} operations: {error}") from None
    monitor(pair, *COARSE)
    pair.run("a", stop, PATIENCE)
    job.wait(PATIENCE)
    return Counts(records, symbols, ops)
