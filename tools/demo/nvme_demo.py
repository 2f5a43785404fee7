# SPDX-License-Identifier: GPL-2.0
"""Implementation of `make demo ULP=nvme`, see run: a disk of machine b on machine a; over ntb also READs with bypass"""

import json
import os
import random

import bed
import nvme
import nvme_bypass
import pair as vm
from scenario import check

DISK_MIB = 256
FILE_MIB = 24
# name, size, depth, direction
RUNS = (("4 KiB, depth 1", "4k", 1), ("4 KiB, depth 16", "4k", 16), ("64 KiB, depth 8", "64k", 8), ("1 MiB, depth 4", "1m", 4))
DIRECTIONS = (("read", "randread"), ("write", "randwrite"))


def fio(nvme, disk, size, depth, rw, seconds=2):
    """Return operations and bytes per second, and the mean latency in microseconds."""
    text = nvme.pair.run("a", f"fio --name=demo --thread --filename={disk} --direct=1 --ioengine=libaio --rw={rw} --bs={size} "
                         f"--iodepth={depth} --size=64M --time_based --runtime={seconds} --output-format=json", 300).text
    row = json.loads(text[text.index("{"):])["jobs"][0]["read" if "read" in rw else "write"]
    return {"iops": row["iops"], "mb_s": row["bw_bytes"] / 1e6, "latency_us": row["clat_ns"]["mean"] / 1000}


def figures(nvme, disk, progress):
    rows = []
    for text, size, depth in RUNS:
        for name, rw in DIRECTIONS:
            progress(f"a: fio, {name}, {text}")
            rows.append({"what": text, "op": name, **fio(nvme, disk, size, depth, rw)})
    return rows


def verified(nvme, disk, progress):
    progress("a: fio, writes of 512 bytes to 256 KiB, read back and compared by checksum")
    nvme.fio(disk, "512-256k", 8, 8)


def file_system(nvme, progress):
    """Write a file and read it back, the second time over another connection, so from the disk."""
    run = nvme.pair.run
    progress(f"a: mkfs.ext4, mount, a file of {FILE_MIB} MiB")
    disk = nvme.connect(nr_io_queues=2)
    run("a", f"modprobe crc32c_generic; modprobe ext4; mkfs.ext4 -q -F {disk} && mkdir -p /mnt && mount -t ext4 {disk} /mnt && "
        f"head -c {FILE_MIB << 20} /dev/urandom >/mnt/file && sha256sum </mnt/file >/tmp/sum && umount /mnt", 300)
    progress("a: disconnect, connect, mount, read the file")
    nvme.disconnect()
    disk = nvme.connect(nr_io_queues=2)
    run("a", f"e2fsck -f -n {disk} && mount -t ext4 {disk} /mnt && sha256sum </mnt/file | cmp - /tmp/sum && umount /mnt", 300)
    return disk


