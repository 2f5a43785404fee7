#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""rdma.py [--provider sockets|tls|ntb|usb4] [options] nfs|iser|nvme|srp...: the kernel's own RDMA ULPs over kfi_ib

Two machines of a stock kernel with a device of kfi_ib each, over kfi_sockets or over a bridge. Machine b has a disk for each
ULP, machine a uses it; no ULP was changed. ULPs that are joined by commas are on the same pair of machines: each trouble comes
to all of them at once. After each case the consoles must be clean. The last line is "N passed, N failed".
"""

import argparse
import os
import random
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from scenario import PROMISE, Verdict, check, once_more  # noqa: E402
import bed                                               # noqa: E402
import nvme                                              # noqa: E402
import pair as vm                                        # noqa: E402
import tls_demo                                          # noqa: E402

SERIES = "6.12"
DISK_MIB = 256
COPY_MIB = 1
LOG_MIB = 4                       # written and compared while trouble comes
MTU = 9000                        # of the wire: an emulated machine moves four times as many bytes a second as with 1500
REPORT = 0.25                     # seconds between two lines of a writelog
# Both machines load these while they boot.
MODULES = ("9p", "9pnet_virtio", "overlay", "virtio_blk", "ext4", "8021q")
# The root directory of Debian's programs. What they write is in memory.
ROOT = "/debian"
ENTER = f"""set -e
mkdir -p /run/debian /run/upper {ROOT}
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=131072 debian /run/debian
mount -t tmpfs none /run/upper
mkdir /run/upper/files /run/upper/work
mount -t overlay none -o lowerdir=/run/debian,upperdir=/run/upper/files,workdir=/run/upper/work {ROOT}
for dir in dev proc sys run tmp; do mkdir -p {ROOT}/$dir; mount -o rbind /$dir {ROOT}/$dir; done
mkdir -p {ROOT}/lib/modules {ROOT}/run/lock {ROOT}/nfs {ROOT}/smb
mount -o bind /lib/modules {ROOT}/lib/modules
cp /etc/passwd {ROOT}/etc/passwd
echo root:x:0: >{ROOT}/etc/group
echo 127.0.0.1 localhost >{ROOT}/etc/hosts
"""
IN_ROOT = f"chroot {ROOT} "
LINK = "kfi0"
VLAN = "vlan5"
MOUNT_CONFIG = "grep -q ' /sys/kernel/config ' /proc/mounts || mount -t configfs none /sys/kernel/config"


class Sockets:
    """What is below the RDMA devices: eth0, by TCP"""

    name = "sockets"
    machines = "sockets"          # what joins them, as bed.py calls it
    versions = (4, 6)             # of IP
    secret = False                # no byte can be read on the wire
    netdev = "eth0"
    # A peer that is gone is noticed after seconds, and one whose machine has no time for a while is not gone. LIO's iSER
    # target forgets a device that goes while an initiator logs in, so none should have to do that unasked.
    load = "modprobe kfi_sockets peer_timeout_ms=8000 connect_timeout_ms=8000"
    stock = ()                    # modules of the kernel that it needs
    modules = "kfi_sockets"       # besides kfi_ib and kfi, in the order of their removal

    def __init__(self, pair):
        self.pair = pair

    def address(self, name, version=4):
        return self.pair.address(name, version)

    def enter(self, name):
        self.pair.run(name, self.load)

    def vlan_address(self, name):
        return f"10.79.5.{1 + sorted(self.pair.vms).index(name)}"

    def add_vlans(self):
        for name in self.pair.vms:
            self.pair.run(name, f"modprobe 8021q && ip link add link {self.netdev} name {VLAN} type vlan id 5 && "
                          f"ip addr add {self.vlan_address(name)}/24 dev {VLAN} && ip link set {VLAN} up")

    def remove_vlans(self):
        for name in self.pair.vms:
            self.pair.run(name, f"ip link del {VLAN}")

    def netdev_down(self, name, seconds):
        """Take the network device down for a while. It keeps its IPv6 address: without its GID ib_cm says no goodbye (rdma_create_ah())."""
        self.pair.run(name, f"echo 1 >/proc/sys/net/ipv6/conf/{self.netdev}/keep_addr_on_down; "
                      f"ip link set {self.netdev} down; sleep {seconds}; ip link set {self.netdev} up")

    def down(self, lot):
        """Take down what there is, one after the other: one for a second, one for longer than peers wait. Yields after each."""
        for name, seconds in zip(self.pair.vms, lot.sample((1, 11), 2)):
            self.netdev_down(name, seconds)
            yield


class Tls(Sockets):
    """eth0, under TLS with keys, which the machines have for their IPv4 addresses"""

    name = "tls"
    versions = (4,)
    secret = True
    load = f"{Sockets.load} tls=psk"
    stock = tls_demo.MODULES

    def enter(self, name):
        tls_demo.agent(self.pair, name)
        super().enter(name)


class Ntb(Sockets):
    """A bridge, by the Ethernet device that kfi_net gives it"""

    name = "ntb"
    machines = "ntb"
    netdev = "kfi0"
    load = f"{bed.BELOW['ntb']} && modprobe kfi_ntb {PROMISE['ntb'][0]} && modprobe kfi_net"
    modules = "kfi_net kfi_ulp kfi_ntb"

    def address(self, name, version=4):
        number = 1 + sorted(self.pair.vms).index(name)
        return f"10.76.0.{number}" if version == 4 else f"fd76::{number}"

    def enter(self, name):
        super().enter(name)
        # SRP's target is named after the Ethernet address, which is a random one unless it is set.
        self.pair.run(name, f"until [ -d /sys/class/net/{self.netdev} ]; do sleep 0.1; done; ip link set {self.netdev} address {vm.MAC[name]} up && "
                      f"ip addr add {self.address(name)}/24 dev {self.netdev} && "
                      f"ip addr add {self.address(name, 6)}/64 dev {self.netdev} nodad")

    def down(self, lot):
        for name in self.pair.vms:
            self.netdev_down(name, 1)
            yield
        self.pair.devices.command("link 0 down")
        time.sleep(lot.choice((1, 6, 12)))
        self.pair.devices.command("link 0 up")
        yield


class Usb4(Ntb):
    """A cable, by the Ethernet device that kfi_net gives it"""

    name = "usb4"
    machines = "usb4"
    load = "modprobe kfi_net"
    modules = "kfi_net kfi_ulp kfi_usb4"

    def enter(self, name):
        bed.load_provider(self.pair, name, "usb4", PROMISE["usb4"][0])
        super().enter(name)

    def down(self, lot):
        for name in self.pair.vms:
            self.netdev_down(name, 1)
            yield
        self.pair.devices.command("cable 0 unplug")
        time.sleep(lot.choice((1, 6, 12)))
        self.pair.devices.command("cable 0 plug")
        yield


NETWORKS = {"sockets": Sockets, "tls": Tls, "ntb": Ntb, "usb4": Usb4}


class Ulp:
    """A ULP whose server is machine b and whose client is machine a"""

    modules = ()                  # stock modules of the guests
    load = {"a": (), "b": ()}     # modules that each of them loads while it boots
    script = None                 # which builds those that Debian leaves out
    versions = (4, 6)             # of IP
    lasts = True                  # a's disk stays when its RDMA device goes
    waits = True                  # a's disk fails nothing while b is out of reach
    hangs = False                 # a write that is under way when its connection ends hangs for ever
    anywhere = False              # the server listens at all addresses
    vlan = False                  # a calls an address of the VLAN

    def __init__(self, pair, network, disk="/dev/vda"):
        self.pair = pair
        self.network = network
        self.disk = disk          # on b
        self.host = nvme.Nvme(pair)
        self.where = None         # disk or file on a, while connected

    def serve(self):
        """Start the server on b."""

    def relisten(self):
        """Let the server listen again, if it does not do so by itself when its device comes back."""

    def drop(self):
        """Stop the server."""

    def connect(self, version=4):
        """Connect, and set .where."""

    def disconnect(self):
        """End what connect() has begun."""

    def copied(self):
        """Copy a file to the other machine and compare it with what is there, if there are files."""

    def address(self, version, brackets=True):
        address = self.network.vlan_address("b") if self.vlan else self.network.address("b", version)
        return f"[{address}]" if version == 6 and brackets else address

    def in_root(self, name, command, timeout=60, check=True):
        return self.pair.run(name, IN_ROOT + command, timeout, check)

    def until(self, name, command, timeout=60):
        """Wait until a command succeeds there. Return its output."""
        end = time.monotonic() + timeout
        while True:
            result = self.pair.run(name, command, check=False)
            if result.status == 0:
                return result.text
            if time.monotonic() > end:
                raise vm.TimedOut(f"{name}: not within {timeout} s: {command}\n{result.text[-2000:]}")
            time.sleep(0.5)

    def scsi_disks(self):
        """Return the SCSI disks on a that have a size."""
        text = self.pair.run("a", "cd /sys/block && for disk in sd*; do grep -qsvx 0 $disk/size && echo $disk; done", check=False).text
        return set(text.split())

    def new_disk(self, before):
        """Return the device of the SCSI disk that has come."""
        end = time.monotonic() + 60
        while not self.scsi_disks() - before:
            if time.monotonic() > end:
                raise vm.TimedOut("no SCSI disk on a")
            time.sleep(0.2)
        return "/dev/" + (self.scsi_disks() - before).pop()


class Nfs(Ulp):
    """NFS 4.2 over RDMA: a file system on b's disk, mounted on a"""

    anywhere = True
    modules = ("nfsd", "nfsv4", "rpcrdma")
    load = {"a": ("nfsv4", "rpcrdma"), "b": ("nfsd", "rpcrdma")}
    PORT = 20049
    NFSD = f"{ROOT}/proc/fs/nfsd"
    # A server at the same port, in a namespace without the device: it must not get the callers. It has no threads, and ends
    # when its nfsd is unmounted.
    ELSEWHERE = f"""set -e
        ip netns add elsewhere
        ip netns exec elsewhere sh -c 'mount -t nfsd none /proc/fs/nfsd && echo rdma {PORT} >/proc/fs/nfsd/portlist &&
            touch /run/elsewhere && exec sleep 100000' </dev/null >/dev/null 2>&1 &
        until [ -e /run/elsewhere ]; do sleep 0.1; done"""

    def serve(self):
        self.pair.run("b", self.ELSEWHERE)
        self.pair.run("b", f"""set -e
            mount -t ext4 {self.disk} {ROOT}/nfs || {{ mkfs.ext4 -q -F {self.disk} && mount -t ext4 {self.disk} {ROOT}/nfs; }}
            chmod 777 {ROOT}/nfs
            mount -t nfsd none {self.NFSD}
            mkdir -p {ROOT}/var/lib/nfs/v4recovery
            touch {ROOT}/var/lib/nfs/etab {ROOT}/var/lib/nfs/rmtab
            echo '/nfs *(rw,fsid=0,no_root_squash,insecure,no_subtree_check)' >{ROOT}/etc/exports
            {IN_ROOT} exportfs -ra
            {IN_ROOT} rpc.mountd --no-udp -N 2 -N 3""")
        if self.pair.series == "newest":     # the only one that remembers no clients by itself
            self.pair.run("b", f"mkdir -p {ROOT}/run/pipefs {ROOT}/var/lib/nfs/nfsdcld && "
                          f"mount -t rpc_pipefs none {ROOT}/run/pipefs")
            self.in_root("b", "nfsdcld -p /run/pipefs")
        self.in_root("b", f"rpc.nfsd -G 10 -L 10 -N 3 -V 4.2 --rdma={self.PORT} 8")
        # The period of grace has not begun where nfsdcld knows no clients.
        self.pair.run("b", f"echo Y >{self.NFSD}/v4_end_grace", check=self.pair.series != "newest")
        ports = self.pair.run("b", f"cat {self.NFSD}/portlist").text
        check(ports.count(f"rdma {self.PORT}") == 2, f"nfsd listens at {ports}")

    def drop(self):
        self.in_root("b", "rpc.nfsd 0")
        self.in_root("b", "exportfs -ua")
        self.pair.run("b", f"killall rpc.mountd nfsdcld; umount {self.NFSD} {ROOT}/nfs")

    def connect(self, version=4):
        proto = "rdma6" if version == 6 else "rdma"
        self.in_root("a", f"mount.nfs4 {self.address(version)}:/ /nfs -o proto={proto},port={self.PORT},vers=4.2", 90)
        stats = self.pair.run("a", "cat /proc/self/mountstats").text
        check("xprt:\trdma" in stats, f"no RDMA transport:\n{stats}")
        self.where = f"{ROOT}/nfs/file"
        self.pair.run("a", f"truncate -s 64M {self.where}")

    def disconnect(self):
        self.pair.run("a", f"umount {ROOT}/nfs", 90)

    COPY = (f"head -c {COPY_MIB << 20} /dev/urandom >/tmp/file && cp /tmp/file copy && "
            "sync && echo 3 >/proc/sys/vm/drop_caches && cmp /tmp/file copy && rm copy /tmp/file")

    def copied(self):
        self.pair.run("a", f"cd {os.path.dirname(self.where)} && {self.COPY}", 120)


