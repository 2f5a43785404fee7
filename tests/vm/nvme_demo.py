# SPDX-License-Identifier: GPL-2.0
"""Implementation of `make demo ULP=nvme`, see demo: a disk of machine b on machine a"""

import json
import os

import bed
import bypass_demo
import nvme_bed
import pair as vm

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
        rows += bypass_demo.demo(out, progress)
    with open(os.path.join(out, "results.json"), "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
        file.write("\n")
    return release, rows


def load(series, provider, mtu, out, progress):
    """Use the disk: a file system, verified writes, fio."""
    ko, tool = bed.build(series, progress, out)
    nvme_bed.need(progress, out)
    progress(f"{series}: nvmet.ko that knows kfi")
    named = os.path.join(vm.script("nvmet", series), "nvmet.ko")
    with bed.machines(provider, series, out, ko, programs=[tool, *nvme_bed.programs(), f"{named}:{nvme_bed.PATCHED}"],
                      modules=nvme_bed.MODULES, memory="640M", mtu=mtu, disk=nvme_bed.Disk(DISK_MIB), progress=progress) as pair:
        nvme = nvme_bed.Nvme(pair, provider, named=True)
        progress("b: a disk, nvmet-kfi.ko, a port")
        nvme.load_target()
        nvme.target()
        progress("a: nvme connect -t kfi")
        nvme.load_host()
        disk = file_system(nvme, progress)
        verified(nvme, disk, progress)
        rows = figures(nvme, disk, progress)
        log(nvme, out)
        nvme.disconnect()
        nvme.drop_target()
        nvme.unload_target()
        nvme.unload_host()
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
    bypass_demo.table([row for row in rows if row.get("bench") == bypass_demo.BENCH])
