# SPDX-License-Identifier: GPL-2.0
"""Runs under load, for the cases of scenario.py over bridges and cables, whose network fails meanwhile"""

import time

from bed import check

# Bytes that an endpoint has sent when it is well under way.
BUSY = 1 << 17


def load_all(s, **to):
    """Start writes of many sessions and small messages of a connected endpoint. @to: address=, another than the usual one"""
    jobs = [s.long_run(200, no_check=True, depth=64, op="write", **to),
            s.long_run(200, no_check=True, op="send", size=300, type="msg", service=7472, **to)]
    deadline = time.monotonic() + 60
    while not {"rdm", "msg"} <= {row["type"] for row in s.kfi.json("a", "stats") if row["tx_bytes"] > BUSY}:
        check(time.monotonic() < deadline, "the runs do not get going")
        time.sleep(0.2)
    alive(jobs)
    return jobs


def alive(jobs):
    for job in jobs:
        result = job.poll()
        check(result is None, f"{job} ended before its time:\n{result and result.text}")


def all_fail(s, jobs):
    start = time.monotonic()
    try:
        for job in jobs:
            s.fails_in_time(job, start)
    finally:
        end(jobs)


def end(jobs):
    for job in jobs:
        if job.poll() is None:
            job.kill("INT")


def quick(s, iterations=10):
    """Some verified traffic of all kinds"""
    s.traffic(size="64,65536", iterations=iterations)
    s.traffic("msg", size="64,65536", iterations=iterations)
