#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""swapped.py BYTES SECONDS SEED - memory of a process goes out to swap and comes back, again and again: every page has to be
what was written to it. MADV_PAGEOUT reclaims the pages although memory is not short. The last line says how many rounds there
were."""

import mmap
import random
import sys
import time

PAGEOUT = 21        # MADV_PAGEOUT, which the module mmap does not know
PATIENCE = 30       # seconds until the pages have gone
size, seconds, seed = (int(word) for word in sys.argv[1:])
rng = random.Random(seed)
end = time.monotonic() + seconds


def swapped():
    """Return how many bytes of this process are in swap."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmSwap"))


memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
rounds = 0
while not rounds or time.monotonic() < end:
    wanted = [rng.randbytes(mmap.PAGESIZE) for _ in range(size // mmap.PAGESIZE)]
    for number, page in enumerate(wanted):
        memory[number * mmap.PAGESIZE:(number + 1) * mmap.PAGESIZE] = page
    late = time.monotonic() + PATIENCE
    while swapped() < size * 9 // 10:
        assert time.monotonic() < late, f"only {swapped()} bytes are in swap"
        memory.madvise(PAGEOUT)
        time.sleep(0.05)
    for number, page in enumerate(wanted):
        assert memory[number * mmap.PAGESIZE:(number + 1) * mmap.PAGESIZE] == page, f"page {number} has changed, round {rounds}"
    rounds += 1
print(f"{rounds} rounds")