class Iser(Ulp):
    """iSER: b's disk by LIO's target, on a by open-iscsi"""

    load = {"a": ("ib_iser", "sd_mod"), "b": ("target_core_iblock", "iscsi_target_mod", "ib_isert")}
    modules = load["a"] + load["b"]
    # A command that ib_iser begins between the loss of its connection and the news of it fails (iser_initialize_task_headers()).
    waits = False
    TARGET = "iqn.2026-01.kfabric:disk"
    PORT = 3260
    CONFIG = "/sys/kernel/config/target"
    TPG = f"{CONFIG}/iscsi/{TARGET}/tpgt_1"
    CORE = f"{CONFIG}/core/iblock_0/iser"
    # Replies that do not come are noticed within seconds; requests wait for the next session.
    NODE = {"node.conn[0].timeo.noop_out_interval": 1, "node.conn[0].timeo.noop_out_timeout": 15,
            "node.session.timeo.replacement_timeout": 240, "node.conn[0].timeo.login_timeout": 15,
            "node.session.initial_login_retry_max": 1}

    def portals(self):
        return [f"{self.TPG}/np/{self.address(version)}:{self.PORT}" for version in (4, 6)]

    def serve(self):
        self.pair.run("b", f"""set -e
            {MOUNT_CONFIG}
            mkdir -p {self.CORE} {self.TPG}/lun/lun_0
            echo udev_path={self.disk} >{self.CORE}/control
            echo 1 >{self.CORE}/enable
            ln -s {self.CORE} {self.TPG}/lun/lun_0/disk
            for word in generate_node_acls cache_dynamic_acls; do echo 1 >{self.TPG}/attrib/$word; done
            for word in authentication demo_mode_write_protect; do echo 0 >{self.TPG}/attrib/$word; done""")
        self.listen()
        self.pair.run("b", f"echo 1 >{self.TPG}/enable")

    def listen(self):
        for portal in self.portals():
            self.pair.run("b", f"mkdir {portal} && echo 1 >{portal}/iser")

    def relisten(self):
        self.pair.run("b", f"rmdir {' '.join(self.portals())}")
        self.listen()

    def drop(self):
        self.pair.run("b", f"""set -e
            echo 0 >{self.TPG}/enable
            rm {self.TPG}/lun/lun_0/disk
            rmdir {self.TPG}/lun/lun_0 {' '.join(self.portals())} {self.TPG}
            rmdir {self.CONFIG}/iscsi/{self.TARGET} {self.CONFIG}/iscsi {self.CORE}
            rmdir {self.CONFIG}/core/iblock_0 2>/dev/null || :""")

    def connect(self, version=4):
        node = f"iscsiadm -m node -T {self.TARGET} -p {self.address(version)}:{self.PORT} -I iser"
        words = " ".join(f"-n {name} -v {value}" for name, value in self.NODE.items())
        before = self.scsi_disks()
        self.pair.run("a", f"""set -e
            mkdir -p {ROOT}/etc/iscsi
            echo InitiatorName=iqn.2026-01.kfabric:a >{ROOT}/etc/iscsi/initiatorname.iscsi
            [ -s /run/iscsid.pid ] && kill -0 $(cat /run/iscsid.pid) 2>/dev/null || {IN_ROOT} iscsid
            {IN_ROOT} iscsiadm -m iface -I iser >/dev/null 2>&1 || {IN_ROOT} iscsiadm -m iface -I iser -o new
            {IN_ROOT} {node} -o new
            {IN_ROOT} {node} -o update {words}
            {IN_ROOT} {node} --login""", 90)
        self.where = self.new_disk(before)
        # The kernel complains of a work item of iSCSI's that waits for one of power management's when the target goes.
        self.pair.run("a", f"echo on >$(readlink -f /sys/block/{os.path.basename(self.where)}/device)/../power/control")

    def disconnect(self):
        self.in_root("a", "iscsiadm -m node --logout", 90)
        self.in_root("a", "iscsiadm -m node -o delete")
        self.where = None


