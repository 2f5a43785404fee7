# SPDX-License-Identifier: GPL-2.0
"""tlshd on the machines of a pair, with keys and certificates of theirs, and captures of the wire: for `make demo TLS=1`
(tools/demo/wire_demo.py) and tests under TLS"""

import contextlib
import itertools

import pair as vm

CERTS = "/etc/tls"
CONFIG = f"""[debug]
loglevel=1
[authenticate]
[authenticate.client]
x509.truststore={CERTS}/ca.pem
x509.certificate={CERTS}/NODE.pem
x509.private_key={CERTS}/NODE.key
[authenticate.server]
x509.truststore={CERTS}/ca.pem
x509.certificate={CERTS}/NODE.pem
x509.private_key={CERTS}/NODE.key
"""
# Stock modules that the guests need besides the usual
MODULES = ("9p", "9pnet_virtio", "tls", "nvme-keyring", "gcm", "aesni-intel")
RUN = "/tls/usr/lib64/ld-linux-x86-64.so.2 --library-path /tls/usr/lib/x86_64-linux-gnu /tls/usr/"
BELOW = """set -e
modprobe -a 9p 9pnet_virtio nvme-keyring tls
mkdir -p /tls
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=131072 tls /tls
"""


def share():
    """Return the value of the emulator's option that shows the machines tlshd and keyctl."""
    return (f"local,path={vm.script('../tls/tools')},mount_tag=tls,security_model=none,readonly=on,"
            "multidevs=remap")


@contextlib.contextmanager
def capture(pair, name, path):
    """Write what passes the machine's first network device into a file."""
    monitor = pair.vms[name].monitor
    monitor.sendall(f"object_add filter-dump,id=wire,netdev=net0,file={path}\n".encode())
    pair.run(name, "true")       # the emulator takes its commands in turn
    yield
    monitor.sendall(b"object_del wire\n")
    pair.run(name, "sleep 0.5")


def agent(pair, name):
    """Start tlshd, and give the machine the keys of all pairs, itself included."""
    pair.run(name, BELOW)
    with_keys = f"{RUN}bin/keyctl link %:.nvme @us"
    for caller, acceptor in itertools.product(pair.vms, repeat=2):
        key = f"kfi/{pair.address(caller)}/{pair.address(acceptor)}/"
        with_keys += f" && printf 0123456789abcdef0123456789abcdef | {RUN}bin/keyctl padd psk {key} %:.nvme"
    pair.run(name, with_keys)
    config = CONFIG.replace("NODE", name)
    pair.run(name, f"cat >/tmp/tlshd.conf <<'END'\n{config}END\n"
             f"{RUN}sbin/tlshd -s -c /tmp/tlshd.conf >/tmp/tlshd.log 2>&1 & sleep 1")
