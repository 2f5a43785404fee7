#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Implementation of `make demo`, see run. The machines are those of tests/vm."""

import json
import os
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../tests/vm")]
import bed               # noqa: E402
import mirror_demo       # noqa: E402
import mpi_demo          # noqa: E402
import nvme_demo         # noqa: E402
import pair as vm        # noqa: E402
import rdma_demo         # noqa: E402
import wire_demo         # noqa: E402

OPS = ("send", "tagged", "write", "read")
SIZES = (64, 4096, 65536, 1048576)
OUT = os.path.join(vm.BUILD, "demo")
MTU = 9000
# What TLS= means to kfi_sockets
TLS = {"": None, "1": "psk", "psk": "psk", "x509": "x509"}
ULPS = {"mirror": mirror_demo, "mpi": mpi_demo, "nvme": nvme_demo, "nfs": rdma_demo.Demo("nfs"), "iser": rdma_demo.Demo("iser")}
UNDER_TLS = ("nfs", "iser")
# What lies below each provider.
PROVIDERS = {
    "sockets": f"TCP over IPv4, MTU {MTU}",
    "verbs": f"RoCE by the kernel's rxe, MTU {MTU}",
    "ntb": "a simulated Intel NTB and I/OAT engines",
    "usb4": "simulated USB4 host interfaces and a cable",
}


def measure(kfi, provider, progress):
    """Measure all operations one after the other, with progress lines."""
    rows = []
    for op in OPS:
        for size in SIZES:
            progress(f"a -> b: {op}, {text_of(size)}, every byte compared")
            rows += kfi.perf("a", bed.node(provider, kfi.pair, "b"), provider=provider, op=op, size=size,
                             duration=0.2, mode="latency,bandwidth", verify=True)
    return rows


def text_of(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def digits(value):
    """Format with three significant digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(rows):
    """Print latency and bandwidth of each operation and size, side by side."""
    found = {(row["op"], row["size"], row["bench"]): row for row in rows}
    print(f"{'operation':<10}{'size':>8}{'latency: best':>16}{'median':>12}{'bandwidth':>14}{'verified':>12}")
    for op in OPS:
        for size in SIZES:
            slow = found[op, size, "latency"]
            fast = found[op, size, "bandwidth"]
            verified = slow["detail"]["verified"] + fast["detail"]["verified"]
            print(f"{op:<10}{text_of(size):>8}{slow['detail']['min_us']:>13.0f} us"
                  f"{slow['ours']:>9.0f} us{digits(fast['ours']):>9} MB/s{verified:>12}")


def save(rows):
    with open(os.path.join(OUT, "results.json"), "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
        file.write("\n")


def demo(series, provider, progress):
    modules = ("kfi", "kfi_ulp", f"kfi_{provider}", "kfi_perf")
    ko, tool = bed.build(series, progress, OUT)
    with bed.machines(provider, series, OUT, ko, programs=[tool], mtu=MTU, progress=progress) as pair:
        kfi = bed.Kfi(pair)
        for name in pair.vms:
            progress(f"{name}: {PROVIDERS[provider]}")
            pair.run(name, bed.BELOW[provider])
            progress(f"{name}: insmod {' '.join(module + '.ko' for module in modules)}")
            kfi.insmod(name, modules)
        bed.wait_for_cable(pair, provider, progress)
        kfi.serve("b", provider=provider)
        rows = measure(kfi, provider, progress)
        log(pair, kfi, provider)
        kfi.command("b", "perf stop")
        for name in pair.vms:
            pair.run(name, f"rmmod {' '.join(reversed(modules))}")
        pair.check_logs()
        save(rows)
        return pair.release, rows


def log(pair, kfi, provider):
    """Write the state of both machines to logs."""
    for name in pair.vms:
        with open(os.path.join(OUT, f"kfi-{name}.log"), "w", encoding="utf-8") as file:
            for words in ("provider", f"info -p {provider}", "show endpoints", "show peers", "stats",
                          "perf list"):
                said = kfi.command(name, words, check=False).text
                file.write(f"# kfi {words}\n{said}\n")


def choices():
    """Return series, provider, ULP and kind of TLS from the environment."""
    chosen = []
    tls = os.environ.get("TLS")
    for name, known, default in (("KERNEL", ("6.12", "newest") if tls else ("6.1", "6.12"), "6.12"),
                                 ("PROVIDER", ("sockets",) if tls else tuple(PROVIDERS), "sockets"),
                                 ("ULP", ("", *UNDER_TLS) if tls else ("", *ULPS), ""), ("TLS", tuple(TLS), "")):
        chosen.append(os.environ.get(name) or default)
        if chosen[-1] not in known:
            sys.exit(f"demo: {'with TLS, ' if tls else ''}{name} is {' or '.join(filter(None, known))}, not '{chosen[-1]}'")
    if chosen[2] and chosen[3] == "x509":
        sys.exit(f"demo: with ULP={chosen[2]}, TLS is 1")
    return chosen


def tell(release, rows, provider, ulp, tls):
    what = {"mirror": "A file system on mirrored writes, whose machines are killed",
            "nvme": "A disk of machine b on machine a, NVMe over kfabric", "nfs": "A file of machine b on machine a, NFS/RDMA over kfi_ib",
            "iser": "A disk of machine b on machine a, iSER over kfi_ib", "mpi": "MPI on machines a and b, MPICH over UCX over kfi_ib", "": "From machine a to machine b"}[ulp]
    print(f"{what}, provider {provider}, {PROVIDERS[provider]}{', under TLS' if ulp and tls else ''}, {'with checksums' if ulp in ('nvme', 'nfs', 'iser') else 'every byte compared'}.\n"
          f"Kernel {release}, emulated: figures compare with each other, not with hardware.\n")
    if ulp:
        ULPS[ulp].table(rows)
    elif tls:
        wire_demo.table(rows)
    else:
        table(rows)


def main():
    series, provider, ulp, tls = choices()
    tls = TLS[tls]
    out = os.path.join(OUT, ulp, "tls" if tls else "")
    os.makedirs(out, exist_ok=True)
    progress = vm.Progress()
    start = time.monotonic()
    try:
        if ulp:
            release, rows = ULPS[ulp].demo(series, "tls" if tls else provider, MTU, out, progress)
        elif tls:
            release, rows = wire_demo.demo(series, tls, MTU, out, progress)
        else:
            release, rows = demo(series, provider, progress)
    except vm.VmError as error:
        progress.end()
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        progress.end()
        return 130
    progress.end()
    tell(release, rows, provider, ulp, tls)
    print(f"\nAll data was right. {time.monotonic() - start:.0f} s; "
          f"logs and results: {os.path.relpath(out)}, {os.path.relpath(out)}/results.json.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
