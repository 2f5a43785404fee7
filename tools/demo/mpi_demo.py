# SPDX-License-Identifier: GPL-2.0
"""Implementation of `make demo ULP=mpi`, see run: MPICH over UCX on both machines, over RDMA devices of kfi_ib"""

import json
import os
import re
import time

import bed
import pair as vm
import rdma

RANKS = 2                         # one on each machine
TIMEOUT = 300
HOLD = 15                         # seconds that connections wait for a pulled cable, as kfi_usb4 does unasked
PULLED = 3                        # seconds
FILES = "/run/mpi"                # seen from the root directory of Debian's programs, too
# UCX may use the RDMA device alone: a rank that can't connect by it fails.
ENVIRONMENT = f"UCX_TLS=rc_v,ud_v,self UCX_NET_DEVICES={rdma.LINK}:1 UCX_WARN_UNUSED_ENV_VARS=n RDMAV_DRIVERS={FILES}/libkfi"


def programs(progress, out):
    """Return the root directory of MPICH and UCX, and what the machines need besides."""
    log = os.path.join(out, "mpi-root.log")
    progress.during("unpacking MPICH and UCX", [os.path.join(bed.TOP, "tests", "user", "mpi-root"), out], log)
    progress.during("building libkfi-rdmav34.so", [os.path.join(bed.TOP, "tools", "build"), "rdma"], os.path.join(out, "rdma.log"))
    with open(log, encoding="utf-8") as file:
        root = file.read().splitlines()[-1]
    names = (f"{out}/mpi-mpich", f"{vm.BUILD}/tools/libkfi-rdmav34.so")
    return root, [f"{name}:{FILES.replace('/run', '/opt')}/{os.path.basename(name)}" for name in names]


def machines(provider, series, root, files, out, mtu, progress):
    ko, tool = bed.build(series, progress, out)
    return bed.machines(rdma.NETWORKS[provider].machines, series, out, ko, programs=[tool, *files], modules=list(rdma.MODULES),
                        load={name: rdma.MODULES for name in "ab"}, memory="1G", mtu=mtu, progress=progress,
                        qemu_extra=["-virtfs", f"local,path={root},mount_tag=debian,security_model=none,readonly=on,multidevs=remap"])


def enter(pair, network, progress):
    """Make the RDMA devices, and put the programs where they are looked for."""
    hosts = "".join(f"{network.address(name)} {name}\n" for name in pair.vms)
    progress(f"a, b: rdma link add {rdma.LINK} type kfi netdev {network.netdev}")
    rdma.enter(pair, network, *pair.vms)
    for name in pair.vms:
        pair.run(name, f"modprobe ib_uverbs && cp -r {FILES.replace('/run', '/opt')} {FILES} && printf '{hosts}' >>{rdma.ROOT}/etc/hosts")
        if network.name == "usb4":
            pair.run(name, f"echo {HOLD} >/sys/module/kfi_usb4/parameters/hold_s")
    pair.run("a", f"until ping -c 1 -W 1 {network.address('b')}; do :; done")


class Ranks:
    """A program of MPI with one rank on each machine. mpiexec says how to start its proxies, and this does it, in place of ssh."""

    def __init__(self, pair, words):
        self.pair = pair
        self.job = pair.spawn("a", self.in_root(f"mpiexec.hydra -launcher manual -hosts a,b -n {RANKS} {FILES}/mpi-mpich --nodes 2 {words} {RANKS}"))
        end = time.monotonic() + 60
        while "HYDRA_LAUNCH_END" not in self.job.output():
            if self.job.poll() or time.monotonic() > end:
                raise vm.Failed(f"mpiexec starts nothing:\n{self.job.output()}")
            time.sleep(0.1)
        proxies = re.findall(r"^HYDRA_LAUNCH: (.*)$", self.job.output(), re.M)
        self.proxies = [pair.spawn(name, self.in_root(proxy)) for name, proxy in zip(pair.vms, proxies, strict=True)]

    @staticmethod
    def in_root(command):
        return f"{ENVIRONMENT} exec {rdma.IN_ROOT}{command}"

    def wait(self, timeout=TIMEOUT):
        """Return what rank 0 has said; each rank has compared all data."""
        try:
            result = self.job.wait(timeout)
        except vm.VmError as error:
            raise vm.TimedOut(f"{error}\n{self.job.output()}" + "".join(proxy.output() for proxy in self.proxies)) from None
        if result.status or not re.search(r"^[1-9]\d* passed, 0 failed$", result.text, re.M):
            raise vm.Failed(f"{self.job} ended with status {result.status}:\n{result.text}" + "".join(proxy.output() for proxy in self.proxies))
        for proxy in self.proxies:
            proxy.wait(60)
        return result.text


