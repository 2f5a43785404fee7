#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""helper.py COMMAND WORD... - what the cases of inside need besides the shell

uevents                     print the uevents of mirrors, one a line: NAME EVENT OUTAGE PEER SERVICE. The first line says that
                            it has begun.
changes                     print the names of disks at which udev is to look again. The first line says that it has begun.
messages DEVICE WORD...     send a dm message again and again until SIGTERM comes. A message to a suspended mirror may be
                            refused. The last line says how many were sent.
swapped BYTES SECONDS SEED  memory of this process goes out to swap and comes back, again and again: every page has to be what
                            was written to it. MADV_PAGEOUT reclaims the pages although memory is not short."""

import errno
import fcntl
import mmap
import os
import random
import signal
import socket
import struct
import sys
import threading
import time

KERNEL_EVENTS = 1           # multicast group
TARGET_MSG = 0xc138fd0e     # _IOWR(0xfd, 14, struct dm_ioctl)
HEAD = struct.Struct("<3I I I I i I I I Q 128s 129s 7x")
PAGEOUT = 21                # MADV_PAGEOUT, which the module mmap does not know
PATIENCE = 30               # seconds until the pages have gone
KEEPS_SWAP = os.uname().release.startswith("6.1.")  # pages that have come back keep their places in swap


def uevents():
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 15) as sock:   # NETLINK_KOBJECT_UEVENT
        sock.bind((0, KERNEL_EVENTS))
        print("begun", flush=True)
        while True:
            words = dict(word.partition("=")[::2] for word in sock.recv(65536).decode().split("\0"))
            if "KFI_MIRROR" not in words:
                continue
            try:
                with open(f"/sys{words['DEVPATH']}/dm/name", encoding="ascii") as file:
                    name = file.read().strip()
            except FileNotFoundError:
                continue        # it has gone since
            print(name, words["KFI_MIRROR"], *(words.get("KFI_MIRROR_" + key, "-") for key in ("OUTAGE", "PEER", "SERVICE")),
                  flush=True)


def changes():
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 15) as sock:
        sock.bind((0, KERNEL_EVENTS))
        print("begun", flush=True)
        while True:
            words = dict(word.partition("=")[::2] for word in sock.recv(65536).decode().split("\0"))
            if words.get("SUBSYSTEM") == "block" and words.get("ACTION") == "change":
                print(words["DEVNAME"], flush=True)


def messages(device, *words):
    told = threading.Event()

    signal.signal(signal.SIGTERM, lambda *_: told.set())
    text = struct.pack("<Q", 0) + " ".join(words).encode() + b"\0"
    size = HEAD.size + len(text)
    request = HEAD.pack(4, 0, 0, size, HEAD.size, 0, 0, 0, 0, 0, 0, device.encode(), b"") + text
    taken = refused = 0
    with open("/dev/mapper/control", "rb") as control:
        while not told.is_set():
            try:
                fcntl.ioctl(control, TARGET_MSG, bytearray(request))
                taken += 1
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
                refused += 1
    print(f"{taken} messages were taken, {refused} refused")
    return 0 if taken else 1


def bytes_swapped():
    """Return how many bytes of this process are in swap."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmSwap"))


def swap_free():
    """Return how many bytes of swap are free."""
    with open("/proc/meminfo", encoding="ascii") as info:
        return next(int(line.split()[1]) << 10 for line in info if line.startswith("SwapFree"))


def swapped(*numbers):
    size, seconds, seed = (int(word) for word in numbers)
    rng = random.Random(seed)
    end = time.monotonic() + seconds

    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    rounds = 0
    while not rounds or time.monotonic() < end:
        wanted = [rng.randbytes(mmap.PAGESIZE) for _ in range(size // mmap.PAGESIZE)]
        for number, page in enumerate(wanted):
            memory[number * mmap.PAGESIZE:(number + 1) * mmap.PAGESIZE] = page
        late = time.monotonic() + PATIENCE
        while bytes_swapped() < size * 9 // 10:
            if KEEPS_SWAP and rounds and not swap_free() and time.monotonic() > late - PATIENCE / 2:
                print(f"{rounds} rounds, then swap was full of pages that had come back")
                return
            assert time.monotonic() < late, f"only {bytes_swapped()} bytes are in swap"
            memory.madvise(PAGEOUT)
            time.sleep(0.05)
        for number, page in enumerate(wanted):
            assert memory[number * mmap.PAGESIZE:(number + 1) * mmap.PAGESIZE] == page, f"page {number} has changed, round {rounds}"
        rounds += 1
    print(f"{rounds} rounds")


if __name__ == "__main__":
    sys.exit({"uevents": uevents, "changes": changes, "messages": messages, "swapped": swapped}[sys.argv[1]](*sys.argv[2:]))