class Nvme(Ulp):
    """nvme-rdma and nvmet-rdma"""

    load = {"a": ("nvme_rdma",), "b": ("nvmet_rdma",)}
    modules = load["a"] + load["b"]
    lasts = False

    def ports(self):
        for number, version, family in ((1, 4, "ipv4"), (2, 6, "ipv6")):
            self.host.port(number=number, trtype="rdma", family=family, address=self.address(version, False))

    def serve(self):
        self.pair.run("b", nvme.TARGET.format(**self.host.words(disk=self.disk)))
        self.ports()

    def drop_ports(self):
        for number in (1, 2):
            self.host.drop_port(number)

    def relisten(self):
        self.drop_ports()
        self.ports()

    def drop(self):
        self.drop_ports()
        self.pair.run("b", nvme.DROP_TARGET.format(**self.host.words()))

    def connect(self, version=4):
        self.pair.run("a", f"mkdir -p /etc/nvme && echo {nvme.HOST} >/etc/nvme/hostid && "
                      f"echo nqn.2014-08.org.nvmexpress:uuid:{nvme.HOST} >/etc/nvme/hostnqn")
        words = " ".join(f"--{name.replace('_', '-')}={value}" for name, value in nvme.PATIENT.items())
        before = self.host.controllers()
        self.pair.run("a", f"nvme connect -t rdma -a {self.address(version, False)} -s {nvme.PORT} -n {nvme.NQN} {words}")
        self.host.ctrl = (self.host.controllers() - before).pop()
        self.where = self.host.disk()

    def disconnect(self):
        self.host.disconnect()
        self.where = None


