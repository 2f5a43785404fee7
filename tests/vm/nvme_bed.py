# SPDX-License-Identifier: GPL-2.0
"""NVMe over kfabric on a pair of machines: b serves a disk, a is the host"""

import os
import re
import subprocess
import time

import bed
import pair as vm

NQN = "nqn.2026-01.kfabric:disk"
PORT = 4420
DISK_UUID = "5d1f2c7a-83b4-4f60-9a35-7e1c9b04d6f8"
HOST = "0b7e3c52-6f0e-4c1e-9d3a-5c1f7a0e4d21"
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
                 "trtype": "kfi" if self.named else "loop", "address": self.node}
        words.update(more)
        return words

    # ---- machine b ----

    def load_target(self, options=None):
        """Load the provider, nvmet and nvmet-kfi, with the transport type for this kernel."""
        if options is None:
            options = "" if self.named else "trtype=254"
        core = f"modprobe -a configfs nvme_core && modprobe -a -q nvme_auth nvme_keyring; insmod {PATCHED}" if self.named else \
            "modprobe nvmet"
        self.pair.run("b", bed.BELOW[self.provider])
        self.pair.run("b", f"modprobe virtio_blk; modprobe kfi_{self.provider} {self.options} && {core} && "
                      f"modprobe nvmet-kfi {options}")

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
        self.pair.run("b", f"rmmod nvmet_kfi nvmet kfi_{self.provider} kfi")

    # ---- machine a ----

    def load_host(self):
        """Prepare the host, with names as nvme-cli makes them. The first connect loads nvme-kfi."""
        self.pair.run("a", f"mkdir -p /etc/nvme && echo {HOST} >/etc/nvme/hostid && "
                      f"echo nqn.2014-08.org.nvmexpress:uuid:{HOST} >/etc/nvme/hostnqn")
        self.pair.run("a", bed.BELOW[self.provider])
        self.pair.run("a", f"modprobe kfi_{self.provider} {self.options} && modprobe nvme_fabrics")

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

    def finish(self, timeout=120):
        """Stop it and check that everything is there. Return its last line."""
        self.job.vm.run("killall writelog", check=False)
        result = self.job.wait(timeout)
        if result.status != 0 or "all there" not in result.text or "NOT" in result.text:
            raise vm.Failed(f"{self.job} ended with {result.status}:\n{result.text[-2000:]}")
        return self.lines()[-1]
