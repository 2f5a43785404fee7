#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Part of `make demo ULP=nvme PROVIDER=ntb`: where the data of READs goes, with bypass and without, and that of WRITEs

All figures are counts: of QEMU for the addresses that the disk gets, of ntbsim for the engines and the
windows. A kernel without PCI_P2PDMA would need the administrator's word, so this part always runs 7.2.
By itself, `tests/vm/bypass_demo.py` prints the tables, the second time as rows for ulps/nvme/README.md.
"""

import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import bypass_bed                # noqa: E402
import pair as vm                # noqa: E402
from scenario import check       # noqa: E402

BENCH = "nvme-bypass"
SERIES, TOPOLOGY = "7.2", "switch"
# Bytes of an I/O, I/Os at a time, number of I/Os
LOADS = ((4096, 1, 64), (4096, 16, 256), (65536, 16, 32), (1 << 20, 1, 2))
# Name of a count, its heading, its unit, its goal with bypass
COUNTS = (("server_ram_bytes", "b's RAM", "bytes", 0), ("engine_bytes", "engines", "bytes", None),
          ("window_bytes", "windows", "bytes", None), ("descriptors", "descriptors", "1/I/O", None),
          ("doorbells", "doorbells", "1/I/O", None), ("bridge_interrupts", "interrupts", "1/I/O", None),
          ("engine_interrupts", "of engines", "1/I/O", None))
# Counters of ntbsim, of both machines
SUMS = (("dma", "dma_bytes"), ("ntb0", "window_bytes_in"), ("dma", "descriptors"), ("ntb0", "doorbells"),
        ("ntb0", "interrupts"), ("dma", "interrupts"))
# Operation, bypass
RUNS = (("READ", 1), ("READ", 0), ("WRITE", 0))


def count(s, op, device, size, depth, number):
    """Read or write at a, compare. Return COUNTS: bytes in all, the rest for each I/O."""
    def now():
        devices = s.pair.devices.stats()["devices"]
        return [sum(devices[f"{device}.{name}"][key] for name in s.pair.vms) for device, key in SUMS]

    before = now()
    *_, ram = (s.reads if op == "READ" else s.writes)(device, size, depth, number)
    engines, windows, *each = (after - then for after, then in zip(now(), before))
    return ram, engines, windows, *(round(n / number, 2) for n in each)


def measure(s, bypass, progress):
    """Return the counts of each run with this parameter."""
    device = s.load(bypass=bypass)
    found = {}
    for op in [op for op, value in RUNS if value == bypass]:
        progress(f"b: nvmet-kfi with{'' if bypass else 'out'} bypass, a: {op}s of 4 KiB to 1 MiB, every byte compared")
        found[op, bypass] = [count(s, op, device, *load) for load in LOADS]
    s.unload()
    return found


def rows(release, found):
    """Return the rows for results.json: READs with bypass beside those without, WRITEs alone."""
    told = []
    for op, ours, peer in (("READ", (1, "bypass"), (0, "RAM")), ("WRITE", (0, "RAM"), None)):
        for i, (size, depth, number) in enumerate(LOADS):
            for j, (name, _, unit, goal) in enumerate(COUNTS):
                value = found[op, ours[0]][i][j]
                goal = goal if ours[0] else None
                told.append({"bench": BENCH, "kernel": release, "provider": "ntb", "io": op, "op": name, "size": size, "depth": depth,
                             "iterations": number, "unit": unit, "better": "lower", "ours": value, "ours_name": ours[1],
                             "peer": found[op, peer[0]][i][j] if peer else None, "peer_name": peer[1] if peer else None,
                             "goal": goal, "met": None if goal is None else value <= goal})
    return told


def demo(out, progress):
    """Return rows for results.json."""
    progress(f"READs that bypass b's memory need a second kernel, {SERIES}, for which all modules are compiled now")
    disk = bypass_bed.Disk(random.randrange(1 << 32))
    with bypass_bed.machines(SERIES, TOPOLOGY, disk, os.path.join(out, "bypass"), progress) as pair:
        s = bypass_bed.Bypass(pair, disk)
        found = rows(pair.release, {**measure(s, 1, progress), **measure(s, 0, progress)})
        pair.check_logs()
    check(all(row["met"] is not False for row in found), f"data has passed through b's memory: {found}")
    return found


def values(found):
    """Yield (operation, bypass, load, counts)."""
    for op, bypass in RUNS:
        side = "peer" if (op, bypass) == ("READ", 0) else "ours"
        for load in LOADS:
            yield op, bypass, load, [row[side] for row in found if (row["io"], row["size"], row["depth"]) == (op, *load[:2])]


def table(found):
    """Print them, if there are any: other providers have no bypass."""
    if not found:
        return
    print(f"\nWhere the data of a's I/O goes. Kernel {found[0]['kernel']}; disk, bridge and engine of b are below one\n"
          "PCI Express switch. There are no times, because the emulated disk writes only 8 bytes at once to the window.\n")
    print(f"{'':<39}{'bytes in all':>36}{'at both machines, for each I/O':>48}")
    print(f"{'':<39}" + "".join(f"{head:>12}" for _, head, _, _ in COUNTS))
    for op, bypass, (size, depth, number), counts in values(found):
        print(f"{f'{op}, {number} x {size >> 10} KiB, depth {depth}':<29}{'bypass' if bypass else 'RAM':<10}" + "".join(f"{n:>12}" for n in counts))
    print("\nWith bypass the disk of b writes the data of a READ through the window directly into a's memory: none of it passes\n"
          "through b's memory. Without it the disk writes to b's memory, and b's engine copies the data through the window. The data\n"
          "of a WRITE always goes to b's memory, by a's engine, and the disk reads it there. What is more than the data in a column\n"
          "is the protocol's. Doorbells that come while one is pending cause no interrupt.")


def markdown(found):
    """Yield the lines of the table in ulps/nvme/README.md: bytes for each byte of data, the rest for each I/O."""
    yield "| I/O | bypass | " + " | ".join(head for _, head, _, _ in COUNTS) + " |"
    yield "|---|---|" + "---|" * len(COUNTS)
    for op, bypass, (size, depth, number), counts in values(found):
        bytes_ = " | ".join(f"{n / size / number:.3f}" for n in counts[:3])
        yield f"| {op}, {size >> 10} KiB, depth {depth} | {bypass} | {bytes_} | " + " | ".join(f"{n:.2f}" for n in counts[3:]) + " |"


def main():
    progress = vm.Progress()
    try:
        found = demo(os.path.join(vm.BUILD, "demo"), progress)
    except vm.VmError as error:
        progress.end()
        print(error)
        return 1
    progress.end()
    table(found)
    print("\n" + "\n".join(markdown(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
