# SPDX-License-Identifier: GPL-2.0
"""Implementation of `make demo ULP=user`, see run: programs of libfabric on both machines, over /dev/kfi. tests/vm/user.py runs it over each provider."""

import json
import os
import re

import bed
import pair as vm

# Types of endpoints over each provider
TYPES = {
    "sockets": ("rdm", "msg", "dgram"),
    "verbs": ("rdm",),
    "ntb": ("rdm", "msg"),
    "usb4": ("rdm", "msg"),
}
SIZES = (64, 4096, 65536)
LIBRARY = "/usr/lib/x86_64-linux-gnu/libfabric/libkfi-fi.so"


def programs(progress, out):
    """Return programs of libfabric, and libkfi-fi.so."""
    progress.during("building libkfi-fi.so",
                    [os.path.join(bed.TOP, "tools", "build"), "library"],
                    os.path.join(out, "library.log"))
    progress.during("looking for fi_info and fi_pingpong",
                    [os.path.join(vm.HERE, "need"), "user"],
                    os.path.join(out, "need.log"))
    return ["/usr/bin/fi_info", "/usr/bin/fi_pingpong",
            f"{vm.BUILD}/tools/libkfi-fi.so:{LIBRARY}"]


class Both:
    """A server on b and its client on a"""

    def __init__(self, pair, provider):
        self.pair = pair
        self.provider = provider
        self.info = pair.run("a", "fi_info -p kfi").text
        self.domains = {name: self.domain(name) for name in pair.vms}

    def domain(self, name):
        """Return the provider's domain on a machine, except that of the interface lo."""
        text = self.pair.run(name, "fi_info -p kfi -t FI_EP_RDM").text
        found = set(re.findall(rf"domain: ({self.provider}-\S+)", text)) - {"sockets-lo"}
        if not found:
            raise vm.Failed(f"{name}: fi_info shows no domain of {self.provider}:\n{text}")
        return sorted(found)[0]

    def run(self, server, client, timeout=120):
        """Run server and client. Return the output of the client."""
        job = self.pair.spawn("b", server)
        try:
            text = self.pair.run("a", f"sleep 1; {client}", timeout).text
        except vm.VmError:
            job.kill()
            raise
        result = job.wait(timeout)
        if result.status:
            raise vm.Failed(f"{job} ended with status {result.status}:\n{result.text}")
        return text

    def pingpong(self, kind, size):
        """Return a row of fi_pingpong, which compares the data (-c)."""
        words = f"fi_pingpong -c -p kfi -e {kind} -S {size} -I 100"
        text = self.run(f"{words} -d {self.domains['b']}",
                        f"{words} -d {self.domains['a']} {self.pair.address('b', 4)}")
        # bytes, #sent, #ack, total, time, MB/sec, usec/xfer, Mxfers/sec
        last = text.split("\n")[-2 if text.endswith("\n") else -1].split()
        return {"type": kind, "size": size, "mb_s": float(last[5]), "latency_us": float(last[6])}


def demo(series, provider, mtu, out, progress):
    """Return release and rows; every byte was compared."""
    modules = ("kfi", f"kfi_{provider}", "kfi_user")
    ko, tool = bed.build(series, progress, out)
    with bed.machines(provider, series, out, ko, programs=[tool, *programs(progress, out)],
                      memory="1200M", mtu=mtu, progress=progress) as pair:
        kfi = bed.Kfi(pair)
        for name in pair.vms:
            pair.run(name, bed.BELOW[provider])
            progress(f"{name}: insmod {' '.join(module + '.ko' for module in modules)}")
            kfi.insmod(name, modules)
        bed.wait_for_cable(pair, provider, progress)
        progress("a, b: fi_info -p kfi")
        both = Both(pair, provider)
        rows = []
        for kind in TYPES[provider]:
            for size in SIZES if kind != "dgram" else (64, 512):
                progress(f"a, b: fi_pingpong -e {kind}, {size} bytes, every byte compared")
                rows.append(both.pingpong(kind, size))
        with open(os.path.join(out, "fi_info.log"), "w", encoding="utf-8") as file:
            file.write(both.info)
        with open(os.path.join(out, "results.json"), "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
            file.write("\n")
        for name in pair.vms:
            pair.run(name, f"rmmod {' '.join(reversed(modules))}")
        pair.check_logs()
        return pair.release, rows


def table(rows):
    print(f"{'fi_pingpong':<14}{'size':>8}{'latency':>14}{'bandwidth':>16}")
    for row in rows:
        print(f"{row['type']:<14}{row['size']:>8}"
              f"{row['latency_us']:>11.0f} us{row['mb_s']:>11.1f} MB/s")
