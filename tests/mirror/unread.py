#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""unread.py once|race|starve DEVICE BADBLOCKS FIRST ROUNDS SEED - read what the leg can't read.

BADBLOCKS is the attribute of null_blk, whose badblocks_once is set: sectors that are written to it fail
the next time that they are read. "once" writes random ranges behind the sector FIRST, makes a part of
each fail, and reads it at once: the data has to be what was written last. "race" does so while a thread
overwrites another part of the same range: no older data may come back, neither in the read nor later.
"starve" does so while four threads overwrite that part, a quarter each, without a pause: at no moment
are all of them between two writes, and each read has to end within 5 seconds. The last line says how
many ranges were read."""

import mmap
import os
import random
import struct
import sys
import threading
import time

SECTOR = 512
RANGE = 128             # sectors: what a mirror reads at a time
HOT = 16                # of them, those that the thread of "race" overwrites
mode, device, badblocks = sys.argv[1:4]
start, rounds, seed = (int(word) for word in sys.argv[4:])
rng = random.Random(seed)
fd = os.open(device, os.O_RDWR | os.O_DIRECT)
size = os.lseek(fd, 0, os.SEEK_END) // SECTOR


def write(buf, first, data):
    buf[:len(data)] = data
    assert os.pwritev(fd, [memoryview(buf)[:len(data)]], first * SECTOR) == len(data)


def read(buf, first, count):
    assert os.preadv(fd, [memoryview(buf)[:count * SECTOR]], first * SECTOR) == count * SECTOR
    return buf[:count * SECTOR]


def fail(first, last):
    with open(badblocks, "w", encoding="ascii") as file:
        file.write(f"+{first}-{last}")


def once(buf):
    for i in range(rounds):
        count = rng.randrange(1, 200)
        first = rng.randrange(start, size - count)
        data = rng.randbytes(count * SECTOR)
        write(buf, first, data)
        bad = first + rng.randrange(count)
        fail(bad, min(bad + rng.randrange(9), first + count - 1))
        buf[:len(data)] = bytes(len(data))
        if read(buf, first, count) != data:
            sys.exit(f"round {i}: {count} sectors from {first} are not what was written last")


class Hot(threading.Thread):
    """Overwrites sectors at the begin of a range with numbers that grow, until told to end."""

    def __init__(self, first=0, count=HOT):
        super().__init__()
        self.first, self.count = start + first, count
        self.begun = self.acked = 0
        self.told = threading.Event()

    def run(self):
        buf = mmap.mmap(-1, self.count * SECTOR)
        while not self.told.is_set():
            self.begun += 1
            write(buf, self.first, struct.pack("<Q", self.begun) * (self.count * SECTOR // 8))
            self.acked = self.begun


def race(buf):
    for i in range(rounds):
        hot = Hot()
        hot.start()
        try:
            while not hot.acked:
                time.sleep(0.01)
            bad = start + rng.randrange(HOT, RANGE)
            fail(bad, bad)
            acked = hot.acked
            found, = struct.unpack("<Q", read(buf, start, RANGE)[:8])
            begun = hot.begun
        finally:
            hot.told.set()
            hot.join()
        if not acked <= found <= begun:
            sys.exit(f"round {i}: {found}, acknowledged {acked}, begun {begun}")
        if read(buf, start, HOT) != struct.pack("<Q", hot.acked) * (HOT * SECTOR // 8):
            sys.exit(f"round {i}: the last write is gone")


def starve(buf):
    hots = [Hot(first, HOT // 4) for first in range(0, HOT, HOT // 4)]

    def end():
        for hot in hots:
            hot.told.set()

    limit = threading.Timer(60, end)    # a read that starves would go on for ever
    limit.start()
    for hot in hots:
        hot.start()
        time.sleep(0.003)               # so that they do not end together either, on a wire with 5 ms
    try:
        for i in range(rounds):
            bad = start + rng.randrange(HOT, RANGE)
            fail(bad, bad)
            begin = time.monotonic()
            read(buf, start, RANGE)
            took = time.monotonic() - begin
            if took > 5:
                sys.exit(f"round {i}: a read took {took:.1f} s")
    finally:
        limit.cancel()
        end()
        for hot in hots:
            hot.join()


{"once": once, "race": race, "starve": starve}[mode](mmap.mmap(-1, 200 * SECTOR))
print(f"{rounds} ranges")
