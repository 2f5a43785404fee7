#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A writer that knows what was acknowledged, and what was flushed. It answers requests (ask in
inside): words with a NUL behind each, and another one. The answer is an exit code and a text.

write DEVICE STATE SEED BLOCKS PAUSE    begin to overwrite random sectors of the first blocks of 4 KiB
end                                     end, after the write that is in flight, and store STATE
check DEVICE STATE BLOCKS [lost]        read everything

Several threads write 512 bytes to 64 KiB at a time, or set up to 512 KiB to zero, where the device
does so by itself, wait for PAUSE seconds after that, and flush now and then. Each sector says which
one it is, which version of it, and has a checksum. STATE keeps for each sector the last version that
was begun, that was acknowledged, and that was flushed, and which ones are zeros. A sector has to be
whole, and no older than what was acknowledged. With "lost", after a loss of all volatile caches, it
may be as old as what was flushed, and what is found counts as flushed from then on."""

import ctypes
import json
import mmap
import os
import random
import struct
import threading
import time
import zlib

SECTOR = 512
BLOCK = 8 * SECTOR
THREADS = 6
RUNS = 1, 3, 8, 8, 13, 16, 24, 32, 128
PUNCH_HOLE = 3                  # and keep the size
HEAD = struct.Struct("<QQQ")
told = threading.Event()        # to end
load = []                       # state and threads of "write"
libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long


def sector(number, version):
    body = HEAD.pack(0x6d6972726f72, number, version)
    body += bytes((version * 7 + number * 3 + i) & 255 for i in range(64)) * 7
    body = body.ljust(SECTOR - 4, b"m")
    return body + struct.pack("<I", zlib.crc32(body))


def opened(device, blocks):
    """Return a file of the device, and the number of sectors."""
    fd = os.open(device, os.O_RDWR | os.O_DIRECT)
    return fd, min(os.lseek(fd, 0, os.SEEK_END), int(blocks) * BLOCK) // SECTOR


class State:
    def __init__(self, path, count):
        self.path = path
        self.error = "told to end"
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
    if os.pwritev(fd, [memoryview(buf)[:len(data)]], run[0] * SECTOR) != len(data):
        raise OSError("a short write")


def takes_zeroes(fd):
    disk = os.fstat(fd).st_rdev
    with open(f"/sys/dev/block/{os.major(disk)}:{os.minor(disk)}/queue/write_zeroes_max_bytes", "rb") as file:
        return int(file.read()) > 0


def zero_run(fd, state, run):
    for number in run:
        state.zeros[number] = [v for v in state.zeros[number] if v >= state.flushed[number]]
        state.zeros[number].append(state.begun[number])
    if libc.fallocate(fd, PUNCH_HOLE, run[0] * SECTOR, len(run) * SECTOR):
        raise OSError(ctypes.get_errno(), "zeroes")


def write_some(fd, state, mine, rng, pause):
    """Runs of sectors; the whole run is one write."""
    buf = mmap.mmap(-1, max(RUNS) * SECTOR)
    zeroed = 0.1 if takes_zeroes(fd) else 0
    while not told.is_set():
        first = rng.randrange(len(mine))
        zeroes = rng.random() < zeroed
        run = mine[first:first + rng.choice(RUNS) * (8 if zeroes else 1)]
        for number in run:
            state.begun[number] += 1
        try:
            if zeroes:
                zero_run(fd, state, run)
            else:
                write_run(fd, state, run, buf)
            for number in run:
                state.acked[number] = state.begun[number]
            if not rng.randrange(16):
                os.fsync(fd)
                state.flushed[mine.start:mine.stop] = state.acked[mine.start:mine.stop]
        except OSError as error:
            state.error = str(error)
            return
        if pause:
            time.sleep(pause)


def write(device, path, seed, blocks, pause):
    end()
    fd, count = opened(device, blocks)
    state = State(path, count)
    share = count // THREADS
    threads = [threading.Thread(target=write_some, args=(
        fd, state, range(i * share, (i + 1) * share), random.Random(int(seed) * THREADS + i), float(pause)))
        for i in range(THREADS)]
    told.clear()
    load.extend((fd, state, sum(state.acked), threads))
    for thread in threads:
        thread.start()
    return f"{device} is written"


def end():
    if not load:
        return "nothing is written"
    fd, state, before, threads = load
    told.set()
    for thread in threads:
        thread.join()
    load.clear()
    os.close(fd)
    state.save()
    return (f"{sum(state.acked) - before} sectors acknowledged, "
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


def check(device, path, blocks, lost=""):
    fd, count = opened(device, blocks)
    state = State(path, count)
    buf = mmap.mmap(-1, max(RUNS) * SECTOR)
    least = state.flushed if lost else state.acked
    wrong = []
    with os.fdopen(fd, "rb", 0):
        for number in range(count):
            at = number * SECTOR % len(buf)
            if not at:
                os.preadv(fd, [buf], number * SECTOR)
            bad, version = check_sector(buf[at:at + SECTOR], number, least[number], state.begun[number], state.zeros[number])
            if bad:
                wrong.append(bad)
            elif lost:
                state.acked[number] = state.flushed[number] = version
    if lost:
        state.save()
    said = "\n".join([*wrong[:10], f"{len(wrong)} of {count} sectors are wrong, {sum(state.acked)} were acknowledged"])
    if wrong or not any(state.acked):
        raise ValueError(said)
    return said


def serve():
    """Answer requests. Threads may wait for a disk at the end."""
    text = b""
    while more := os.read(0, 65536):
        text += more
        if text.endswith(b"\0\0"):
            name, *words = text[:-2].decode().split("\0")
            text = b""
            try:
                code, answer = 0, {"write": write, "end": end, "check": check}[name](*words)
            except (OSError, ValueError) as error:
                code, answer = 1, error
            os.write(1, f"{code}\0{answer}\0".encode())
    os._exit(0)


serve()
