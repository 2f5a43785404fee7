# SPDX-License-Identifier: GPL-2.0
"""Cases of scenario.py over RDMA devices: links, removal, and other users of the device"""

import time

import bed
import pair as vm

# A disk in the memory of b, given away on the same device as ours.
TARGET = """set -e
modprobe nvmet_rdma
modprobe brd rd_nr=1 rd_size=16384
mount -t configfs none /sys/kernel/config
cd /sys/kernel/config/nvmet
mkdir subsystems/disk subsystems/disk/namespaces/1 ports/1
echo 1 >subsystems/disk/attr_allow_any_host
echo -n /dev/ram0 >subsystems/disk/namespaces/1/device_path
echo 1 >subsystems/disk/namespaces/1/enable
echo rdma >ports/1/addr_trtype
echo ipv4 >ports/1/addr_adrfam
echo {address} >ports/1/addr_traddr
echo 4420 >ports/1/addr_trsvcid
ln -s /sys/kernel/config/nvmet/subsystems/disk ports/1/subsystems/disk
"""
TARGET_GOES = """set -e
cd /sys/kernel/config/nvmet
rm ports/1/subsystems/disk
rmdir ports/1 subsystems/disk/namespaces/1 subsystems/disk
cd /
umount /sys/kernel/config
rmmod nvmet_rdma nvmet brd
"""
DISK = "/dev/nvme0n1"
INITIATOR = """set -e
modprobe nvme_rdma
echo transport=rdma,traddr={address},trsvcid=4420,nqn=disk,nr_io_queues=2 >/dev/nvme-fabrics
for try in $(seq 100); do [ -b {disk} ] && exit 0; sleep 0.1; done
exit 1
"""
INITIATOR_GOES = "echo 1 >/sys/class/nvme/nvme0/delete_controller && rmmod nvme_rdma nvme_fabrics"
# Each byte goes to the disk and comes back from it, not from a cache.
DISK_IO = """set -e
head -c 1048576 /dev/urandom >/tmp/said
dd if=/tmp/said of={disk} bs=65536 oflag=direct
dd if={disk} of=/tmp/heard bs=65536 count=16 iflag=direct
cmp /tmp/said /tmp/heard
"""


def short_traffic(s):
    """Traffic that rxe supports on a bad wire.

    When rxe has to repeat a READ whose answer is longer than a packet it may end the queue pair,
    with a warning, and report the READ as a success; and it sends a long WRITE again for each
    packet out of order.
    """
    s.traffic(op="send,tagged,write", size="64,4000", iterations=30, mode="bandwidth", timeout=80)
    s.traffic(op="read", size="64,1000", iterations=30, mode="bandwidth", timeout=80)


def link_down(s):
    """a wire is unplugged on either side: errors in time, and traffic again when it is back"""
    for name in ("b", "a"):
        job = s.long_run(100)
        time.sleep(1)
        s.pair.vms[name].link(False)
        s.fails_in_time(job, time.monotonic())
        s.pair.vms[name].link(True)
        s.traffic(size="64,65536", iterations=10)


def new_device(s, name):
    """Replace the device with a new one; the server on b starts again."""
    if name == "b":
        s.kfi.command("b", "perf stop")
    s.pair.run(name, "rdma link delete rxe0; " + bed.BELOW["verbs"])


def device_removed(s):
    """a device is removed during traffic: errors in time, and its successor works"""
    for name in ("b", "a"):
        jobs = [s.long_run(100, depth=256, size=4096),
                s.long_run(100, op="send", size=64, type="msg", service=7472)]
        time.sleep(1)
        s.pair.run(name, "rdma link delete rxe0")
        start = time.monotonic()
        for job in jobs:
            s.fails_in_time(job, start)
        left = s.kfi.json(name, "info -p verbs", check=False)
        if left:
            raise vm.Failed(f"{name}: still offered: {left}")
        new_device(s, name)
        s.traffic(size="64,65536", iterations=10)
        s.traffic("msg", size="64", iterations=10)


def nvme_beside(s):
    """nvme-rdma and its target work on the same device, beside kfabric and without it"""
    words = {"address": s.address, "disk": DISK}
    s.pair.run("b", TARGET.format(**words))
    s.pair.run("a", INITIATOR.format(**words))
    try:
        jobs = [s.long_run(12, op="write,read"), s.long_run(12, op="send", size=300, type="msg", service=7472)]
        rounds = 0                # that we have been busy beside
        while all(job.poll() is None for job in jobs):
            s.pair.run("a", DISK_IO.format(**words))
            rounds += all(job.poll() is None for job in jobs)
        for job in jobs:
            s.finish(job)
        if not rounds:
            raise vm.Failed("the disk was never busy at the same time")
        s.kfi.command("b", "perf stop")
        for name in s.pair.vms:
            s.kfi.unload(name)
        s.pair.run("a", DISK_IO.format(**words))
        for name in s.pair.vms:
            s.load(name)
        s.traffic(size="64", iterations=10)
        s.pair.run("a", DISK_IO.format(**words))
    finally:
        s.pair.run("a", INITIATOR_GOES)
        s.pair.run("b", TARGET_GOES)
