#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""nvme.py [--provider sockets|verbs|ntb|usb4] [options] 6.1|6.12...: NVMe over kfabric

Stock kernels. On 6.12 the target has its own transport type, with an nvmet.ko that knows its name
(tests/vm/nvmet); on 6.1 it uses a type that the stock nvmet knows. After each case the consoles
must be clean. The last line is "N passed, N failed".
"""

import argparse
import os
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from scenario import PROMISE, Verdict, check, usable  # noqa: E402
import bed                                            # noqa: E402
import pair as vm                                     # noqa: E402
import tls_demo                                       # noqa: E402

NQN = "nqn.2026-01.kfabric:disk"
PORT = 4420
DISK_UUID = "5d1f2c7a-83b4-4f60-9a35-7e1c9b04d6f8"
HOST = "0b7e3c52-6f0e-4c1e-9d3a-5c1f7a0e4d21"
HOST_NQN = f"nqn.2014-08.org.nvmexpress:uuid:{HOST}"
CONFIG = "/sys/kernel/config/nvmet"
# Where the nvmet.ko with the name "kfi" lies in the guests, out of modprobe's sight.
PATCHED = "/lib/patched/nvmet.ko"
# Stock modules that the guests need besides the usual
MODULES = ("nvme_fabrics", "nvmet", "virtio_blk", "ext4", "crc32c_generic")
PROGRAMS = ("/usr/sbin/nvme", "/usr/bin/fio", "/usr/sbin/mkfs.ext4", "/usr/sbin/e2fsck")

# A subsystem that is the same whenever it is made, or hosts would take its disk for another one.
TARGET = """set -e
grep -q " /sys/kernel/config " /proc/mounts || mount -t configfs none /sys/kernel/config
cd {config}
mkdir subsystems/{nqn} subsystems/{nqn}/namespaces/1
echo 1 >subsystems/{nqn}/attr_allow_any_host
echo 6b66616272696300 >subsystems/{nqn}/attr_serial
echo {uuid} >subsystems/{nqn}/namespaces/1/device_uuid
echo -n {disk} >subsystems/{nqn}/namespaces/1/device_path
echo 1 >subsystems/{nqn}/namespaces/1/enable
"""
MAKE_PORT = """set -e
cd {config}
mkdir ports/{number}
echo {trtype} >ports/{number}/addr_trtype
echo {family} >ports/{number}/addr_adrfam
echo {address} >ports/{number}/addr_traddr
echo {port} >ports/{number}/addr_trsvcid
ln -s {config}/subsystems/{nqn} ports/{number}/subsystems/{nqn}
"""
DROP_PORT = """set -e
cd {config}
rm -f ports/{number}/subsystems/{nqn}
rmdir ports/{number}
"""
# The target admits this host alone; each proves to the other by DH-HMAC-CHAP that it has its key.
ADMIT = """set -e
cd {config}
mkdir hosts/{host}
echo {key} >hosts/{host}/dhchap_key
echo {ctrl_key} >hosts/{host}/dhchap_ctrl_key
echo ffdhe2048 >hosts/{host}/dhchap_dhgroup
echo 0 >subsystems/{nqn}/attr_allow_any_host
ln -s {config}/hosts/{host} subsystems/{nqn}/allowed_hosts/{host}
"""
ADMIT_ALL = """set -e
cd {config}
rm subsystems/{nqn}/allowed_hosts/{host}
echo 1 >subsystems/{nqn}/attr_allow_any_host
rmdir hosts/{host}
"""
DROP_TARGET = """set -e
cd {config}
rmdir subsystems/{nqn}/namespaces/1 subsystems/{nqn}
"""


class Disk:
    """A file of the host that is machine b's disk: acknowledged data outlives the machine"""

    qemu = "qemu-system-x86_64"

    def __init__(self, mib):
        self.mib = mib
        self.path = None

    def start(self, run_dir, _logs):
        self.path = os.path.join(run_dir, "disk")
        with open(self.path, "wb") as file:
            file.truncate(self.mib << 20)

    def stop(self):
        """Remove it, with its directory."""

    def arguments(self, name, _memory):
        if name != "b":
            return []
        return ["-drive", f"file={self.path},format=raw,if=none,id=disk,discard=unmap",
                "-device", "virtio-blk-pci,drive=disk,romfile="]


def need(progress, logs):
    """Install the programs of the guests."""
    progress.during("looking for nvme-cli and fio", [os.path.join(vm.HERE, "need"), "nvme"], os.path.join(logs, "need-nvme.log"))


