# SPDX-License-Identifier: GPL-2.0
"""Part of `make demo ULP=nvme PROVIDER=ntb`: where the data of READs goes, with bypass=1 and without

All figures are counts: of QEMU for the addresses that the disk gets, of ntbsim for the engine and the
window. A kernel without PCI_P2PDMA would need the administrator's word, so this part always runs 7.2.
"""

import os
import random

import bypass_bed
from scenario import check

BENCH = "nvme-bypass"
SERIES, TOPOLOGY = "7.2", "switch"
# Bytes of a read, reads at a time, number of reads
LOADS = ((4096, 1, 64), (4096, 16, 256), (65536, 16, 32), (1 << 20, 1, 2))
# Name of a count, its heading, its unit, its goal with bypass
COUNTS = (("server_ram_bytes", "b's RAM", "bytes", 0), ("engine_bytes", "b's engine", "bytes", None),
          ("window_bytes", "window", "bytes", None), ("doorbells", "doorbells", "1/read", None),
          ("bridge_interrupts", "interrupts", "1/read", None),
          ("engine_interrupts", "of engines", "1/read", None))
SIDES = (("ours", "bypass=1"), ("peer", "bypass=0"))


def count(s, device, size, depth, reads):
    """Read at a, compare. Return the bytes that went each way, and signals of both machines for a read."""
    def now():
        devices = s.pair.devices.stats()["devices"]
        both = [sum(devices[f"{device}.{name}"][key] for name in s.pair.vms)
                for device, key in (("ntb0", "doorbells"), ("ntb0", "interrupts"), ("dma", "interrupts"))]
        return devices["dma.b"]["dma_bytes"], devices["ntb0.a"]["window_bytes_in"], *both

    before = now()
    *_, ram = s.reads(device, size, depth, reads)
    engine, window, *each = (after - then for after, then in zip(now(), before))
    return ram, engine, window, *(round(number / reads, 2) for number in each)


def measure(s, bypass, progress):
    progress(f"b: nvmet-kfi bypass={bypass}, a: reads of 4 KiB to 1 MiB, every byte compared")
    device = s.load(bypass=bypass)
    found = [count(s, device, *load) for load in LOADS]
    s.unload()
    return found


def rows(release, ours, peer):
    """Return the rows for results.json."""
    found = []
    for (size, depth, reads), with_bypass, without in zip(LOADS, ours, peer):
        for (op, _, unit, goal), value, other in zip(COUNTS, with_bypass, without):
            found.append({"bench": BENCH, "kernel": release, "provider": "ntb", "op": op, "size": size, "depth": depth, "iterations": reads,
                          "unit": unit, "better": "lower", "ours": value, "ours_name": "bypass=1", "peer": other,
                          "peer_name": "bypass=0", "goal": goal, "met": None if goal is None else value <= goal})
    return found


def demo(out, progress):
    """Return rows for results.json."""
    disk = bypass_bed.Disk(random.randrange(1 << 32))
    with bypass_bed.machines(SERIES, TOPOLOGY, disk, os.path.join(out, "bypass"), progress) as pair:
        s = bypass_bed.Bypass(pair, disk)
        found = rows(pair.release, measure(s, 1, progress), measure(s, 0, progress))
        pair.check_logs()
    check(all(row["met"] is not False for row in found), f"data has passed through b's memory: {found}")
    return found


def table(found):
    """Print them, if there are any: other providers have no bypass."""
    if not found:
        return
    print(f"\nWhere the data of a's reads goes. Kernel {found[0]['kernel']}; disk, bridge and engine of b are below one\n"
          "PCI Express switch. There are no times, because the emulated disk writes only 8 bytes at once to the window.\n")
    print(f"{'':<32}{'bytes in all':>36}{'at both machines, for each read':>36}")
    print(f"{'':<32}" + "".join(f"{head:>12}" for _, head, _, _ in COUNTS))
    for size, depth, reads in LOADS:
        line = {row["op"]: row for row in found if (row["size"], row["depth"]) == (size, depth)}
        text = f"{reads} x {size >> 10} KiB, depth {depth}"
        for side, name in SIDES:
            print(f"{text:<22}{name:<10}" + "".join(f"{line[op][side]:>12}" for op, _, _, _ in COUNTS))
            text = ""
    print("\nWith bypass=1 the disk of b writes the data through the window directly into a's memory: none of it passes through b's\n"
          "memory. Without it the disk writes to b's memory, and b's engine copies the data through the window. What is more than\n"
          "the data in a column is the protocol's. Doorbells that come while one is pending cause no interrupt.")