class Srp(Ulp):
    """SRP: b's disk by LIO's target, on a by ib_srp"""

    load = {"a": ("ib_srp", "sd_mod"), "b": ("target_core_iblock", "ib_srpt")}
    modules = load["a"] + load["b"]
    lasts = False
    PORT = 5555
    CONFIG = "/sys/kernel/config/target"
    CORE = f"{CONFIG}/core/iblock_0/srp"

    def gid(self, name):
        """Return the first GID of the device there, after which the port is named."""
        return self.pair.run(name, f"cat /sys/class/infiniband/{LINK}/ports/1/gids/0").text.strip().replace(":", "")

    def port(self):
        """Return the folder of the target's port."""
        return f"{self.CONFIG}/srpt/0x{self.gid('b')}/0x{self.gid('b')}"

    def serve(self):
        self.pair.run("b", f"""set -e
            {MOUNT_CONFIG}
            mkdir -p {self.CORE} {self.CONFIG}/srpt
            echo udev_path={self.disk} >{self.CORE}/control
            echo 1 >{self.CORE}/enable
            echo {self.PORT} >{self.CONFIG}/srpt/discovery_auth/rdma_cm_port""")
        self.listen()

    def listen(self):
        initiator = "0x" + "0" * 16 + self.gid("a")[16:]
        self.pair.run("b", f"""set -e
            mkdir -p {self.port()}/lun/lun_0
            ln -s {self.CORE} {self.port()}/lun/lun_0/disk
            mkdir -p {self.port()}/acls/{initiator}/lun_0
            ln -s {self.port()}/lun/lun_0 {self.port()}/acls/{initiator}/lun_0/disk
            echo 1 >{self.port()}/enable""")

    def unlisten(self):
        self.pair.run("b", f"""set -e
            echo 0 >{self.port()}/enable
            rm {self.port()}/acls/*/lun_0/disk
            rmdir {self.port()}/acls/*/lun_0 {self.port()}/acls/*
            rm {self.port()}/lun/lun_0/disk
            rmdir {self.port()}/lun/lun_0 {self.port()} $(dirname {self.port()})""")

    def relisten(self):
        self.unlisten()
        self.listen()

    # A disk waits for its target, which is asked each second.
    PATIENT = "cd /sys/module/ib_srp/parameters && echo 1 >reconnect_delay && echo off >fast_io_fail_tmo"

    def connect(self, version=4):
        self.pair.run("a", self.PATIENT)
        before = self.scsi_disks()
        guid = int(self.pair.run("b", "cat /sys/module/ib_srpt/parameters/srpt_service_guid").text, 16)
        self.pair.run("a", f"echo id_ext={guid:016x},ioc_guid={guid:016x},dest={self.address(version)}:{self.PORT} "
                      f">/sys/class/infiniband_srp/srp-{LINK}-1/add_target", 90)
        self.where = self.new_disk(before)

    def disconnect(self):
        self.pair.run("a", "for port in /sys/class/srp_remote_ports/*; do echo 1 >$port/delete; done", 90)
        self.until("a", f"! ls -d /sys/block/{os.path.basename(self.where)}")
        self.where = None

    def drop(self):
        self.unlisten()
        self.pair.run("b", f"rmdir {self.CONFIG}/srpt {self.CORE} && {{ rmdir {self.CONFIG}/core/iblock_0 2>/dev/null || :; }}")


