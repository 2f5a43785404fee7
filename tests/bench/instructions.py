#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""instructions.py [--tls] [CASE...]: instructions of an operation, counted by an emulated CPU

The cases of "versus": among them kfi_verbs over soft RoCE, kfi_ntb over a mock bridge without limits
beside it, and a disk over nvme-kfi and nvme-tcp in one namespace. Few hosts let a guest count
instructions. An emulator can: its time stamp counter is the number of instructions since the start
(-icount), and the kernel is told that it runs at 1 GHz. So one nanosecond of every figure is one
instruction of a stock kernel. Load on the host does not matter.

With --tls the disks are used under TLS 1.3. The CPU has instructions for AES, but does not copy by
bytes: "rep movsb" would count sixteen times what encryption does, where a real CPU copies faster
than it encrypts.
"""

import argparse
import os
import statistics
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "vm"))
import bed               # noqa: E402
import executed          # noqa: E402
import nvme              # noqa: E402
import pair as vm        # noqa: E402
import report            # noqa: E402
import tls_demo          # noqa: E402

SERIES = "newest"     # whose rxe works in network namespaces
MODULES = ("rdma_rxe", "siw", "rdma_cm", "kfi_loop", "kfi_sockets", "kfi_ib", "kfi_perf", "kfi_bench_tcp")
RUN = "/sys/kernel/debug/kfi_bench/run"
COUNTING = ("-icount", "shift=0,sleep=off")
MS = 8
NVME_MODULES = ("nvme_fabrics", "nvmet", "nvme_tcp", "nvmet_tcp", "brd")
DISK_KIB = 32768
# Port of the service and type of the transport, as nvmet has it, by the name that the host uses
TRANSPORTS = {"kfi": (4420, "loop"), "tcp": (4421, "tcp")}
# One subsystem for each transport: of one subsystem the host would make one disk with two paths.
TARGET = """set -e
grep -q " /sys/kernel/config " /proc/mounts || mount -t configfs none /sys/kernel/config
cd /sys/kernel/config/nvmet
mkdir subsystems/{name} subsystems/{name}/namespaces/1 ports/{number}
echo 1 >subsystems/{name}/attr_allow_any_host
echo -n {disk} >subsystems/{name}/namespaces/1/device_path
echo 1 >subsystems/{name}/namespaces/1/enable
echo {trtype} >ports/{number}/addr_trtype
echo ipv4 >ports/{number}/addr_adrfam
echo {address} >ports/{number}/addr_traddr
echo {port} >ports/{number}/addr_trsvcid
{more}
ln -s subsystems/{name} ports/{number}/subsystems/{name}
"""
# A device on each end of the wire, with known neighbours, as in ../uml/netns.
DEVICES = """
known() {{
    mac=$(ip netns exec c$3 cat /sys/class/net/v$3/address)
    ip -n c$1 neigh replace 10.78.0.$2 lladdr $mac dev v$1
}}
known a 2 b && known b 1 a &&
ip netns exec ca rdma link add {0}_a type {0} netdev va &&
ip netns exec cb rdma link add {0}_b type {0} netdev vb
"""
NO_DEVICES = "rdma link delete {0}_a && rdma link delete {0}_b"
BENCH = """
    exec 7</run/netns/ca 8</run/netns/cb
    modprobe kfi_bench net_a=7 net_b=8 addr_a=10.78.0.1 addr_b=10.78.0.2 bridge_a=mock0.0 bridge_b=mock0.1"""
# siw knows no network namespaces: there both nodes are one. Of kfi_ib they are two: between queue pairs of one namespace
# nothing goes over kfi_sockets.
ONE_NODE = """
rmmod kfi_bench && ip link add d0 type dummy && ip addr add 10.78.9.1/24 dev d0 && ip link set d0 up && ip link set lo up &&
rdma link add iw0 type siw netdev d0 && exec 7</proc/self/ns/net 8</proc/self/ns/net &&
modprobe kfi_bench net_a=7 net_b=8 addr_a=10.78.9.1 addr_b=10.78.9.1"""
TWO_NODES = f"rmmod kfi_bench && rdma link delete iw0 && ip link delete d0 && {BENCH}"
# It rings doorbells now and then, so it is there only for its cases.
BRIDGE = "modprobe kfi_ntb_mock inline_irqs=1 && modprobe kfi_ntb"
NO_BRIDGE = "modprobe -r kfi_ntb kfi_ntb_mock"
NVME = """modprobe -a nvmet_tcp nvme_tcp && modprobe nvmet-kfi trtype=254 && modprobe nvme-kfi &&
    mkdir /dev/bench"""
DISK = f"modprobe brd rd_nr=1 rd_size={DISK_KIB}"
CONNECT = """
    exec 3<>/dev/nvme-fabrics
    echo transport={name},traddr={address},trsvcid={port},nqn={name},nr_io_queues={queues},\