def programs():
    """Return nvme-cli and fio, and our programs, built for the guests."""
    out = os.path.join(vm.BUILD, "nvme-tools")
    os.makedirs(out, exist_ok=True)
    built = []
    for name in ("writelog", "hog"):
        path = os.path.join(out, name)
        source = os.path.join(bed.TOP, "tests", "nvme", name + ".c")
        done = subprocess.run(["gcc", "-static", "-O2", "-Wall", "-Werror", "-pthread", "-o", path, source],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise vm.VmError(f"{name} does not build:\n{done.stdout}")
        built.append(path)
    return [*PROGRAMS, *built]


class Nvme:
    """Host a, target b, over one provider"""

    def __init__(self, pair, provider="sockets", options="", named=False):
        self.pair = pair
        self.provider = provider
        self.options = options    # of the provider's module
        self.named = named        # nvmet.ko knows "kfi"; else we are its "loop"
        self.node = bed.node(provider, pair, "b")
        self.ctrl = None

    def words(self, **more):
        words = {"config": CONFIG, "nqn": NQN, "port": PORT, "disk": "/dev/vda", "family": "ipv4", "number": 1, "uuid": DISK_UUID,
                 "host": HOST_NQN, "trtype": "kfi" if self.named else "loop", "address": self.node}
        words.update(more)
        return words

    # ---- machine b ----

    def load_target(self, options=None):
        """Load the provider, nvmet and nvmet-kfi, with the transport type for this kernel."""
        if options is None:
            options = "" if self.named else "trtype=254"
        core = f"modprobe -a configfs nvme_core && modprobe -a -q nvme_auth nvme_keyring; insmod {PATCHED}" if self.named else \
            "modprobe nvmet"
        bed.load_provider(self.pair, "b", self.provider, self.options)
        self.pair.run("b", f"modprobe virtio_blk; {core} && modprobe nvmet-kfi {options}")

    def target(self):
        """Create the subsystem with its disk, and a port."""
        self.pair.run("b", TARGET.format(**self.words()))
        self.port()

    def port(self, check=True, **more):
        return self.pair.run("b", MAKE_PORT.format(**self.words(**more)), check=check)

    def drop_port(self, number=1):
        self.pair.run("b", DROP_PORT.format(**self.words(number=number)))

    def drop_target(self):
        self.drop_port()
        self.pair.run("b", DROP_TARGET.format(**self.words()))

    def unload_target(self):
        self.pair.run("b", f"rmmod nvmet_kfi nvmet kfi_ulp kfi_{self.provider} kfi")

    # ---- machine a ----

    def load_host(self):
        """Prepare the host, with names as nvme-cli makes them. The first connect loads nvme-kfi."""
        self.pair.run("a", f"mkdir -p /etc/nvme && echo {HOST} >/etc/nvme/hostid && "
                      f"echo {HOST_NQN} >/etc/nvme/hostnqn")
        bed.load_provider(self.pair, "a", self.provider, self.options)
        self.pair.run("a", "modprobe nvme_fabrics")

    def unload_host(self):
        """Nvme-kfi has loaded kfi_sockets for an address that no provider served."""
        self.pair.run("a", "rmmod nvme_kfi nvme_fabrics && rmmod $(cut -d' ' -f1 /proc/modules | grep ^kfi_) kfi")

    def connect_words(self, nqn=NQN, address=None, port=PORT, **options):
        words = [f"nvme connect -t kfi -a {address or self.node} -s {port} -n {nqn}"]
        words += [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        return " ".join(words)

    def controllers(self):
        return set(self.pair.run("a", "ls /sys/class/nvme 2>/dev/null", check=False).text.split())

    def connect(self, timeout=60, **options):
        """Connect, and wait for the disk. Return its device."""
        before = self.controllers()
        self.pair.run("a", self.connect_words(**options), timeout)
        new = self.controllers() - before
        if len(new) != 1:
            raise vm.Failed(f"new controllers: {sorted(new)}")
        self.ctrl = new.pop()
        return self.disk()

    def disk(self, ctrl=None):
        text = self.pair.run("a", "for try in $(seq 100); do for path in /sys/class/nvme-subsystem/*/"
                             f"{ctrl or self.ctrl}/../nvme*n1; do [ -b /dev/${{path##*/}} ] && echo /dev/${{path##*/}} && exit; "
                             "done; sleep 0.1; done; exit 1").text
        return text.split()[0]

    def disconnect(self, ctrl=None):
        ctrl = ctrl or self.ctrl
        self.pair.run("a", f"nvme disconnect -d {ctrl} && [ ! -e /sys/class/nvme/{ctrl} ]")

    def leave(self):
        """Clean up after a failed case: nothing is connected or running."""
        self.pair.run("a", "killall -9 writelog hog fio; umount /mnt; swapoff -a; nvme disconnect-all", check=False)

    def state(self, ctrl=None):
        return self.pair.run("a", f"cat /sys/class/nvme/{ctrl or self.ctrl}/state", check=False).text.strip()

    def until_live(self, timeout, ctrl=None):
        end = time.monotonic() + timeout
        while self.state(ctrl) != "live":
            if time.monotonic() > end:
                raise vm.TimedOut(f"{ctrl or self.ctrl} is {self.state(ctrl)}, not live, after {timeout} s")
            time.sleep(0.2)

    def reload(self, options):
        """Load the modules of both machines again, with these options of the provider's."""
        self.drop_target()
        self.unload_target()
        self.unload_host()
        self.options = options
        self.load_target()
        self.target()
        self.load_host()

    # ---- load ----

    def fio(self, disk, sizes, depth, mib=8, timeout=300, **options):
        """Verified writes and reads. Return the report."""
        words = {"rw": "randwrite", "bsrange": sizes, "iodepth": depth, "size": f"{mib}M", "ioengine": "libaio", "direct": 1,
                 "verify": "crc32c", "verify_fatal": 1, "do_verify": 1, "bs_unaligned": 0, **options}
        text = " ".join(f"--{name}={value}" for name, value in words.items())
        return self.pair.run("a", f"fio --name=verify --thread --filename={disk} {text}", timeout).text

    def write_log(self, disk, seconds, threads=4, mib=64):
        return WriteLog(self.pair.spawn("a", f"writelog {disk} {mib} {seconds} {threads}"))


class WriteLog:
    """A writelog that runs on machine a; see tests/nvme/writelog.c"""

    SAID = re.compile(r"acknowledged (\d+), read (\d+), pause (\d+) ms(.*)")

    def __init__(self, job):
        self.job = job

    def lines(self):
        return self.SAID.findall(self.job.output())

    def count(self):
        """Return the number of writes acknowledged so far."""
        if self.job.result:
            raise vm.Failed(f"{self.job} is over:\n{self.job.result.text[-2000:]}")
        lines = self.lines()
        return int(lines[-1][0]) if lines else 0

    def until_more(self, timeout, than=None):
        """Wait until writes continue."""
        than = self.count() if than is None else than
        end = time.monotonic() + timeout
        while self.count() <= than:
            if time.monotonic() > end:
                raise vm.TimedOut(f"no write was acknowledged for {timeout} s:\n{self.job.output()[-500:]}")
            time.sleep(0.2)

    def fails(self, timeout=90):
        """Wait until the disk fails. All that was read until then was right."""
        result = self.job.wait(timeout)
        if result.status == 0 or "not that of write" in result.text:
            raise vm.Failed(f"{self.job} ended with {result.status}:\n{result.text[-2000:]}")

    def finish(self, timeout=120):
        """Stop it and check that everything is there. Return its last line."""
        self.job.vm.run("killall writelog", check=False)
        result = self.job.wait(timeout)
        if result.status != 0 or "all there" not in result.text or "NOT" in result.text:
            raise vm.Failed(f"{self.job} ended with {result.status}:\n{result.text[-2000:]}")
        return self.lines()[-1]


CASES = []
case = bed.register_in(CASES)
DISK_MIB = 256
# Our modules once more, built with other private headers: tests/vm/nvme-misfit
MISFITS = "/lib/misfit"
# Of the kernel's own log, since the mark of this case
MARK = "kfabric-nvme-case"
# Reconnects follow quickly, and never end by themselves.
PATIENT = {"reconnect_delay": 1, "ctrl_loss_tmo": -1, "keep_alive_tmo": 5, "nr_io_queues": 2}


class Scenario:
    """One pair of machines, on which all cases run in order"""

    def __init__(self, pair, provider, opts):
        self.pair = pair
        self.opts = opts
        self.lot = random.Random(opts.seed)
        self.nvme = Nvme(pair, provider, PROMISE[provider][0], named=pair.series != "6.1")
        self.kfi = bed.Kfi(pair, provider)

    def mark(self, name="a"):
        self.pair.run(name, f"echo {MARK} >/dev/kmsg")

    def log(self, name="a"):
        """Return the kernel's messages since the last mark."""
        return self.pair.run(name, "dmesg").text.rpartition(MARK)[2]

    def kill_target(self):
        """Kill machine b and start it again with the same disk."""
        self.pair.kill("b")
        self.pair.boot("b")
        self.nvme.load_target()
        self.nvme.target()


@case(240)
def load(s):
    """the target's modules load, and a port by its type's name; nvme connect loads nvme-kfi"""
    s.mark("b")
    s.nvme.load_target()
    check("not compared" not in s.log("b"), s.log("b"))
    s.nvme.target()
    s.nvme.load_host()
    s.nvme.connect(nr_io_queues=2)
    listed = s.pair.run("a", "nvme list-subsys").text
    check(" kfi " in listed and "live" in listed, listed)
    s.nvme.disconnect()


@case(180)
def other_layout(s):
    """modules built with other structures than the kernel's are refused, and the log says why"""
    s.nvme.drop_target()
    s.nvme.unload_target()
    s.pair.run("b", f"modprobe nvmet && modprobe kfi_{s.nvme.provider}")
    s.pair.run("a", "rmmod nvme_kfi")
    for name, module, core in (("a", "nvme-kfi", "nvme_core"), ("b", "nvmet-kfi", "nvmet")):
        s.mark(name)
        check(s.pair.run(name, f"insmod {MISFITS}/{module}.ko", check=False).status != 0, f"a misfit of {module} was loaded")
        check(f"not built for this kernel's {core}: struct " in s.log(name), s.log(name))
        s.pair.run(name, f"modprobe {module}")
        check("not compared" not in s.log(name), s.log(name))
    s.pair.run("b", "rmmod nvmet_kfi nvmet")
    s.nvme.load_target()
    s.nvme.target()


@case(300)
def verified(s):
    """sizes from 512 bytes to 1 MiB, depths from 1 to 64, each byte with a checksum"""
    disk = s.nvme.connect(nr_io_queues=2)
    s.nvme.fio(disk, "512-4k", 1, size="256k")
    s.nvme.fio(disk, "512-64k", 16, 4)
    s.nvme.fio(disk, "4k-1m", 8, 16)
    s.nvme.fio(disk, "512-16k", 64, 2)
    s.nvme.fio(disk, "512-128k", 16, 4, rw="randrw", io_size="6M")
    s.nvme.disconnect()


@case(240, "sockets")
def cpu_offline(s):
    """a disk is connected and reset while CPUs are offline, with as many queues as have a CPU: data is right then and when they are back"""
    def online(word, *cpus):
        for cpu in cpus:
            s.pair.run("a", f"echo {word} >/sys/devices/system/cpu/cpu{cpu}/online")

    def reset():
        s.pair.run("a", f"echo 1 >/sys/class/nvme/{s.nvme.ctrl}/reset_controller", 60)
        s.nvme.until_live(30)

    def queues():
        return int(s.pair.run("a", f"cat /sys/class/nvme/{s.nvme.ctrl}/queue_count").text)

    online(0, 2)
    disk = s.nvme.connect()
    check(queues() == 3, f"{queues()} queues of two CPUs, with that of the administrator")
    for cpu in (0, 1):
        s.nvme.fio(disk, "4k-64k", 8, 1, cpus_allowed=cpu)
    online(1, 2)
    s.nvme.fio(disk, "4k-64k", 8, 1, cpus_allowed=2)
    for off in ((1,), (1, 2), (2,)):
        online(0, *off)
        reset()
        s.nvme.fio(disk, "4k-64k", 8, 1)
        online(1, *off)
        s.nvme.fio(disk, "4k-64k", 8, 1, cpus_allowed=off[0])
    s.nvme.disconnect()


@case(180, "sockets")
def chap(s):
    """DH-HMAC-CHAP: only a host and a target that have each other's keys get together"""
    make = f"nvme gen-dhchap-key --hmac=1 --nqn={HOST_NQN}"
    key, ctrl_key, other = (s.pair.run("a", make).text.strip() for _ in range(3))
    s.pair.run("b", ADMIT.format(key=key, ctrl_key=ctrl_key, **s.nvme.words()))
    for words in ({}, {"dhchap_secret": other}, {"dhchap_secret": key, "dhchap_ctrl_secret": other}):
        refused = s.pair.run("a", s.nvme.connect_words(nr_io_queues=2, **words), check=False)
        check(refused.status != 0, f"connected with {words}")
    s.mark()
    disk = s.nvme.connect(nr_io_queues=2, dhchap_secret=key, dhchap_ctrl_secret=ctrl_key)
    check("controller authenticated" in s.log(), s.log())
    s.nvme.fio(disk, "512-64k", 16, 2)
    s.nvme.disconnect()
    s.pair.run("b", ADMIT_ALL.format(**s.nvme.words()))


@case(3600)
def target_killed(s):
    """the target dies and comes back under load, at random moments: no acknowledged write is lost
    """
    disk = s.nvme.connect(**PATIENT)
    log = s.nvme.write_log(disk, 36000)
    for number in range(s.opts.kills):
        log.until_more(90)
        time.sleep(s.lot.uniform(0, 3))
        before = log.count()
        s.kill_target()
        log.until_more(120, before)
        s.nvme.until_live(60)
        s.pair.check_logs()
        s.pair.progress(f"{s.pair.series}: killed {number + 1} times, {log.count()} writes acknowledged")
    log.finish()
    s.nvme.disconnect()


@case(1800, "usb4")
def cable_pulled(s):
    """the cable is pulled and plugged under load, at random moments: no acknowledged write is lost"""
    disk = s.nvme.connect(**PATIENT)
    log = s.nvme.write_log(disk, 36000)
    for number in range(s.opts.kills):
        log.until_more(90)
        time.sleep(s.lot.uniform(0, 3))
        s.pair.devices.command("cable 0 unplug")
        time.sleep(s.lot.uniform(0, 6))
        before = log.count()
        s.pair.devices.command("cable 0 plug")
        log.until_more(120, before)
        s.nvme.until_live(60)
        s.pair.progress(f"{s.pair.series}: pulled {number + 1} times, {log.count()} writes acknowledged")
    log.finish()
    s.nvme.disconnect()


@case(400)
def memory_pressure(s):
    """swap and heavy writeback on the disk with little memory: no stall, and no leak"""
    disk = s.nvme.connect(**PATIENT)
    s.pair.run("a", f"mkswap {disk} && swapon {disk}")
    free = int(s.pair.run("a", "awk '/^MemAvailable/ { print $2 }' /proc/meminfo").text) // 1024
    # what is left for the rest is little, and half of it has to live on the disk
    job = s.pair.spawn("a", f"hog 96 {s.opts.pressure} {free - 48}")
    try:
        result = job.wait(300)
        check(result.status == 0, result.text)
    finally:
        out = s.pair.run("a", "cat /proc/vmstat | grep -E 'pswp(in|out)'").text
        s.pair.run("a", f"swapoff {disk}", timeout=300)
    check(all(int(line.split()[1]) > 1000 for line in out.splitlines()), f"hardly anything was swapped: {out}")
    s.nvme.disconnect()


# What systemd makes of MemoryMax=: the group has to swap, and others find memory.
BOUNDED = """set -e
mkdir -p /tmp/group && mount -t cgroup2 none /tmp/group
echo +memory >/tmp/group/cgroup.subtree_control
mkdir /tmp/group/hog
echo 64M >/tmp/group/hog/memory.max
"""
CUTS = 5


def cut(s, number):
    """End the TCP connections of a's disk, and wait until it has others, after new handshakes."""
    s.nvme.until_live(60)
    before = s.log().count("reconnected (attempt")
    s.pair.run("a", f"ss -K dst {s.pair.address('b')} dport = {PORT}", 60)
    end = time.monotonic() + 120
    while s.log().count("reconnected (attempt") <= before:
        check(time.monotonic() < end, f"no reconnect after cut {number}: {s.log()}")
        time.sleep(0.5)
    s.nvme.until_live(60)


def swapped(s):
    """Return the pages that a has swapped in and out since its boot."""
    text = s.pair.run("a", "grep -E '^pswp(in|out)' /proc/vmstat").text
    return [int(line.split()[1]) for line in text.splitlines()]


@case(600, "sockets")
def tls_pressure(s):
    """connections under TLS are cut while a bounded group swaps to the disk: no page is lost"""
    for name in s.pair.vms:
        tls_demo.agent(s.pair, name)
    plain = s.nvme.options
    s.nvme.reload(f"{plain} tls=psk")
    s.mark()
    disk = s.nvme.connect(**PATIENT)
    before = swapped(s)
    s.pair.run("a", BOUNDED + f"mkswap {disk} && swapon {disk}")
    job = s.pair.spawn("a", "rm -f /tmp/over; echo 0 >/tmp/group/hog/cgroup.procs; "
                       f"until [ -e /tmp/over ]; do hog 96 {s.opts.pressure} 0 || exit; done")
    try:
        for number in range(1, CUTS + 1):
            time.sleep(s.lot.uniform(1, 3))
            cut(s, number)
        s.pair.run("a", "touch /tmp/over")
        result = job.wait(300)
        check(result.status == 0, result.text)
    finally:
        after = swapped(s)
        s.pair.run("a", f"swapoff {disk}", timeout=300)
    check(all(y - x > 1000 for x, y in zip(before, after)), f"no swap: {before}, {after}")
    shaken = int(s.pair.run("a", "grep -c 'was successful' /tmp/tlshd.log").text)
    check(shaken > 2 * CUTS, f"{shaken} handshakes")
    s.nvme.disconnect()
    s.nvme.reload(plain)


@case(180)
def unload(s):
    """everything unloads"""
    s.nvme.drop_target()
    s.nvme.unload_target()
    s.nvme.unload_host()
    for name in s.pair.vms:
        check(not s.kfi.loaded(name), f"{name}: {s.kfi.loaded(name)} are still loaded")


def guest_files(series, verdict, logs, misfits):
    """Return a directory of files for the guests; with @misfits also those of other_layout()."""
    ko, tool = bed.build(series, verdict.progress, logs, "KFI_TESTS=y")
    need(verdict.progress, logs)
    verdict.progress(f"{series}: nvmet.ko that knows kfi, modules for another kernel")
    files = [tool, *programs(), f"{vm.script('nvmet', series)}/nvmet.ko:{PATCHED}"]
    if misfits:
        where = vm.script("nvme-misfit", series)
        files += [f"{where}/{name}.ko:{MISFITS}/{name}.ko" for name in ("nvme-kfi", "nvmet-kfi")]
    return ko, files


def chosen(function, opts, series):
    """Is it one of the requested cases, for this kernel? The first one loads the modules for all."""
    if series == "6.1" and function in (tls_pressure, chap):
        return False
    name = function.__name__
    wanted = function is load or any(word in name for word in opts.wanted.split(","))
    return wanted and not any(word in name for word in opts.unwanted.split(",") if word)


def guest_modules(series):
    """Return the stock modules of the guests."""
    return [*MODULES, *(["nvme_loop"] if series != "6.1" else [])]


def run_series(series, verdict, opts):
    """Run all cases on one kernel, on one pair; a broken pair ends the series."""
    logs = os.path.join(vm.BUILD, f"vm-{series}", f"nvme-{opts.provider}")
    ko, programs = guest_files(series, verdict, logs, chosen(other_layout, opts, series))
    modules, extra = guest_modules(series), []
    if opts.provider == "sockets" and chosen(tls_pressure, opts, series):
        modules += [*tls_demo.MODULES, "tcp_diag"]
        extra = ["-virtfs", tls_demo.share()]
    with bed.machines(opts.provider, series, logs, ko, programs=programs, modules=modules, cpus=3,
                      memory="640M", append="rootfstype=ramfs", disk=Disk(DISK_MIB),
                      qemu_extra=extra, progress=verdict.progress) as pair:
        scenario = Scenario(pair, opts.provider, opts)
        for function, budget, providers in CASES:
            if opts.provider not in (providers or PROMISE) or not chosen(function, opts, series):
                continue
            if verdict.case(series, function, budget, scenario):
                continue
            if not usable(pair):
                verdict.say(series, "the cases after that", 0, "a machine is broken")
                return
            scenario.nvme.leave()


def arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series", nargs="*", help="6.1 and 6.12 unless told")
    parser.add_argument("--provider", choices=sorted(PROMISE), default="sockets")
    parser.add_argument("-k", dest="wanted", default="", metavar="WORD", help="only cases with this word in their name, or one of these (A,B)")
    parser.add_argument("--skip", dest="unwanted", default="", metavar="WORD",
                        help="no cases with this word, or one of these, in their name")
    parser.add_argument("--kills", type=int, default=1, help="how often the target dies under load")
    parser.add_argument("--pressure", type=int, default=10, help="seconds of too little memory")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="of the moments at which trouble comes")
    return parser.parse_args(words)


def main():
    opts = arguments()
    verdict = Verdict(vm.Progress())
    print(f"seed {opts.seed}", flush=True)
    return bed.closing(verdict, opts.series or ["6.1", "6.12"], lambda series: run_series(series, verdict, opts))


if __name__ == "__main__":
    sys.exit(main())