class Rnbd(Ulp):
    """RNBD: b's disk over RTRS, which needs immediates"""

    script = "rnbd-modules"
    load = {"a": ("rnbd-client",), "b": ("rnbd-server",)}
    waits = False
    CLIENT = "/sys/devices/virtual/rnbd-client/ctl"
    # It waits for 30 s before it tries again, and not at all after its RDMA device has gone.
    AGAIN = """while sleep 1; do
            for path in /sys/class/rtrs-client/*/paths/*; do
                read state <$path/state
                [ $state = connected ] || echo 1 >$path/reconnect
            done
        done"""

    def drop(self):
        self.pair.run("b", "modprobe -r rnbd-server")

    def connect(self, version=4):
        self.pair.run("a", f"echo sessname=over{version} path=ip:{self.address(version, False)} "
                      f"device_path={self.disk} >{self.CLIENT}/map_device", 90)
        self.pair.run("a", f"sh -c '{self.AGAIN}' </dev/null >/dev/null 2>&1 & echo $! >/run/again")
        self.where = "/dev/rnbd0"

    def disconnect(self):
        self.pair.run("a", "kill $(cat /run/again); echo normal >/sys/block/rnbd0/rnbd/unmap_device", 90)
        self.until("a", "! ls -d /sys/block/rnbd*")
        self.where = None


class Smb(Ulp):
    """SMB Direct: a file system on b's disk, shared by ksmbd, mounted on a by cifs"""

    script = "smb-modules"
    versions = (4,)               # ksmbd of 6.12 listens at 0.0.0.0 only
    # smbd_send() of 6.12 waits for the end of its sends, and send_done() of one that has failed wakes nobody.
    hangs = True
    modules = ("netfs", "dns_resolver", "cmac", "ccm", "gcm", "ghash_generic", "nls_ucs2_utils", "cifs_arc4", "cifs_md4", "nls_utf8")
    load = {"a": (*modules, "cifs"), "b": (*modules, "ksmbd")}
    CONFIG = f"""[global]
        interfaces = {{netdev}}
        [disk]
        path = {ROOT}/smb
        read only = no
        force user = root"""

    def serve(self):
        config = self.CONFIG.format(netdev=self.network.netdev)
        # ksmbd acknowledges a write when the file system has it, and that may be a page cache.
        mount = f"mount -t ext4 -o sync {self.disk} {ROOT}/smb"
        self.pair.run("b", f"""set -e
            {mount} || {{ mkfs.ext4 -q -F {self.disk} && {mount}; }}
            mkdir -p {ROOT}/etc/ksmbd
            echo '{config}' >{ROOT}/etc/ksmbd/ksmbd.conf
            echo nogroup:x:65534: >>{ROOT}/etc/group
            echo nobody:x:65534:65534::/:/bin/sh >>{ROOT}/etc/passwd
            {IN_ROOT} ksmbd.adduser -a root -p secret -i /etc/ksmbd/users
            {IN_ROOT} ksmbd.mountd -c /etc/ksmbd/ksmbd.conf -u /etc/ksmbd/users""")
        self.until("b", f"rdma resource show cm_id link {LINK} | grep LISTEN")

    def drop(self):
        self.pair.run("b", f"killall ksmbd.mountd; echo hard >/sys/class/ksmbd-control/kill_server; sleep 3; umount {ROOT}/smb; rmmod ksmbd")

    def connect(self, version=4):
        address = self.address(version, False)
        self.pair.run("a", f"mount -t cifs //b/disk {ROOT}/smb -o 'ip={address},unc=\\\\{address}\\disk,"
                      "user=root,pass=secret,vers=3.1.1,rdma,sec=ntlmssp,hard'", 90)
        self.where = f"{ROOT}/smb/file"
        self.pair.run("a", f"truncate -s 64M {self.where}")

    def disconnect(self):
        self.pair.run("a", f"umount {ROOT}/smb", 90)

    copied = Nfs.copied
    COPY = Nfs.COPY


