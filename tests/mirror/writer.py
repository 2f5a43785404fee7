#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""writer.py write DEVICE STATE SECONDS SEED | check DEVICE STATE [lost] - a writer that knows what was
acknowledged, and what was flushed.

Each sector says which one it is, which version of it, and has a checksum. STATE keeps for each sector
the last version that was begun, that was acknowledged, and that was flushed, and which ones are zeros.
"write" overwrites random sectors, 512 bytes to 64 KiB at a time, or sets up to 512 KiB to zero, where the
device does so by itself, from several threads, which flush now and then, until the time is over, the device
fails or SIGTERM comes, after which each thread ends its write; "check" reads everything. A sector has to be
whole, and no older than what was acknowledged. With "lost", after a loss of all volatile caches, it may be as
old as what was flushed, and what is found counts as flushed from then on. The variable WRITER_BLOCKS limits both to the device's
first blocks of 4 KiB, WRITER_PAUSE are seconds that each thread waits after a write, and WRITER_READY is a file
into which "write" writes a line when it begins."""

import ctypes
import errno
import json
import mmap
import os
import random
import signal
import struct
import sys
import threading
import time
import zlib

SECTOR = 512
BLOCK = 8 * SECTOR
THREADS = 6
RUNS = 1, 3, 8, 8, 13, 16, 24, 32, 128
PUNCH_HOLE = 3                  # and keep the size
PAUSE = float(os.environ.get("WRITER_PAUSE", "0"))
HEAD = struct.Struct("<QQQ")
told = threading.Event()        # to end
libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long


def sector(number, version):
    body = HEAD.pack(0x6d6972726f72, number, version)
    body += bytes((version * 7 + number * 3 + i) & 255 for i in range(64)) * 7
    body = body.ljust(SECTOR - 4, b"m")
    return body + struct.pack("<I", zlib.crc32(body))


def sectors_of(device):
    with open(device, "rb") as file:
        return min(file.seek(0, 2), int(os.environ.get("WRITER_BLOCKS", "1000000")) * BLOCK) // SECTOR


class State:
    def __init__(self, path, count):
        self.path = path
        self.error = "told to end, or the time is over"
        self.begun = [0] * count
        self.acked = [0] * count
        self.flushed = [0] * count
        self.zeros = [[0] for _ in range(count)]
        if os.path.exists(path):
            with open(path, encoding="ascii") as file:
                *known, zeros = json.load(file)
            self.begun, self.acked, self.flushed = (old + [0] * (count - len(old)) for old in known)
            self.zeros = zeros + self.zeros[len(zeros):]

    def save(self):
        with open(self.path, "w", encoding="ascii") as file:
            json.dump([self.begun, self.acked, self.flushed, self.zeros], file)


def write_run(fd, state, run, buf):
    data = b"".join(sector(number, state.begun[number]) for number in run)
    buf[:len(data)] = data
    return os.pwritev(fd, [memoryview(buf)[:len(data)]], run[0] * SECTOR) == len(data)


def zero_run(fd, state, run):
    """Return: false if the device does not take this."""
    for number in run:
        state.zeros[number] = [v for v in state.zeros[number] if v >= state.flushed[number]]
        state.zeros[number].append(state.begun[number])
    if not libc.fallocate(fd, PUNCH_HOLE, run[0] * SECTOR, len(run) * SECTOR):
        return True
    if ctypes.get_errno() != errno.EOPNOTSUPP:
        raise OSError(ctypes.get_errno(), "zeroes")
    return False


def write_some(fd, state, mine, rng, until):
    """Runs of sectors; the whole run is one write."""
    buf = mmap.mmap(-1, max(RUNS) * SECTOR)
    while time.monotonic() < until and not told.is_set():
        first = rng.randrange(len(mine))
        zeroes = rng.random() < 0.1
        run = mine[first:first + rng.choice(RUNS) * (8 if zeroes else 1)]
        for number in run:
            state.begun[number] += 1
        try:
            done = zero_run(fd, state, run) if zeroes else write_run(fd, state, run, buf)
            for number in run if done else ():
                state.acked[number] = state.begun[number]
            if not rng.randrange(16):
                os.fsync(fd)
                state.flushed[mine.start:mine.stop] = state.acked[mine.start:mine.stop]
        except OSError as error:
            state.error = str(error)
            return
        if PAUSE:
            time.sleep(PAUSE)


def write(device, path, seconds, seed):
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    count = sectors_of(device)
    state = State(path, count)
    fd = os.open(device, os.O_RDWR | os.O_DIRECT)
    until = time.monotonic() + seconds
    share = count // THREADS
    threads = [threading.Thread(target=write_some, args=(
        fd, state, range(i * share, (i + 1) * share), random.Random(seed * THREADS + i), until))
        for i in range(THREADS)]
    before = sum(state.acked)
    for thread in threads:
        thread.start()
    if "WRITER_READY" in os.environ:
        with open(os.environ["WRITER_READY"], "w", encoding="ascii") as file:
            file.write("writing\n")
    for thread in threads:
        thread.join()
    state.save()
    print(f"{sum(state.acked) - before} sectors acknowledged, "
          f"{sum(b > a for a, b in zip(state.acked, state.begun))} open: {state.error}")


def check_sector(raw, number, acked, begun, zeros):
    """What is wrong with a sector, and its version."""
    if raw == bytes(SECTOR):
        found = min((v for v in zeros if v >= acked), default=None)
        return f"sector {number}: empty, acknowledged {acked}" if found is None else None, found
    _, found, version = HEAD.unpack(raw[:HEAD.size])
    crc, = struct.unpack("<I", raw[-4:])
    if crc != zlib.crc32(raw[:-4]) or found != number:
        return f"sector {number}: torn, or another one ({found})", 0
    if not acked <= version <= begun:
        return f"sector {number}: version {version}, acknowledged {acked}, begun {begun}", version
    return None, version


def check(device, path, lost):
    count = sectors_of(device)
    state = State(path, count)
    wrong = []
    with open(device, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        for number in range(count):
            least = state.flushed if lost else state.acked
            bad, version = check_sector(file.read(SECTOR), number, least[number], state.begun[number], state.zeros[number])
            if bad:
                wrong.append(bad)
            elif lost:
                state.acked[number] = state.flushed[number] = version
    if lost:
        state.save()
    for text in wrong[:10]:
        print(text)
    print(f"{len(wrong)} of {count} sectors are wrong, {sum(state.acked)} were acknowledged")
    return 1 if wrong or not any(state.acked) else 0


if sys.argv[1] == "write":
    write(sys.argv[2], sys.argv[3], float(sys.argv[4]), int(sys.argv[5]))
else:
    sys.exit(check(sys.argv[2], sys.argv[3], sys.argv[4:] == ["lost"]))
