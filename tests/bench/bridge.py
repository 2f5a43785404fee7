#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""bridge.py [--rounds N] [CASE]...: kfi_net and kfi_ib on a bridge beside ntb_netdev and siw on another one

Two machines with a stock kernel, and two bridges of ../vm/ntbsim; Debian's programs make the traffic. Each store to a window is a
message to the simulator, and other work delays the machines: no time is that of hardware. So the cost to the bridge is counted.
"""

import argparse
import os
import re
import statistics
import sys
import time
import report
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), os.pardir, "vm"))
import bed               # noqa: E402
import pair as vm        # noqa: E402

SERIES, MIB = "6.12", 1 << 20
LIBS = "/usr/lib/x86_64-linux-gnu/libibverbs/"
SETUP = """set -e; echo driver %slibkfi >/etc/libibverbs.d/kfi.driver
modprobe -a rdma_ucm ib_uverbs siw && {below} && modprobe kfi_ntb {kfi_ntb} && echo 0000:00:11.0 >/sys/bus/ntb/drivers/kfi_ntb/unbind
modprobe ntb_transport use_dma=1 max_num_clients=1 {transport} && modprobe -a ntb_netdev kfi_net kfi_ib
until [ -d /sys/class/net/kfi0 ] && [ -d /sys/class/net/eth1 ]; do sleep 0.1; done; ip link set eth1 name siw0
for dev in kfi0/10.76.0 siw0/10.79.0; do
	ip addr add ${{dev#*/}}.{number}/24 dev ${{dev%%/*}} && ip link set ${{dev%%/*}} up
	until ip link show dev ${{dev%%/*}} | grep -q LOWER_UP; do sleep 0.1; done
	rdma link add ${{dev%%/*}} type ${{dev%%0/*}} netdev ${{dev%%/*}}
done""" % LIBS
BRIDGES = (("kfi0", "10.76.0.2"), ("siw0", "10.79.0.2"))    # the device, under siw that of ntb_netdev, and b's address
QPERF = "qperf -lp 5000 -ip 5001 -uu -t {amount} {address} {name}", "qperf -lp 5000"
PERF = ("ulimit -l unlimited; {name} -R -F -d {device} -s {size} -n {amount} {address}",) * 2
RATE, SHORTEST = r"\n +\d+ +\d+ +[\d.]+ +([\d.]+)", r"\n +\d+ +\d+ +([\d.]+)"    # other work has not delayed the shortest
# Commands of a and b; bytes; seconds or operations, few and as usual; where the figure is; unit of the counts; the goal.
CASES = {
    "tcp_bw": (QPERF, 0, 1, 3, r"bw += +([\d.]+) ", "MiB", 2.0),
    "tcp_lat": (QPERF, 0, 1, 3, r"latency += +([\d.]+) ", "trip", 1.0),
    "ib_send_bw": (PERF, 65536, 5, 69, RATE, "MiB", 2.0),
    "ib_write_bw": (PERF, 65536, 5, 69, RATE, "MiB", 2.0),
    "ib_send_lat": (PERF, 8, 5, 55, SHORTEST, "trip", 1.0),
    "ib_write_lat": (PERF, 8, 5, 55, SHORTEST, "trip", 1.0),
}
COUNTS = {"stores": ("ntb", "window_cpu_writes"), "doorbells": ("ntb", "interrupts"), "copies": ("dma", "descriptors")}


def counted(sim, bridge):
    """Return the counters of both ends of a bridge, added up."""
    devices = sim.stats()["devices"]
    return [sum(devices[f"{kind}{bridge if kind == 'ntb' else ''}.{name}"][key] for name in "ab") for kind, key in COUNTS.values()]


def once(pair, name, bridge, amount, tries=3):
    """Run a case. Return its figure, how many units that were, and what the simulator has counted."""
    (client, server), size, _, _, figure, unit, _ = CASES[name]
    words = dict(zip(("device", "address"), BRIDGES[bridge]), name=name, size=size, amount=amount)
    before, job = counted(pair.devices, bridge), pair.spawn("b", server.format(**words | {"address": ""}))
    time.sleep(1)
    try:
        text = pair.run("a", client.format(**words), 20 + amount).text
    except vm.VmError:      # siw hangs now and then, and a server may not listen yet
        job.kill()
        if tries == 1:
            raise
        return once(pair, name, bridge, amount, tries - 1)
    job.wait(60) if size else job.kill()
    value = float(re.search(figure, text)[1])
    units = amount * (size or value) / MIB if unit == "MiB" else amount if size else amount * 5e8 / value
    return value, units, [end - start for start, end in zip(before, counted(pair.devices, bridge))]


def measure(pair, name, count, progress):
    """Run a case, and print its row."""
    *_, few, many, _, unit, goal = CASES[name]
    first, runs = [once(pair, name, bridge, few) for bridge in (0, 1)], ([], [])     # what connecting costs is in every run
    for number in range(2 * count):
        progress(f"{name}: run {number + 1} of {2 * count}")
        runs[number % 2].append(once(pair, name, number % 2, many))
    costs = [[sum(run[2][n] - less[2][n] for run in each) / sum(run[1] - less[1] for run in each) for n in range(len(COUNTS))]
             for less, each in zip(first, runs)]
    figures = [[run[0] for run in each] for each in runs]
    figures.append([ours / peer for ours, peer in zip(*figures)])
    span = report.interval(figures[2]) or (min(figures[2]), max(figures[2]))
    print(f"{name:<14}" + "".join(f"{statistics.median(each):>12.5g}" for each in figures), "({:.2f} - {:.2f}), goal".format(*span),
          f"{goal}; each {unit}:", ", ".join(f"{what} {a:.1f} / {b:.1f}" for what, a, b in zip(COUNTS, *costs)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="*", help=f"of {', '.join(CASES)} (default: all)")
    parser.add_argument("--rounds", type=int, default=report.PAIRS)
    parser.add_argument("--kfi-ntb", default="", help="its parameters")
    parser.add_argument("--transport", default="", help="parameters of ntb_transport")
    opts = parser.parse_args()
    logs, progress = os.path.join(vm.BUILD, "bench", "bridge"), vm.Progress()
    progress.during("looking for programs and libkfi-rdmav34.so", [os.path.join(vm.HERE, "need"), "bridge"], os.path.join(logs, "need.log"))
    programs = ["/etc/libibverbs.d/siw.driver:/etc/libibverbs.d/siw.driver", "/usr/bin/qperf", *(f"/usr/bin/{name}" for name in CASES if name[:2] == "ib")]
    programs += [f"{folder}lib{name}-rdmav34.so:{LIBS}lib{name}-rdmav34.so" for name, folder in (("kfi", f"{bed.TOP}/tools/rdma-core/"), ("siw", LIBS))]
    with bed.machines("ntb", SERIES, logs, bed.build(SERIES, progress, logs, "KFI_BENCH=y")[0], 2, last=bed.WINDOW, memory="1G", programs=programs,
                      progress=progress) as pair:
        for job in [pair.spawn(name, SETUP.format(below=bed.BELOW["ntb"], number=number, **vars(opts))) for number, name in enumerate(pair.vms, 1)]:
            if job.wait(180).status:
                raise vm.Failed(job.output())
        for name in opts.case or CASES:
            measure(pair, name, opts.rounds, progress)
        pair.check_logs()


if __name__ == "__main__":
    main()