ULPS = {"nfs": Nfs, "iser": Iser, "nvme": Nvme, "srp": Srp, "rnbd": Rnbd, "smb": Smb}


def enter(pair, network, *names):
    """On these machines, mount the programs of the ULPs, and make the RDMA devices."""
    for name in names:
        pair.run(name, ENTER)
        network.enter(name)
    for name in names:
        link(pair, network, name)


def link(pair, network, name):
    """Make the RDMA device; this loads kfi_ib by its alias. It is active when the network device is."""
    pair.run(name, f"rdma link add {LINK} type kfi netdev {network.netdev} && "
             f"for i in $(seq 200); do grep -q ACTIVE /sys/class/infiniband/{LINK}/ports/1/state && exit 0; sleep 0.1; done; exit 1")


class Disks(nvme.Disk):
    """A disk of machine b for each ULP, /dev/vda and so on"""

    def __init__(self, mib, count):
        super().__init__(mib)
        self.count = count
        self.run_dir = None

    def start(self, run_dir, logs):
        self.run_dir = run_dir
        for number in range(self.count):
            with open(f"{run_dir}/disk{number}", "wb") as file:
                file.truncate(self.mib << 20)

    def arguments(self, name, memory):
        words = []
        for number in range(self.count if name == "b" else 0):
            words += ["-drive", f"file={self.run_dir}/disk{number},format=raw,if=none,id=disk{number},discard=unmap",
                      "-device", f"virtio-blk-pci,drive=disk{number},romfile="]
        return words