hostnqn={nqn},hostid={host}{tls} >&3
    IFS=,= read -r _ instance _ <&3
    ln -s /dev/nvme${{instance}}n1 /dev/bench/{name}
    until [ -b /dev/bench/{name} ]; do sleep 0.1; done"""


# The keys of nvme-tcp belong to a host and a subsystem, those of kfi_sockets to the machines.
TLS = f"""modprobe aesni-intel; modprobe kfi_sockets tls=psk && head -c 32 /dev/urandom |
    {tls_demo.RUN}bin/keyctl padd psk 'NVMe1R01 {nvme.HOST_NQN} tcp' %:.nvme"""


def disks(pair, tls=False, disk="/dev/ram0", queues=1):
    """Make the disks of the set "ram" of the script of that name, of a disk that is there."""
    pair.run("a", NVME)
    for number, (name, (port, trtype)) in enumerate(TRANSPORTS.items(), 1):
        words = {"name": name, "number": number, "address": pair.address("a"), "port": port,
                 "trtype": trtype, "disk": disk, "queues": queues, "host": nvme.HOST, "nqn": nvme.HOST_NQN,
                 "tls": ",tls" if tls else ""}
        words["more"] = f"echo tls1.3 >ports/{number}/addr_tsas" if tls and name == "tcp" else ":"
        pair.run("a", TARGET.format(**words) + CONNECT.format(**words))


def load(pair, tls):
    if tls:
        tls_demo.agent(pair, "a")
        pair.run("a", TLS)
    pair.run("a", bed.TWO_NODES)
    pair.run("a", f"modprobe -a {' '.join(MODULES)} && modprobe kfi_verbs over_kfi=1 && {BENCH}")


def need(pair, there, case, tls):
    """Prepare what a case is named after, if it is not what is @there. Return what is."""
    kind = case.split("-")[case.startswith("verbs")]    # the device after "verbs"
    if kind == there:
        return kind
    if there == "ntb":
        pair.run("a", NO_BRIDGE)
    elif there in ("rxe", "kfi"):
        pair.run("a", NO_DEVICES.format(there))
    elif there == "siw":
        pair.run("a", TWO_NODES)
    if kind in ("rxe", "kfi"):
        pair.run("a", DEVICES.format(kind))
    elif kind == "siw":
        pair.run("a", ONE_NODE)
    elif kind == "ntb":
        pair.run("a", BRIDGE)
    elif kind == "nvme":
        pair.run("a", DISK)
        disks(pair, tls)
    return kind


def chosen(pair, cases):
    """Return the full names, in the order of cases.c."""
    names = pair.run("a", "cat /sys/kernel/debug/kfi_bench/cases").text.split()
    return [name for name in names if any(f"{name}-".startswith(f"{c}-") for c in cases)]


def machine(ko, logs, progress, tls):
    pair = vm.Pair(SERIES, logs, ko=[ko, vm.script("stock-modules", SERIES)], progress=progress,
                   names=("a",), memory="1G", cpus=1, append=executed.CLOCK,
                   modules=NVME_MODULES + (tls_demo.MODULES if tls else ()),
                   qemu_extra=COUNTING + (("-virtfs", tls_demo.share()) if tls else ()))
    pair.accel = "tcg,thread=single"    # the only one that counts
    return pair


def count(root, logs, cases, rounds, tls=False):
    """Count in the cases whose names begin with @cases, with the modules of the tree @root.

    Yield each case and the text of its runs. Raises vm.VmError.
    """
    progress = vm.Progress()
    progress.during(f"{SERIES}: looking for what it needs", [os.path.join(vm.HERE, "need")], os.path.join(logs, "need.log"))
    progress.during(f"{SERIES}: building the modules", [os.path.join(root, "tests", "vm", "modules"), SERIES, "KFI_BENCH=y", "KFI_MOCK=y"],
                    os.path.join(logs, "modules.log"))
    with machine(os.path.join(root, "build", f"vm-{SERIES}", "ko"), logs, progress, tls) as pair:
        load(pair, tls)
        there = None
        for case in chosen(pair, cases):
            there = need(pair, there, case, tls)
            progress(f"counting instructions: {case}")
            yield case, pair.run("a", f"echo '{case} {rounds} {MS} wall' >{RUN} && cat {RUN}", timeout=300).text
        pair.check_logs()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="*", help="cases, as for run (default: nvme-ram)")
    parser.add_argument("--tls", action="store_true", help="disks under TLS 1.3")
    parser.add_argument("--rounds", type=int, default=report.PAIRS)
    opts = parser.parse_args()
    if opts.tls and any(not case.startswith("nvme") for case in opts.case):
        parser.error("--tls is for the cases of nvme")
    logs = os.path.join(vm.BUILD, "bench", "instructions")
    os.makedirs(logs, exist_ok=True)
    for case, text in count(bed.TOP, logs, opts.case or ["nvme-ram"], opts.rounds, opts.tls):
        runs = report.parse(text)
        for variant in runs.figures:
            median = statistics.median(report.figures(runs, variant, "instr").values())
            print(f"{case:<24}{variant:<24}{median:>12.0f}", flush=True)


if __name__ == "__main__":
    main()