def demo(series, provider, mtu, out, progress):
    """Return release and rows; everything that was written was read back and compared."""
    release, rows = load(series, provider, mtu, out, progress)
    if provider == "ntb":
        rows += bypassed(out, progress)
    with open(os.path.join(out, "results.json"), "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
        file.write("\n")
    return release, rows


def load(series, provider, mtu, out, progress):
    """Use the disk: a file system, verified writes, fio."""
    ko, tool = bed.build(series, progress, out)
    nvme.need(progress, out)
    with bed.machines(provider, series, out, ko, programs=[tool, *nvme.programs()], modules=nvme.MODULES,
                      memory="640M", mtu=mtu, disk=nvme.Disk(DISK_MIB), progress=progress) as pair:
        host = nvme.Nvme(pair, provider)
        progress("b: a disk, nvmet-kfi.ko, a port")
        host.load_target()
        host.target()
        progress("a: nvme connect -t kfi")
        host.load_host()
        disk = file_system(host, progress)
        verified(host, disk, progress)
        rows = figures(host, disk, progress)
        log(host, out)
        host.disconnect()
        host.drop_target()
        host.unload_target()
        host.unload_host()
        pair.check_logs()
        return pair.release, rows


def log(nvme, out):
    with open(os.path.join(out, "nvme.log"), "w", encoding="utf-8") as file:
        file.write(nvme.pair.run("a", "nvme list; nvme list-subsys; kfi show; kfi stats", check=False).text)


def table(rows):
    print(f"{'':<18}{'read':>10}{'':>13}{'latency':>12}{'write':>11}{'':>13}{'latency':>12}")
    for text, _, _ in RUNS:
        line = f"{text:<18}"
        for name, _ in DIRECTIONS:
            row = next(row for row in rows if row.get("what") == text and row["op"] == name)
            line += f"{row['iops']:>7.0f} IOPS{row['mb_s']:>8.1f} MB/s{row['latency_us'] / 1000:>8.2f} ms"
        print(line)
    bypass_table([row for row in rows if row.get("bench") == BENCH])


# Where the data of READs goes, with bypass and without, and that of WRITEs. All figures are counts: of QEMU for the
# addresses that the disk gets, of ntbsim for the engines and the windows. A kernel without PCI_P2PDMA would need the
# administrator's word, so this part always runs the newest kernel.
BENCH = "nvme-bypass"
SERIES, TOPOLOGY = "newest", "switch"
# Bytes of an I/O, I/Os at a time, number of I/Os
LOADS = ((4096, 1, 64), (4096, 16, 256), (65536, 16, 32), (1 << 20, 1, 2))
# Operation, bypass
WAYS = (("READ", 1), ("READ", 0), ("WRITE", 0))


def count(s, op, bypass, device, load):
    """Read or write at a, compare. Return a row of results.json: bytes in b's memory, of the engines, through the windows."""
    def now():
        devices = s.pair.devices.stats()["devices"]
        return [sum(devices[f"{device}.{name}"][key] for name in s.pair.vms)
                for device, key in (("dma", "dma_bytes"), ("ntb0", "window_bytes_in"))]

    before = now()
    *_, ram = (s.reads if op == "READ" else s.writes)(device, *load)
    engines, windows = (after - then for after, then in zip(now(), before))
    return {"bench": BENCH, "kernel": s.pair.release, "op": op, "bypass": bypass, "size": load[0], "depth": load[1],
            "iterations": load[2], "server_ram_bytes": ram, "engine_bytes": engines, "window_bytes": windows}


def measure(s, bypass, progress):
    """Return the rows with this parameter."""
    device = s.load(bypass=bypass)
    found = []
    for op in [op for op, value in WAYS if value == bypass]:
        progress(f"b: nvmet-kfi with{'' if bypass else 'out'} bypass, a: {op}s of 4 KiB to 1 MiB, every byte compared")
        found += [count(s, op, bypass, device, load) for load in LOADS]
    s.unload()
    return found


def bypassed(out, progress):
    """Return rows for results.json."""
    progress(f"READs that bypass b's memory need a second kernel, {SERIES}, for which all modules are compiled now")
    disk = nvme_bypass.Disk(random.randrange(1 << 32))
    with nvme_bypass.machines(SERIES, TOPOLOGY, disk, os.path.join(out, "bypass"), progress) as pair:
        s = nvme_bypass.Bypass(pair, disk)
        found = measure(s, 1, progress) + measure(s, 0, progress)
        pair.check_logs()
    check(not any(row["bypass"] and row["server_ram_bytes"] for row in found), f"data has passed through b's memory: {found}")
    return found


def bypass_table(found):
    """Print them, if there are any: other providers have no bypass."""
    if not found:
        return
    print(f"\nWhere the data of a's I/O goes. Kernel {found[0]['kernel']}; disk, bridge and engine of b are below one\n"
          "PCI Express switch. There are no times, because the emulated disk writes only 8 bytes at once to the window.\n")
    print(f"{'bytes':<39}{'b memory':>12}{'engines':>12}{'windows':>12}")
    for row in found:
        what = f"{row['op']}, {row['iterations']} x {row['size'] >> 10} KiB, depth {row['depth']}"
        print(f"{what:<29}{'bypass' if row['bypass'] else 'RAM':<10}"
              f"{row['server_ram_bytes']:>12}{row['engine_bytes']:>12}{row['window_bytes']:>12}")
    print("\nWith bypass the disk of b writes the data of a READ through the window directly into a's memory: none of it passes\n"
          "through b's memory. Without it the disk writes to b's memory, and b's engine copies the data through the window. The data\n"
          "of a WRITE always goes to b's memory, by a's engine, and the disk reads it there. What is more than the data in a column\n"
          "is the protocol's.")
