#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""messages.py DEVICE WORD... - send a dm message again and again until SIGTERM comes.

A message to a suspended mirror may be refused. The last line says how many were sent."""

import errno
import fcntl
import signal
import struct
import sys
import threading

TARGET_MSG = 0xc138fd0e     # _IOWR(0xfd, 14, struct dm_ioctl)
HEAD = struct.Struct("<3I I I I i I I I Q 128s 129s 7x")
told = threading.Event()

signal.signal(signal.SIGTERM, lambda *_: told.set())
text = struct.pack("<Q", 0) + " ".join(sys.argv[2:]).encode() + b"\0"
size = HEAD.size + len(text)
request = HEAD.pack(4, 0, 0, size, HEAD.size, 0, 0, 0, 0, 0, 0, sys.argv[1].encode(), b"") + text
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
sys.exit(0 if taken else 1)
