# SPDX-License-Identifier: GPL-2.0
"""Implementation of `make demo TLS=1`, see run: the same traffic in clear text and under TLS, with a capture of each on the wire"""

import array
import json
import os
import subprocess

import bed
import pair as vm
import tls_demo
from scenario import check

OPS = ("send", "write", "read")
SIZES = (64, 65536, 1048576)
GOLDEN, WORD = 0x9e3779b97f4a7c15, (1 << 64) - 1    # payload of kfi_perf: words with this difference (ulps/perf/buf.c)
SENT, COUNT = 65536, 40


def has_payload(path):
    """Return whether a capture has four words in a row of a payload, at any offset."""
    with open(path, "rb") as file:
        data = file.read()
    for shift in range(8):
        words = array.array("Q", data[shift:shift + (len(data) - shift) // 8 * 8])
        steps = bytes((b - a) & WORD == GOLDEN for a, b in zip(words, words[1:]))
        if b"\1\1\1" in steps:
            return True
    return False


def certificates(out):
    """Make an authority, and a certificate for the address of each machine. Return the files, as the guests get them."""
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=out, check=True, capture_output=True)

    openssl("req", "-x509", *new, "-days", "9", "-subj", "/CN=demo", "-keyout", "ca.key", "-out", "ca.pem")
    for node, (address, _) in vm.ADDRESS.items():
        with open(os.path.join(out, "names"), "w", encoding="utf-8") as file:
            file.write(f"subjectAltName=IP:{address}\n")
        openssl("req", "-new", *new, "-subj", f"/CN={address}", "-keyout", f"{node}.key", "-out", f"{node}.csr")
        openssl("x509", "-req", "-in", f"{node}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "9", "-extfile", "names",
                "-out", f"{node}.pem")
    return [f"{out}/{name}:{tls_demo.CERTS}/{name}" for name in ("ca.pem", "a.pem", "a.key", "b.pem", "b.key")]


def captured(pair, kfi, out, mode):
    """Capture some traffic between the machines. Return the file."""
    path = os.path.join(out, f"wire-{mode or 'clear'}.pcap")
    with tls_demo.capture(pair, "a", path):
        kfi.perf("a", pair.address("b"), op="write", size=SENT, iterations=COUNT, mode="bandwidth", verify=True)
    return path


def measure(pair, kfi, mode, out, progress):
    """Load with that protection, look at the wire, and measure."""
    for name in pair.vms:
        progress(f"{name}: insmod kfi_sockets.ko {f'tls={mode}' if mode else ''}")
        kfi.insmod(name, ("kfi", "kfi_ulp"))
        pair.run(name, f"insmod /lib/modules/$(uname -r)/extra/kfi_sockets.ko {f'tls={mode}' if mode else ''}")
        kfi.insmod(name, ("kfi_perf",))
    kfi.serve("b")
    progress(f"the wire between the machines: {mode or 'clear text'}")
    wire = captured(pair, kfi, out, mode)
    bytes_seen = os.path.getsize(wire)
    check(bytes_seen > SENT * COUNT, f"the capture has {bytes_seen} bytes only")
    check(has_payload(wire) != bool(mode), f"{wire} {'shows' if mode else 'does not show'} the payload")
    rows = []
    for op in OPS:
        for size in SIZES:
            progress(f"a -> b, {mode or 'clear text'}: {op}, {size} bytes, every byte compared")
            rows += kfi.perf("a", pair.address("b"), op=op, size=size, duration=0.3, mode="latency,bandwidth", verify=True)
    job = pair.spawn("a", f"kfi perf run -q --no-check -d 20 -S 8 -m latency {pair.address('b')}")
    for name in pair.vms:
        pair.run(name, "until kfi -j show peers | grep -q '\"state\":\"connected\"'; do sleep 0.1; done", 20)
        shown = kfi.json(name, "show peers")
        expected = ("tls1.3", mode) if mode else ("none", "port")
        check(all((peer["protection"], peer["identity"]) == expected for peer in shown if peer["state"] == "connected"),
              f"{name}: {shown}")
    job.wait(60)
    kfi.command("b", "perf stop")
    for name in pair.vms:
        pair.run(name, "rmmod kfi_perf kfi_sockets kfi_ulp kfi")
    return [{**row, "protection": mode or "none"} for row in rows]


def demo(series, mode, mtu, out, progress):
    """Return release and rows."""
    ko, tool = bed.build(series, progress, out)
    with bed.machines("sockets", series, out, ko, programs=[tool, *certificates(out)], mtu=mtu, progress=progress,
                      modules=tls_demo.MODULES, qemu_extra=["-virtfs", tls_demo.share()]) as pair:
        kfi = bed.Kfi(pair)
        for name in pair.vms:
            progress(f"{name}: tlshd, and keys of all pairs")
            tls_demo.agent(pair, name)
        rows = [row for each in ("", mode) for row in measure(pair, kfi, each, out, progress)]
        pair.check_logs()
        with open(os.path.join(out, "results.json"), "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
            file.write("\n")
        return pair.release, rows


def table(rows):
    found = {(row["op"], row["size"], row["bench"], row["protection"]): row for row in rows}
    modes = list(dict.fromkeys(row["protection"] for row in rows))
    print(f"{'operation':<10}{'bytes':>9}" + "".join(f"{mode + ': median':>18}{'bandwidth':>14}" for mode in modes))
    for op in OPS:
        for size in SIZES:
            print(f"{op:<10}{size:>9}" + "".join(f"{found[op, size, 'latency', mode]['ours']:>15.0f} us"
                                                 f"{found[op, size, 'bandwidth', mode]['ours']:>9.1f} MB/s" for mode in modes))
    print("\nA capture on the wire shows the payload in clear text, and does not under TLS.")
