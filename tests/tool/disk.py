#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""disk.py - write what begins a device, for tests of `kfi mirror label`:

  disk.py KIND FILE BYTES   the superblock of a file system of so many bytes (xfs, btrfs), a
                            partition table whose partition, and its copy of the table, end
                            there (gpt), or whose partition does (mbr), or the header of luks or
                            lvm, which have no size

The file is as long as before.
"""
import struct
import sys
import uuid
import zlib


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def xfs(size):
    """A superblock of version 4, which has no checksum: one group of blocks of 4 KiB"""
    blocks = size // 4096
    data = bytearray(512)
    struct.pack_into(">4sIQQQ16s", data, 0, b"XFSB", 4096, blocks, 0, 0, uuid.uuid4().bytes)
    struct.pack_into(">QQQQIIII", data, 48, 0, 128, 129, 130, 1, blocks, 1, 0)
    struct.pack_into(">IHHHH", data, 96, 0, 4, 512, 256, 16)
    struct.pack_into(">8B", data, 120, 12, 9, 8, 4, blocks.bit_length(), 0, 0, 25)
    return [(0, data)]


def btrfs(size):
    """Of several devices: all of them have more than this one."""
    data = bytearray(4096)
    struct.pack_into("<16sQQ8s", data, 0x20, uuid.uuid4().bytes, 65536, 1, b"_BHRfS_M")
    struct.pack_into("<QQQQIII", data, 0x70, 3 * size, 0, 6, 2, 4096, 16384, 16384)
    struct.pack_into("<QQQ", data, 0xC9, 1, size, 0)
    struct.pack_into("<I", data, 0, crc32c(data[0x20:]))
    return [(65536, data)]


def mbr(size, kind=0x83, first=8):
    data = bytearray(512)
    struct.pack_into("<B3sB3sII", data, 446, 0, b"\0\2\0", kind, b"\xff\xff\xff", first,
                     size // 512 - first)
    data[510:] = b"\x55\xaa"
    return [(0, data)]


def gpt(size):
    """The partition ends at half of it, and the copy of the table at the end."""
    last = size // 512 - 1
    entries = bytearray(128 * 128)
    struct.pack_into("<16s16sQQ", entries, 0, uuid.uuid4().bytes_le, uuid.uuid4().bytes_le, 40,
                     last // 2)
    header = bytearray(92)
    struct.pack_into("<8sIIIIQQQQ16sQIII", header, 0, b"EFI PART", 0x10000, 92, 0, 0, 1, last, 34,
                     last - 33, uuid.uuid4().bytes_le, 2, 128, 128, zlib.crc32(entries))
    struct.pack_into("<I", header, 16, zlib.crc32(header))
    return mbr(size, 0xEE, 1) + [(512, header), (1024, entries)]


def luks(_):
    data = bytearray(1024)
    struct.pack_into(">6sH", data, 0, b"LUKS\xba\xbe", 1)
    data[168:204] = str(uuid.uuid4()).encode()
    return [(0, data)]


def lvm(_):
    """A label of a physical volume, in the second sector"""
    data = bytearray(512)
    struct.pack_into("<8sQII8s32s", data, 0, b"LABELONE", 1, 0, 32, b"LVM2 001", b"x" * 32)
    crc = 0xF597A6CF
    for byte in data[20:]:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
    struct.pack_into("<I", data, 16, crc)
    return [(512, data)]


with open(sys.argv[2], "r+b") as file:
    for at, what in globals()[sys.argv[1]](int(sys.argv[3])):
        file.seek(at)
        file.write(what)