def measured(pair, progress):
    """Return rows: messages and reductions."""
    progress("a, b: mpiexec -hosts a,b -n 2 ..., every byte compared")
    text = Ranks(pair, "--short --rates").wait()
    found = re.findall(r"^rate    (\w+) (\d+) ([\d.]+) ([\d.]+)$", text, re.M)
    return [{"what": what, "size": int(size), "us": float(us), "mb_s": float(mb_s)} for what, size, us, mb_s in found]


def pulled(pair, progress):
    """Pull the cable while messages are on their way, and plug it again. Return a row."""
    start = time.monotonic()
    ranks = Ranks(pair, "")
    while "ranks on both nodes" not in ranks.job.output():
        if ranks.job.poll() or time.monotonic() > start + TIMEOUT:
            raise vm.Failed(f"no messages:\n{ranks.job.output()}")
        time.sleep(0.1)
    progress(f"the cable is pulled for {PULLED} s while messages are on their way")
    pair.devices.command("cable 0 unplug")
    time.sleep(PULLED)
    if ranks.job.poll():
        raise vm.Failed(f"the ranks have ended before the cable was there again:\n{ranks.job.output()}")
    pair.devices.command("cable 0 plug")
    progress("the cable is there again")
    ranks.wait()
    return {"what": "pulled", "seconds": PULLED}


def counted(pair):
    """Return how much has come by kfi_ib, to show that it was kfi_ib. UCX reads long messages, so what is sent says less."""
    text = pair.run("a", f"rdma statistic show link {rdma.LINK}/1").text
    counts = {word: int(re.search(rf"\b{word} (\d+)", text)[1]) for word in ("connections", "rcvd_bytes")}
    return {"what": "counted", **counts}


def demo(series, provider, mtu, out, progress):
    """Return release and rows; every byte was compared."""
    known = [name for name, network in rdma.NETWORKS.items() if not network.secret]
    if series != rdma.SERIES or provider not in known:
        raise vm.VmError(f"ULP=mpi runs on KERNEL={rdma.SERIES}, over PROVIDER={' or '.join(known)}")
    root, files = programs(progress, out)
    with machines(provider, series, root, files, out, mtu, progress) as pair:
        network = rdma.NETWORKS[provider](pair)
        enter(pair, network, progress)
        rows = measured(pair, progress)
        if provider == "usb4":
            rows.append(pulled(pair, progress))
        rows.append(counted(pair))
        pair.check_logs()
        release = pair.release
    with open(os.path.join(out, "results.json"), "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
        file.write("\n")
    return release, rows


def table(rows):
    print(f"{'':<14}{'size':>8}{'time':>14}{'bandwidth':>16}")
    for row in rows:
        if row["what"] == "pulled":
            print(f"\nThe cable was pulled for {row['seconds']} s while messages were on their way: all went on, and nothing was lost.")
        elif row["what"] == "counted":
            print(f"\nkfi_ib of machine a has made {row['connections']} connections and received {row['rcvd_bytes'] >> 20} MiB.")
        else:
            print(f"{row['what']:<14}{row['size']:>8}{row['us']:>11.0f} us{row['mb_s']:>11.1f} MB/s")
