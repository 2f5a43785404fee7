#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""cpus.py [--rounds N] [--ios N] [--ko DIR] [--out FILE]: the cost of an I/O on two CPUs

One emulated machine of a stock 6.12 kernel with two CPUs is host and target of nvme-kfi and
nvme-tcp, over its loopback device and a RAM disk. fio reads and writes 4 KiB at depth 1 and 16. A
round is one run of each transport, in turns, so that other load on the computer affects both. A row
has the medians over the rounds: IOPS of both, their quotient, and for each I/O the inter-processor
interrupts (RES and CAL of /proc/interrupts) and context switches (ctxt of /proc/stat). The cost of
fio itself, measured by runs of one I/O, is subtracted. "Speed" compares the fast I/Os, which other
load has not disturbed: it is the quotient of the 10th percentiles of the latency.

The counts and the speed are valid on any computer. IOPS are valid only as a quotient, and only on a
computer with two idle CPUs.
"""

import argparse
import json
import os
import statistics
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "vm"))
import bed               # noqa: E402
import nvme              # noqa: E402
import pair as vm        # noqa: E402

SERIES = "6.12"
CPUS = 2
MODULES = ("nvme_fabrics", "nvmet", "nvme_tcp", "nvmet_tcp", "brd")
TRANSPORTS = ("kfi", "tcp")
PORTS = {"kfi": 4420, "tcp": 4421}
TRTYPE = {"kfi": "loop", "tcp": "tcp"}
LOADS = (("read, depth 1", "randread", 1), ("read, depth 16", "randread", 16),
         ("write, depth 1", "randwrite", 1), ("write, depth 16", "randwrite", 16))
DISK_KIB = 32768
GOALS = {1: 1.0, 16: 1.2}     # IOPS beside nvme-tcp's, by depth

# One subsystem for each transport: of one subsystem the host would make one disk with two paths.
TARGET = """set -e
grep -q " /sys/kernel/config " /proc/mounts || mount -t configfs none /sys/kernel/config
cd /sys/kernel/config/nvmet
mkdir subsystems/{name} subsystems/{name}/namespaces/1 ports/{number}
echo 1 >subsystems/{name}/attr_allow_any_host
echo -n /dev/ram0 >subsystems/{name}/namespaces/1/device_path
echo 1 >subsystems/{name}/namespaces/1/enable
echo {trtype} >ports/{number}/addr_trtype
echo ipv4 >ports/{number}/addr_adrfam
echo {address} >ports/{number}/addr_traddr
echo {port} >ports/{number}/addr_trsvcid
{more}
ln -s subsystems/{name} ports/{number}/subsystems/{name}
"""
# Both counters, fio, both counters
COUNTED = """cat /proc/stat /proc/interrupts
echo ----
fio --name=cpus --thread --filename={disk} --direct=1 --ioengine=libaio --rw={rw} --bs=4k --iodepth={depth} --size=16M \
--io_size={ios}M --norandommap --number_ios={number} --lat_percentiles=1 --clat_percentiles=0 --percentile_list=10 \
--output-format=json
echo ----
cat /proc/stat /proc/interrupts
"""


def counters(text):
    """Return the inter-processor interrupts and context switches so far."""
    found = {"ipis": 0, "switches": 0}
    for line in text.splitlines():
        words = line.split()
        if words and words[0] in ("RES:", "CAL:"):
            found["ipis"] += sum(int(word) for word in words[1:1 + CPUS])
        elif words and words[0] == "ctxt":
            found["switches"] = int(words[1])
    return found


class Bench:
    """One machine with a disk by each transport"""

    def __init__(self, pair):
        self.pair = pair
        self.disks = {}
        self.fio_itself = None

    def run(self, command, timeout=120):
        return self.pair.run("a", command, timeout).text

    def setup(self):
        address = self.pair.address("a")
        self.run(f"modprobe -a kfi_sockets nvmet nvmet_tcp nvme_tcp; modprobe nvmet-kfi trtype=254; modprobe nvme-kfi; "
                 f"modprobe brd rd_nr=1 rd_size={DISK_KIB}; mkdir -p /etc/nvme; echo {nvme.HOST} >/etc/nvme/hostid; "
                 f"echo nqn.2014-08.org.nvmexpress:uuid:{nvme.HOST} >/etc/nvme/hostnqn")
        for number, name in enumerate(TRANSPORTS, 1):
            self.run(TARGET.format(name=name, number=number, address=address, port=PORTS[name],
                                   trtype=TRTYPE[name], more=":"))
            before = set(self.run("ls /dev").split())
            self.run(f"nvme connect -t {name} -a {address} -s {PORTS[name]} -n {name}")
            self.run("for i in $(seq 50); do ls /dev/nvme*n1 2>/dev/null | wc -l | grep -qx " + str(number) + " && exit 0; sleep 0.1; done; exit 1")
            new = [word for word in set(self.run("ls /dev").split()) - before if word.startswith("nvme") and word.endswith("n1")]
            self.disks[name] = "/dev/" + new[0]
        self.run(f"fio --name=fill --thread --filename={self.disks['tcp']} --rw=write --bs=1M --size=16M", 300)
        # cost of fio itself
        runs = [self.raw("tcp", "randread", 1, 1)[0] for _ in range(3)]
        self.fio_itself = {key: statistics.median(run[key] for run in runs) for key in runs[0]}

    def raw(self, transport, rw, depth, number):
        text = self.run(COUNTED.format(disk=self.disks[transport], rw=rw, depth=depth, number=number, ios=max(1, number * 4 // 1024 + 1)), 600)
        before, said, after = text.split("----\n")
        before, after = counters(before), counters(after)
        job = json.loads(said[said.index("{"):])["jobs"][0]
        row = job["read" if rw == "randread" else "write"]
        return {key: after[key] - before[key] for key in after}, row

    def measure(self, transport, rw, depth, number):
        cost, row = self.raw(transport, rw, depth, number)
        found = {key: max(0.0, (cost[key] - self.fio_itself[key]) / row["total_ios"]) for key in cost}
        fast, = row["lat_ns"]["percentile"].values()
        return {**found, "iops": row["iops"], "fast_ns": fast}


def medians(runs):
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def measure_all(bench, rounds, number, progress):
    rows = []
    for what, rw, depth in LOADS:
        runs = {name: [] for name in TRANSPORTS}
        for index in range(rounds):
            progress(f"{what}, round {index + 1} of {rounds}")
            for name in TRANSPORTS[::1 if index % 2 else -1]:
                runs[name].append(bench.measure(name, rw, depth, number * (1 if depth == 1 else 4)))
        pairs = list(zip(runs["kfi"], runs["tcp"]))
        ratio = statistics.median(k["iops"] / t["iops"] for k, t in pairs)
        speed = statistics.median(t["fast_ns"] / k["fast_ns"] for k, t in pairs)
        rows.append({"what": what, "depth": depth, "cpus": CPUS, "rounds": rounds, "ratio": ratio, "speed": speed,
                     **{name: medians(runs[name]) for name in TRANSPORTS}})
    return rows


def table(rows):
    print(f"{CPUS} CPUs, 4 KiB    {'IPIs for an I/O':>22}{'switches of context':>24}{'IOPS':>10}{'speed':>10}")
    print(f"{'':<18}{'kfi':>10}{'tcp':>10}{'kfi':>14}{'tcp':>10}{'kfi/tcp':>10}{'kfi/tcp':>10}{'goal':>7}")
    for row in rows:
        kfi, tcp = row["kfi"], row["tcp"]
        print(f"{row['what']:<18}{kfi['ipis']:>10.2f}{tcp['ipis']:>10.2f}{kfi['switches']:>14.2f}{tcp['switches']:>10.2f}"
              f"{row['ratio']:>10.2f}{row['speed']:>10.2f}{GOALS[row['depth']]:>7.1f}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--ios", type=int, default=2000, help="I/Os of a run at depth 1; four times as many at depth 16")
    parser.add_argument("--ko", help="modules that are built already (default: build them)")
    parser.add_argument("--out", default=os.path.join(vm.BUILD, "bench", "cpus.json"))
    return parser.parse_args()


def main():
    opts = arguments()
    progress = vm.Progress()
    logs = os.path.join(vm.BUILD, "bench", "cpus")
    os.makedirs(logs, exist_ok=True)
    nvme.need(progress, logs)
    ko = opts.ko or bed.build(SERIES, progress, logs)[0]
    with vm.Pair(SERIES, logs, ko=ko, programs=nvme.PROGRAMS, modules=MODULES, cpus=CPUS, memory="768M", progress=progress,
                 names=("a",)) as pair:
        bench = Bench(pair)
        bench.setup()
        rows = measure_all(bench, opts.rounds, opts.ios, progress)
        pair.check_logs()
    os.makedirs(os.path.dirname(opts.out), exist_ok=True)
    with open(opts.out, "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
    table(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