class Scenario:
    """One pair of machines, on which all cases of some ULPs run in order"""

    def __init__(self, pair, names, opts):
        self.pair = pair
        self.network = NETWORKS[opts.provider](pair)
        self.ulps = [ULPS[name](pair, self.network, f"/dev/vd{letter}") for name, letter in zip(names, "abcdef")]
        self.rounds = opts.rounds
        self.lot = random.Random(opts.seed)
        self.versions = self.lot.sample((4, 6), 2) if 6 in self.network.versions else (4, 4)

    def load(self):
        """Let all writers write for a while, different each time."""
        self.pair.run("a", "killall -CONT writelog", check=False)
        time.sleep(self.lot.uniform(0.2, 1))

    def remove(self, name):
        """Remove the RDMA device. A rmmod that hangs is not killed: some ULPs free what they wait for when a signal comes."""
        check(self.pair.spawn(name, "rmmod kfi_ib").wait(90).status == 0, f"{name}: kfi_ib is in use")

    def serve(self):
        for ulp in self.ulps:
            ulp.serve()

    def relisten(self):
        for ulp in self.ulps:
            ulp.relisten()

    def writes(self, version, ulps=None):
        """Connect, and start writes that are compared, or copy a file. Return the writers when each has acknowledged some."""
        for ulp in ulps or self.ulps:
            ulp.connect(version if version in ulp.versions else 4)
        logs = {ulp: nvme.WriteLog(self.pair.spawn("a", f"writelog {ulp.where} {LOG_MIB} 36000 4{'' if ulp.waits else ' wait'}"))
                for ulp in ulps or self.ulps if not ulp.hangs}
        self.until_more(logs, 60)
        return logs

    def loads(self):
        """Yield the writers at a random moment of each round, for half of them by each IP. All that was written is there then."""
        for version, rounds in zip(self.versions, ((self.rounds + 1) // 2, self.rounds // 2)):
            logs = self.writes(version) if rounds else {}
            for number in range(rounds):
                self.pair.progress(f"IPv{version}, round {number + 1} of {rounds}")
                self.load()
                yield version, logs
            if rounds:
                self.finish(logs)

    def until_more(self, logs, timeout):
        """Wait until each of them has written. It is stopped then, until the next trouble: emulated CPUs are dear."""
        time.sleep(2 * REPORT)    # what was acknowledged before the trouble is no success after it
        waiting = {ulp: log.count() for ulp, log in logs.items()}
        end = time.monotonic() + timeout
        while waiting:
            for ulp in [ulp for ulp, count in waiting.items() if logs[ulp].count() > count]:
                self.pair.run("a", f"for pid in $(pidof writelog); do ! xargs -0 </proc/$pid/cmdline | grep -qF {ulp.where} || kill -STOP $pid; done")
                del waiting[ulp]
            if time.monotonic() > end:
                raise vm.TimedOut(f"no write was acknowledged for {timeout} s: {', '.join(type(ulp).__name__ for ulp in waiting)}")
            time.sleep(REPORT)
        for ulp in [ulp for ulp in self.ulps if ulp.hangs]:
            ulp.copied()

    def finish(self, logs):
        self.load()
        for log in logs.values():
            log.finish()
        for ulp in self.ulps:
            ulp.disconnect()
        self.nothing_left()

    LEFT = "rdma resource show qp | grep -v 'type GSI'; rdma resource show mr; rdma resource show cm_id | grep -v 'state LISTEN'"

    def nothing_left(self):
        """No connection and no region is left on both machines; the server may still be busy with the end."""
        for name in self.pair.vms:
            self.ulps[0].until(name, f"left=$({self.LEFT}); echo \"$left\"; [ -z \"$left\" ]")


CASES = []
case = bed.register_in(CASES)


@case(600)
def served(s):
    """the servers of the ULPs listen at the device, by IPv4 and IPv6"""
    s.serve()
    shown = s.pair.run("b", "rdma resource").text
    check(f"{LINK}:" in shown and " cm_id 0 " not in shown, f"no listener:\n{shown}")


@case(1200)
def verified(s):
    """a copy, and reads and writes of 4 KiB to 256 KiB, each byte compared, by IPv4 and IPv6; nothing is left then"""
    for ulp in s.ulps:
        for version in sorted({*ulp.versions} & {*s.network.versions}):
            ulp.connect(version)
            ulp.copied()
            ulp.host.fio(ulp.where, "4k-256k", 8, 4, rw="randrw")
            ulp.disconnect()
            s.nothing_left()


MARK = "These words of a file must not be seen on a wire that is secret."
MARKED = 262144                   # bytes


def on_the_wire(pair, ulp, path):
    """Write and read a text by a ULP that is connected. Return what a capture of the wire has, which is left in a file."""
    with tls_demo.capture(pair, "a", path):
        pair.run("a", f"yes '{MARK}' | head -c {MARKED} >/tmp/mark && cat /tmp/mark >{ulp.where} && sync && "
                 f"echo 3 >/proc/sys/vm/drop_caches && head -c {MARKED} {ulp.where} | cmp - /tmp/mark", 60)
    with open(path, "rb") as file:
        seen = file.read()
    check(len(seen) > 2 * MARKED, f"the capture has {len(seen)} bytes only")
    return seen


@case(300, "sockets", "tls")
def wire(s):
    """a capture of the wire shows what is written and read, unless the provider encrypts"""
    for ulp in s.ulps:
        ulp.connect()
        path = os.path.join(s.pair.logs, "wire.pcap")
        seen = on_the_wire(s.pair, ulp, path)
        ulp.disconnect()
        check((MARK.encode() in seen) != s.network.secret, f"{path} shows {'' if s.network.secret else 'not '}what was written")
    s.nothing_left()


@case(300, "sockets", "ntb", "usb4")
def vlan(s):
    """servers are called at an address that comes later, of a VLAN above the interface of the device"""
    s.network.add_vlans()
    for ulp in s.ulps:
        ulp.vlan = ulp.anywhere
        if ulp.vlan:
            ulp.connect()
            ulp.copied()
            ulp.disconnect()
            ulp.vlan = False
    s.nothing_left()
    s.network.remove_vlans()


@case(7200)
def server_removed(s):
    """kfi_ib is removed on b under load, and comes back: no acknowledged write is lost"""
    for _, logs in s.loads():
        s.remove("b")
        link(s.pair, s.network, "b")
        s.relisten()
        s.until_more(logs, 90)


@case(7200)
def client_removed(s):
    """kfi_ib is removed on a under load, and comes back: writes go on, or fail if the ULP removes its disk with the device"""
    for version, logs in s.loads():
        s.remove("a")
        gone = [ulp for ulp in logs if not ulp.lasts]
        for ulp in gone:
            logs.pop(ulp).fails()
            ulp.until("a", f"! [ -e {ulp.where} ]")
        link(s.pair, s.network, "a")
        s.until_more(logs, 90)
        logs.update(s.writes(version, gone) if gone else {})


@case(7200)
def link_down(s):
    """the network device of a, of b, the bridge's link goes down under load and up again, for a second or longer than peers wait"""
    for _, logs in s.loads():
        for _ in s.network.down(s.lot):
            s.until_more(logs, 90)
            s.load()


@case(7200)
def server_killed(s):
    """the machine of the server dies under load and comes back: no acknowledged write is lost"""
    for _, logs in s.loads():
        s.pair.kill("b")
        s.pair.boot("b")
        enter(s.pair, s.network, "b")
        s.serve()
        s.until_more(logs, 120)
        s.pair.check_logs()


@case(7200)
def client_killed(s):
    """the machine of the client dies under load and comes back: the server forgets it, and serves it again"""
    for number in range(s.rounds):
        s.writes(s.versions[number % 2])
        s.load()
        s.pair.kill("a")
        s.pair.boot("a")
        enter(s.pair, s.network, "a")
        s.nothing_left()
    s.finish(s.writes(s.versions[s.rounds % 2]))


@case(120)
def unloaded(s):
    """the server stops, and all modules of kfabric can be unloaded on both machines"""
    for ulp in s.ulps:
        ulp.drop()
    for name in s.pair.vms:
        s.pair.run(name, f"killall iscsid; rmmod kfi_ib {s.network.modules} kfi", check=False)
        left = bed.Kfi(s.pair).loaded(name)
        check(not left, f"{name}: {left} are still loaded")


def need(progress, logs):
    """Return the folder of the programs that only these guests need."""
    nvme.need(progress, logs)
    progress("unpacking programs of the ULPs")
    return vm.script("userland")


def share(root):
    """Return the emulator's words for the folder of the programs."""
    return ["-virtfs", f"local,path={root},mount_tag=debian,security_model=none,readonly=on,multidevs=remap"]


def machines(names, series, provider, logs, progress, extra=(), modules=(), **options):
    """Return a pair for those ULPs over that provider, with more words for the emulator and more modules."""
    root = need(progress, logs)
    ko, tool = bed.build(series, progress, logs)
    ko = [ko]
    for name in names:
        if ULPS[name].script:
            progress("building modules that Debian leaves out")
            ko.append(vm.script(ULPS[name].script, series))
    modules = dict.fromkeys([*modules, *NETWORKS[provider].stock, *(module for name in names for module in (*MODULES, *ULPS[name].modules))])
    load = {node: [*MODULES, *(module for name in names for module in ULPS[name].load[node])] for node in "ab"}
    extra = [*extra, *share(root)]
    if provider == "tls":
        extra += ["-virtfs", tls_demo.share()]
    return bed.machines(NETWORKS[provider].machines, series, logs, ko, programs=[tool, *nvme.programs()], modules=list(modules),
                        load=load, memory="1G", disk=Disks(DISK_MIB, len(names)), qemu_extra=extra, progress=progress, **options)


def chosen(function, opts):
    """Is it one of the requested cases? The first and the last one frame all others."""
    name = function.__name__
    return function in (served, unloaded) or (any(word in name for word in opts.wanted.split(",")) and
                                              not any(word in name for word in opts.unwanted.split(",") if word))


def run_ulps(group, verdict, opts):
    """Run all cases of a group of ULPs on one pair; a broken pair ends them."""
    # The emulator takes a comma for the end of a path.
    logs = os.path.join(vm.BUILD, f"vm-{opts.series}", f"rdma-{opts.provider}-{group.replace(',', '-')}")
    with machines(group.split(","), opts.series, opts.provider, logs, verdict.progress, mtu=MTU) as pair:
        scenario = Scenario(pair, group.split(","), opts)
        enter(pair, scenario.network, *pair.vms)
        for function, budget, providers in CASES:
            if (not providers or opts.provider in providers) and chosen(function, opts) and not verdict.case(f"{opts.series} {opts.provider} {group}", function, budget, scenario):
                verdict.say(group, "the cases after that", 0, "what the failed case has left is in their way; "
                            f"what the machines were doing is in {bed.Kfi(pair).stuck()}")
                return


def group_of(text):
    """Check a group of ULPs of the command line."""
    wrong = set(text.split(",")) - set(ULPS)
    if wrong:
        raise argparse.ArgumentTypeError(f"not a ULP: {', '.join(wrong)}")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="+", type=group_of, metavar="ULP[,ULP]...", help=", ".join(sorted(ULPS)))
    parser.add_argument("--provider", choices=sorted(NETWORKS), default="sockets")
    parser.add_argument("--kernel", dest="series", choices=("6.1", "6.12", "newest"), default=SERIES)
    parser.add_argument("-k", dest="wanted", default="", metavar="WORD", help="only cases with this word in their name, or one of these (A,B)")
    parser.add_argument("--skip", dest="unwanted", default="", metavar="WORD", help="no cases with this word, or one of these, in their name")
    parser.add_argument("--rounds", type=int, default=1, help="how often each trouble comes")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="of the moments at which trouble comes")
    opts = parser.parse_args()
    verdict = Verdict(vm.Progress())
    print(f"seed {opts.seed}", flush=True)
    return bed.closing(verdict, opts.groups, lambda group: once_more(group, verdict, lambda: run_ulps(group, verdict, opts)))


if __name__ == "__main__":
    sys.exit(main())
