#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""counts.py [-k WORD] [--rounds N] cable|wire|nfs|mirror: kfi_net, kfi_ib, kfi_mirror beside others, by instructions

The others are thunderbolt_net (cable), siw (wire), NFS over TCP (nfs) and DRBD 8.4 (mirror).

Two machines, joined by a cable (usb4sim) or by a wire, over which kfi_sockets and siw use TCP. The emulator counts the
instructions that both machines execute (executed.py): those of the drivers, the network stack, and the programs. Its clock runs by
them, too, so timers do not depend on other load of the host. A stream is counted while it runs. An operation is done a number of times,
and then three times as often; the difference, divided, is its cost without that of programs that start, connect and end. The networks
take turns. But for streams the kernel's instructions are counted alone: programs of verbs measure their clock when they start, and
those of writes poll memory, so that they execute as much as they have time for. With nfs a file of the memory of b is read and written
by a, past the page cache of a, one request after the other. With mirror it is the two mirrors of tests/bench/mirrors.

build/vm-<series>/counts-<network>/results.json has all results, with the functions that the instructions belong to. At the end the
first network is compared with the second by the aims, one a line: the last line is "N passed, N failed", and a missed aim counts as failed. With -k only cases
with that word in their name are counted, and nothing is compared.
"""

import argparse
import collections
import contextlib
import json
import os
import re
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import bed               # noqa: E402
import executed          # noqa: E402
import pair as vm        # noqa: E402
import rdma              # noqa: E402
import usb4sim           # noqa: E402

ROUNDS = 5
LIBS = "/usr/lib/x86_64-linux-gnu/libibverbs/"
PORT = 5000
# A network device and, if there is one, a device of verbs above it, and an address of a machine without its last number
Network = collections.namedtuple("Network", "name device rdma subnet")
ACCEL = "tcg,thread=single"       # the only one whose clock runs by instructions
# Without X86_FEATURE_FSRS memset() stores words: the emulator counts each byte if the CPU says that it stores these fast.
BY_WORDS = "clearcpuid=395"
# Beside an emulator that counts, with other work on the host, everything takes its time.
PATIENCE = 600
# A machine that the host keeps waiting is not dead.
QUIET = "timeout_s=60 connect_timeout_ms=60000"
VERBS_LIBRARY = f"echo driver {LIBS}libkfi >/etc/libibverbs.d/kfi.driver\n"
STACK = "modprobe -a rdma_ucm ib_uverbs siw\n"
SOCKETS = "modprobe kfi_sockets peer_timeout_ms=60000 connect_timeout_ms=60000\nmodprobe kfi_ib\n"
DEVICE = """set -e
until [ -d /sys/class/net/{device} ]; do sleep 0.1; done
ip addr add {subnet}{number}/24 dev {device} && ip link set {device} up
until ip link show dev {device} | grep -q LOWER_UP; do sleep 0.1; done
until ping -c 1 -W 1 {subnet}{other} >/dev/null; do sleep 0.1; done
"""
# A network device has one device of verbs at a time, or rdma_cm would choose.
ADD = "rdma link add {rdma}0 type {rdma} netdev {device}"
REMOVE = "rdma link delete {rdma}0"
# They run until they are ended.
QPERF = f"qperf -lp {PORT}", f"qperf -lp {PORT} -ip {PORT + 1} -t 100000 -m {{size}} {{address}} {{name}}"
VERBS = "ulimit -l unlimited; {name} -R -F -d {rdma}0 -s {size} -n {times}"
THERE_AND_BACK = VERBS + " -e", VERBS + " -e {address}"
ONE_BY_ONE = VERBS + " -t 1 -Q 1", VERBS + " -t 1 -Q 1 {address}"
# dd of a file that is mounted, without a program on b
READ = None, f"dd if={rdma.ROOT}/nfs/file of=/dev/null bs={{size}} count={{times}} iflag=direct"
WRITE = None, f"dd if=/dev/zero of={rdma.ROOT}/nfs/file bs={{size}} count={{times}} oflag=direct conv=notrunc"
MIB = 1 << 20
FILE_MIB = 64
# The mirrors. A look whether they are in sync costs instructions, which are counted, and time of the machine that looks.
MIRROR_MIB = 64
MIRRORS = f"MIRRORS_PATIENCE={PATIENCE} MIRRORS_PAUSE=2 NVME_CONFIG={bed.SHM}/config {bed.IN_HOST}{bed.TOP}/tests/bench/mirrors"
COPIES = f"{MIRRORS} copies ram {{network}} {{times}}", None
# What is done: name, commands of b and a, the program's word for it, bytes, how many of what is counted, the aim
Case = collections.namedtuple("Case", "what commands name size times aim", defaults=("", 0, 0, None))
# What functions of the kernel itself are for: the first pattern that a name has
PARTS = {part: re.compile(pattern) for part, pattern in {
    "TCP/IP": r"tcp|inet|^_*ip_|^ip6|skb|^_*dev_|netif|napi|^_*net_|sock|csum|qdisc|sch_direct|pfifo|fib_|dst_|neigh|eth_|gro_|sk_|nf_",
    "drivers": r"virt|vring|pci|dma_|_irq|irq_|handle_.*edge|apic|ioread|iowrite|msi",
    "scheduler": r"sched|task|queue_entit|_entity|update_(load|curr|min|rq|cfs|se)|load_avg|psi_|pick_|vruntime|wake|switch|ttwu|work|wait|"
                 r"completion|cpuacct|resched|rq_|avg_vr|cgroup",
    "timers": r"timer|ktime|clock|tick|jiffies|hrtimer|timekeep|read_tsc",
    "memory": r"kmem|kmalloc|kfree|slab|page|folio|^mem|alloc|copy|iov_iter|free|zone|lru|xas_|xa_|filemap",
    "block, files": r"blk|bio|vfs|file|inode|dentry|iomap|dio|splice|pipe|jbd|elv|submit|security|path|name",
}.items()}
# Counters of a machine, beside its instructions
EVENTS = "awk '/^ctxt/ { print $2 }' /proc/stat; awk '/^Tcp: [0-9]/ { print $12 }' /proc/net/snmp; awk '/NET_RX/ { print $2 }' /proc/softirqs"
EVENT = "events"                  # in the place of the module
EVENT_NAMES = "switches", "TCP segments", "receiving softirqs"
# Functions of a case that are kept
FUNCTIONS = 40


class Counts:
    """One pair of machines, and what was counted"""

    need = "bridge"               # for the script of that name
    setup = ""                    # of a machine
    networks = ()                 # the first is kfabric's
    cases = ()

    def __init__(self, pair, plugin, progress):
        self.pair = pair
        self.plugin = plugin
        self.progress = progress
        self.rows = []

    @classmethod
    def machines(cls, series, logs, ko, plugin, progress, simulator=(), modules=()):
        """Return a pair that counts."""
        programs = ["/etc/libibverbs.d/siw.driver:/etc/libibverbs.d/siw.driver", os.path.join(bed.TOP, "tools", "kfi", "kfi"),
                    *(f"/usr/bin/{name}" for name in ("qperf", "ib_send_lat", "ib_write_bw", "ib_read_bw"))]
        programs += [f"{folder}lib{name}-rdmav34.so:{LIBS}lib{name}-rdmav34.so"
                     for name, folder in (("kfi", f"{bed.TOP}/tools/rdma-core/"), ("siw", LIBS))]
        pair = vm.Pair(series, logs, ko=[ko, vm.script("stock-modules", series)], programs=programs, modules=modules, cpus=1,
                       memory="1G", append=executed.CLOCK, qemu_extra=executed.COUNTING, devices=bed.Devices(plugin, *simulator), boot_timeout=PATIENCE,
                       progress=progress)
        pair.accel = ACCEL
        return pair

    def prepare(self):
        """Set up all devices."""
        self.each(self.setup)
        for network in self.networks:
            self.progress(f"until the device of {network.name} is up")
            self.each(DEVICE, network)
        self.symbols = {name: executed.Symbols(self.pair.run(name, "grep -E ' [tTwW] ' /proc/kallsyms", PATIENCE).text) for name in self.pair.vms}

    def each(self, script, network=None):
        """Run a script at both machines; one for a network has words of it in braces."""
        jobs = [self.pair.spawn(name, script.format(number=number, other=3 - number, **network._asdict()) if network else script)
                for number, name in enumerate(self.pair.vms, 1)]
        for job in jobs:
            if job.wait(PATIENCE).status:
                raise vm.Failed(f"{job} has failed:\n{job.output()}")

    @contextlib.contextmanager
    def network(self, network):
        """The network is in use."""
        if network.rdma:
            self.each(ADD, network)
        yield
        if network.rdma:
            self.each(REMOVE, network)

    @contextlib.contextmanager
    def programs(self, case, network, times=0):
        """Both programs of a case run."""
        server, client = (command and command.format(address=f"{network.subnet}2", rdma=network.rdma, network=network.name, name=case.name,
                                                     size=case.size, times=times)
                          for command in case.commands)
        jobs = []
        try:
            if server:
                jobs.append(self.pair.spawn("b", server))
                self.pair.run("b", "sleep 1", PATIENCE)       # of its own clock, which is longer than it takes to listen
            if client:
                jobs.append(self.pair.spawn("a", client))
            yield jobs
        finally:
            for job in jobs:
                if job.poll() is None:
                    job.kill()

    def counters(self):
        return {name: self.plugin.counters(name) for name in self.pair.vms}

    def spent(self, before, after):
        """Return what both machines have executed in between, by function."""
        found = collections.Counter()
        for name, symbols in self.symbols.items():
            found.update(symbols.functions(executed.spent(before[name], after[name])))
        return found

    def sent(self, at_least=0):
        """Wait until a has sent so many bytes over the cable. Return how many it has."""
        stats = self.pair.devices.wait_until(lambda now: now["devices"]["nhi.a"]["bytes_sent"] >= at_least, PATIENCE)
        return stats["devices"]["nhi.a"]["bytes_sent"]

    def moment(self):
        """Return the counters of both machines in the midst of a stream, and the bytes that a has sent then: the mean of before and after."""
        first = self.sent()
        counters = self.counters()
        return counters, (first + self.sent()) / 2

    def stream(self, case, network):
        """Return the instructions of a MiB, by function, in the midst of a stream."""
        with self.programs(case, network):
            self.sent(self.sent() + case.times * MIB // 4)
            before, start = self.moment()
            self.sent(start + case.times * MIB)
            after, end = self.moment()
        found = self.spent(before, after)
        return {function: count * MIB / (end - start) for function, count in found.items()}

    def events(self):
        """Return the sums of both machines."""
        each = [map(int, self.pair.run(name, EVENTS, PATIENCE).text.split()) for name in self.pair.vms]
        return collections.Counter(dict(zip(EVENT_NAMES, map(sum, zip(*each)))))

    def count(self, case, network, times):
        """Run an operation that often. Return what both machines execute meanwhile, by function, and what happens."""
        events = self.events()
        before = self.counters()
        with self.programs(case, network, times) as jobs:
            for job in jobs:
                result = job.wait(PATIENCE)
                if result.status:
                    raise vm.Failed(f"{job} ended with {result.status}:\n{result.text}")
        for name in self.pair.vms:
            self.pair.run(name, "sleep 0.5", PATIENCE)    # until the last acknowledgements are there
        found = self.spent(before, self.counters())
        after = self.events()
        found.update({(name, EVENT): after[name] - events[name] for name in EVENT_NAMES})
        return found

    def cost(self, case, network):
        """Return the instructions of one operation, by function."""
        if case.commands is QPERF:
            return self.stream(case, network)
        with self.network(network):
            once, thrice = (self.count(case, network, factor * case.times) for factor in (1, 3))
        thrice.subtract(once)
        return {function: count / (2 * case.times) for function, count in thrice.items() if function[1] != "processes"}

    def run(self, case, rounds):
        """Count a case in turns, and keep its row."""
        costs = {network.name: [] for network in self.networks}
        for number in range(rounds):
            for network in self.networks:
                self.progress(f"{case.what}: {network.name}, round {number + 1} of {rounds}")
                costs[network.name].append(self.cost(case, network))
        sums = {name: [sum(count for (_, module), count in cost.items() if module is not EVENT) for cost in each] for name, each in costs.items()}
        ratios = [ours / stock for ours, stock in zip(*list(sums.values())[:2])]
        row = {"what": case.what, "aim": case.aim, "ratio": round(statistics.median(ratios), 4), "ratios": [round(ratio, 4) for ratio in ratios],
               "instructions": {name: round(statistics.median(each)) for name, each in sums.items()},
               "functions": {name: most(each) for name, each in costs.items()},
               "parts": {name: by_part(each) for name, each in costs.items()},
               "events": {name: events(each) for name, each in costs.items()}}
        self.rows.append(row)
        return row


class Cable(Counts):
    """Both ends of a cable: TCP and verbs over kfi_net and thunderbolt_net"""

    setup = f"set -e\n{VERBS_LIBRARY}{STACK}{bed.BELOW['usb4']}\nmodprobe kfi_usb4 {QUIET}\nmodprobe -a thunderbolt_net kfi_net kfi_ib\n"
    networks = (Network("kfi_net", "kfi0", "kfi", "10.76.0."), Network("thunderbolt_net", "thunderbolt0", "siw", "10.79.0."))
    cases = (Case("TCP stream, a MiB", QPERF, "tcp_bw", 65536, 96, 0.8),
             Case("message of 64 bytes there and back", THERE_AND_BACK, "ib_send_lat", 64, 100, 1.0))

    @classmethod
    def machines(cls, *words):
        return super().machines(*words, [usb4sim.Usb4sim("a0-b0")], usb4sim.MODULES)


class Wire(Counts):
    """Both ends of a wire: verbs over kfi_ib and siw"""

    setup = f"set -e\n{VERBS_LIBRARY}{STACK}{SOCKETS}"
    networks = (Network("kfi_ib", "eth0", "kfi", "10.76.0."), Network("siw", "eth0", "siw", "10.76.1."))
    cases = (Case("message of 64 bytes there and back", THERE_AND_BACK, "ib_send_lat", 64, 200, 1.2),
             Case("write of 64 bytes", ONE_BY_ONE, "ib_write_bw", 64, 200, 1.2),
             Case("read of 64 bytes", ONE_BY_ONE, "ib_read_bw", 64, 200, 1.2))


class Nfs(Counts):
    """A file of the memory of b, by NFS over kfi_ib and TCP"""

    setup = f"{rdma.ENTER}{SOCKETS}modprobe brd rd_nr=1 rd_size={2 * FILE_MIB * 1024}"
    networks = (Wire.networks[0], Network("TCP", "eth0", None, "10.76.1."))
    cases = tuple(Case(f"{what} of {size // 1024} KiB", commands, "", size, times, 1.25 if size == 4096 else 1.0)
                  for size, times in ((4096, 200), (65536, 100), (262144, 40))
                  for what, commands in (("read", READ), ("write", WRITE)))

    @classmethod
    def machines(cls, series, logs, _ko, plugin, progress):
        pair = rdma.machines(("nfs",), series, "sockets", logs, progress, extra=executed.COUNTING, devices=[plugin], modules=["brd"], cpus=1,
                             append=executed.CLOCK, boot_timeout=PATIENCE)
        pair.accel = ACCEL
        return pair

    def prepare(self):
        super().prepare()
        server = rdma.Nfs(self.pair, None, "/dev/ram0")
        server.serve()
        self.pair.run("b", f"dd if=/dev/zero of={rdma.ROOT}/nfs/file bs=1M count={FILE_MIB}; sync", PATIENCE)

    @contextlib.contextmanager
    def network(self, network):
        proto = f"rdma,port={rdma.Nfs.PORT}" if network.rdma else "tcp"
        with super().network(network):
            self.pair.run("a", f"{rdma.IN_ROOT} mount.nfs4 {network.subnet}2:/ /nfs -o proto={proto},vers=4.2", PATIENCE)
            yield
            self.pair.run("a", f"umount {rdma.ROOT}/nfs", PATIENCE)


def writes(depth):
    """Return the commands of direct writes by fio, always to the same part of the disk."""
    return None, (f"{bed.IN_HOST}fio --name=writes --filename=/dev/bench/{{network}} --rw={{name}} --bs={{size}} --iodepth={depth} --size=16m "
                  "--io_size=$(({size} * {times})) --ioengine=libaio --direct=1 --norandommap --thread --clocksource=gettimeofday --gtod_reduce=1")


class Mirror(Counts):
    """A disk on both machines, by kfi_mirror without logs and by DRBD, protocol C"""

    need = "drbd"
    modules = (*bed.HOST_MODULES, "dm_mod", "null_blk", "drbd")
    setup = f"{bed.SEE_HOST}{SOCKETS}modprobe kfi_mirror && modprobe null_blk nr_devices=0 && modprobe drbd\n"
    # of disks, by the names that they have below /dev/bench. Both use the addresses of the first.
    networks = (Network("kfi", "eth0", None, "10.76.0."), Network("drbd", "eth0", None, "10.76.1."))
    side = f"MIRRORS_HERE={{subnet}}{{number}} MIRRORS_THERE={{subnet}}{{other}} MIRRORS_MIB={MIRROR_MIB} {MIRRORS} side ram"
    cases = (Case("random write of 4 KiB, depth 1", writes(1), "randwrite", 4096, 200, 0.55),
             Case("random write of 4 KiB, depth 16", writes(16), "randwrite", 4096, 800, 0.84),
             Case("write of 64 KiB, depth 8", writes(8), "write", 65536, 160, 0.9),
             Case("write of 1 MiB, depth 4", writes(4), "write", MIB, 16, 1.0),
             Case(f"whole copy of {MIRROR_MIB} MiB", COPIES, "", MIRROR_MIB * MIB, 1, 1.0))

    @classmethod
    def machines(cls, series, logs, ko, plugin, progress):
        pair = vm.Pair(series, logs, ko=ko, modules=cls.modules, cpus=1, memory="1G", mtu=rdma.MTU, append=f"{executed.CLOCK} {BY_WORDS}",
                       qemu_extra=[*executed.COUNTING, *bed.HOST_FILES], devices=plugin, boot_timeout=PATIENCE, progress=progress)
        pair.accel = ACCEL
        return pair

    def prepare(self):
        super().prepare()
        self.progress("until the mirrors are in sync")
        self.each(f"{self.side} $(hostname)", self.networks[0])
        self.pair.run("a", f"{MIRRORS} promote ram", PATIENCE)
        # memory of the disks, and the programs in the page cache
        for network in self.networks:
            self.pair.run("a", f"dd if=/dev/urandom of=/dev/bench/{network.name} bs=1M count={MIRROR_MIB} oflag=direct", PATIENCE)
            for case in self.cases:
                self.count(case, network, 1)


BEDS = {"cable": Cable, "wire": Wire, "nfs": Nfs, "mirror": Mirror}


def medians(costs):
    return {function: statistics.median(cost.get(function, 0) for cost in costs) for function in set().union(*costs)}


def most(costs):
    """Return the functions with the most instructions."""
    found = sorted((item for item in medians(costs).items() if item[0][1] is not EVENT), key=lambda item: -item[1])
    return [{"function": function, "module": module, "instructions": round(count)} for (function, module), count in found[:FUNCTIONS]]


def part_of(function, module):
    """Return the module of a function, or for what the kernel itself has it."""
    if module != "kernel":
        return module
    return next((part for part, pattern in PARTS.items() if pattern.search(function)), "rest of the kernel")


def by_part(costs):
    found = collections.Counter()
    for (function, module), count in medians(costs).items():
        if module is not EVENT:
            found[part_of(function, module)] += count
    return {part: round(count) for part, count in found.most_common() if round(count) > 0}


def events(costs):
    return {name: round(count, 1) for (name, module), count in medians(costs).items() if module is EVENT}


def show(row, functions):
    numbers = row["instructions"]
    print(f"{row['what']}: " + ", ".join(f"{name} {count:,}" for name, count in numbers.items()) +
          f"; {row['ratio']:.3f} ({min(row['ratios']):.3f} to {max(row['ratios']):.3f})", flush=True)
    for name in numbers if functions else ():
        print(f"  {name}: " + ", ".join(f"{part} {count:,}" for part, count in row["parts"][name].items()))
        print(f"  {name}: " + ", ".join(f"{count:,} {event}" for event, count in row["events"][name].items()))
        for each in row["functions"][name][:functions]:
            print(f"    {each['instructions']:>12,} {each['function']} ({each['module']})")


def judge(rows):
    """Print the aims. Return how many are met, and how many missed."""
    print()
    passed = failed = 0
    for row in rows:
        if row["aim"] is None:
            continue
        # of the worst round, so that no missed aim is called met
        worst = max(row["ratios"])
        met = worst <= row["aim"]
        print(f"{'ok  ' if met else 'FAIL'} {row['what']}: {worst:.3f} of the instructions, aim: at most {row['aim']}")
        passed += met
        failed += not met
    return passed, failed


def save(logs, release, rows):
    with open(os.path.join(logs, "results.json"), "w", encoding="utf-8") as file:
        json.dump({"kernel": release, "rows": rows}, file, indent=1)
        file.write("\n")


def measure(opts, logs, progress):
    """Count all that is wanted, and return the rows."""
    chosen = BEDS[opts.network]
    progress.during("looking for programs and libraries", [os.path.join(vm.HERE, "need"), chosen.need], os.path.join(logs, "need.log"))
    plugin = executed.Executed()
    with chosen.machines(opts.series, logs, bed.build(opts.series, progress, logs)[0], plugin, progress) as pair:
        counts = chosen(pair, plugin, progress)
        counts.prepare()
        for case in chosen.cases:
            if opts.word not in case.what:
                continue
            row = counts.run(case, opts.rounds)
            progress.end()
            show(row, opts.functions)
            save(logs, pair.release, counts.rows)
        pair.check_logs()
    return counts.rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", choices=BEDS)
    parser.add_argument("-k", dest="word", metavar="WORD", default="")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--functions", type=int, default=0, help="so many functions with the most instructions are shown")
    opts = parser.parse_args()
    opts.series = "6.12"
    logs = os.path.join(vm.BUILD, f"vm-{opts.series}", f"counts-{opts.network}")
    os.makedirs(logs, exist_ok=True)
    progress = vm.Progress()
    try:
        rows = measure(opts, logs, progress)
    except vm.VmError as error:
        progress.end()
        print(f"{error}\n0 passed, 1 failed")
        return 1
    if opts.word:
        return 0
    passed, failed = judge(rows)
    print(f"\n{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
