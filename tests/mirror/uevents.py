#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""uevents.py - print the uevents of mirrors, one a line: NAME EVENT OUTAGE PEER SERVICE. The first line says that it has
begun."""

import socket

KERNEL_EVENTS = 1   # multicast group

with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 15) as sock:   # NETLINK_KOBJECT_UEVENT
    sock.bind((0, KERNEL_EVENTS))
    print("begun", flush=True)
    while True:
        words = dict(word.partition("=")[::2] for word in sock.recv(65536).decode().split("\0"))
        if "KFI_MIRROR" not in words:
            continue
        with open(f"/sys{words['DEVPATH']}/dm/name", encoding="ascii") as file:
            name = file.read().strip()
        print(name, words["KFI_MIRROR"], *(words.get("KFI_MIRROR_" + key, "-") for key in ("OUTAGE", "PEER", "SERVICE")),
              flush=True)
