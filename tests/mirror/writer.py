#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A writer that knows what was acknowledged. It answers requests (ask in lib): words with a NUL behind each, and another
one. The answer is an exit code and a text.

write DEVICE STATE SEED BLOCKS PAUSE    begin to overwrite random sectors of the first blocks of 4 KiB, 512 bytes to 64 KiB at a time,
                                        from several threads, each of which waits for PAUSE seconds after a write
end                                     each thread ends its write, if the device has not failed; STATE is stored
check DEVICE STATE BLOCKS               read everything

Each sector says which one it is, which version of it, and has a checksum. STATE keeps for each sector
the last version that was acknowledged, and the last one that was begun. A sector has to be whole, and
no older than what was acknowledged."""

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
HEAD = struct.Struct("<QQQ")
told = threading.Event()        # to end
load = []                       # state and threads of "write"


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
        if os.path.exists(path):
            with open(path, encoding="ascii") as file:
                self.begun, self.acked = json.load(file)

    def save(self):
        with open(self.path, "w", encoding="ascii") as file:
            json.dump([self.begun, self.acked], file)


def write_some(fd, state, mine, rng, pause):
    """Runs of sectors; the whole run is one write."""
    buf = mmap.mmap(-1, max(RUNS) * SECTOR)
    while not told.is_set():
        first = rng.randrange(len(mine))
        run = mine[first:first + rng.choice(RUNS)]
        data = b""
        for number in run:
            state.begun[number] += 1
            data += sector(number, state.begun[number])
        buf[:len(data)] = data
        try:
            if os.pwritev(fd, [memoryview(buf)[:len(data)]], run[0] * SECTOR) != len(data):
                return
        except OSError as error:
            state.error = str(error)
            return
        for number in run:
            state.acked[number] = state.begun[number]
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


def check_sector(raw, number, acked, begun):
    """What is wrong with a sector, or nothing."""
    if raw == bytes(SECTOR):
        return f"sector {number}: empty, acknowledged {acked}" if acked else None
    _, found, version = HEAD.unpack(raw[:HEAD.size])
    crc, = struct.unpack("<I", raw[-4:])
    if crc != zlib.crc32(raw[:-4]) or found != number:
        return f"sector {number}: torn, or another one ({found})"
    if not acked <= version <= begun:
        return f"sector {number}: version {version}, acknowledged {acked}, begun {begun}"
    return None


def check(device, path, blocks):
    fd, count = opened(device, blocks)
    state = State(path, count)
    buf = mmap.mmap(-1, max(RUNS) * SECTOR)
    wrong = []
    for number in range(count):
        at = number * SECTOR % len(buf)
        if not at:
            os.preadv(fd, [buf], number * SECTOR)
        wrong.append(check_sector(buf[at:at + SECTOR], number, state.acked[number], state.begun[number]))
    os.close(fd)
    wrong = [text for text in wrong if text]
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
