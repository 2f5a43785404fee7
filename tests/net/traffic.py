#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""traffic.py COMMAND - traffic over a network device, and its counters. Called by inside.

    counters DEV            those of ethtool -S, a line each
    serve                   echoes datagrams at port 7, answers streams at port 8 with their digest, and reads none at port 9
    echo HOST SIZE COUNT    sends datagrams to 7, and compares what comes back
    stream HOST MEGABYTES   sends a stream to 8, and compares the digest
    load HOST               sends streams for ever, whatever becomes of them
    unread HOST             sends a stream to 9
"""

import array
import fcntl
import hashlib
import os
import socket
import struct
import sys
import threading
import time

SIOCETHTOOL, DRVINFO, STRINGS, STATS, NAME = 0x8946, 3, 0x1b, 0x1d, 32
SO_RCVBUFFORCE = 33
UNREAD = 8 << 20        # bytes of a stream that nobody reads


def ethtool(sock, dev, data):
    """One ioctl; the answer replaces data."""
    fcntl.ioctl(sock, SIOCETHTOOL, struct.pack("16sP", dev.encode(), data.buffer_info()[0]))
    return data.tobytes()


def counters(dev):
    """Print the device's own counters."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        info = array.array("B", struct.pack("I", DRVINFO) + bytes(192))
        count = struct.unpack_from("I", ethtool(sock, dev, info), 180)[0]
        names = array.array("B", struct.pack("III", STRINGS, 1, count) + bytes(NAME * count))
        names = ethtool(sock, dev, names)[12:]
        values = array.array("B", struct.pack("II", STATS, count) + bytes(8 * count))
        values = struct.unpack_from(f"{count}Q", ethtool(sock, dev, values), 8)
    for i, value in enumerate(values):
        print(names[NAME * i:NAME * (i + 1)].rstrip(b"\0").decode(), value)


def family(host):
    """Return the family of an address."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def answer(conn):
    """Read a stream to its end, and answer with its digest."""
    digest = hashlib.sha256()
    try:
        with conn:
            while data := conn.recv(1 << 20):
                digest.update(data)
            conn.sendall(digest.digest())
    except OSError:
        pass


def listen(port, room=None):
    """Return a socket of connections with so much room for what is not read, in bytes."""
    tcp = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if room:
        tcp.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, room)
    tcp.bind(("::", port))
    tcp.listen(8)
    return tcp


def keep(tcp):
    """Accept connections, and read nothing of them."""
    kept = []
    while True:
        kept.append(tcp.accept()[0])


def serve():
    """Serve until killed."""
    udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    udp.bind(("::", 7))

    def echo():
        while True:
            data, peer = udp.recvfrom(65536)
            try:
                udp.sendto(data, peer)
            except OSError:
                pass

    threading.Thread(target=echo, daemon=True).start()
    threading.Thread(target=keep, args=(listen(9, UNREAD),), daemon=True).start()
    tcp = listen(8)
    while True:
        conn = tcp.accept()[0]
        threading.Thread(target=answer, args=(conn,), daemon=True).start()


def echo(host, size, count):
    """Each datagram has three tries: the first one may meet a neighbour that is not known yet."""
    with socket.socket(family(host), socket.SOCK_DGRAM) as sock:
        sock.settimeout(2)
        for number in range(count):
            data = struct.pack("I", number) + os.urandom(size - 4)
            for _ in range(3):
                sock.sendto(data, (host, 7))
                try:
                    while (back := sock.recv(65536))[:4] != data[:4]:
                        pass
                except TimeoutError:
                    continue
                if back != data:
                    sys.exit("another datagram has come back")
                break
            else:
                sys.exit(f"no answer to datagram {number} of {size} bytes")


def stream(host, megabytes):
    """Pieces of all sizes up to 1 MiB."""
    digest = hashlib.sha256()
    with socket.create_connection((host, 8), 60) as sock:
        left = megabytes << 20
        while left:
            data = os.urandom(min(left, 1 + int.from_bytes(os.urandom(3), "little") % (1 << 20)))
            digest.update(data)
            sock.sendall(data)
            left -= len(data)
        sock.shutdown(socket.SHUT_WR)
        got = b""
        while data := sock.recv(64):
            got += data
    if got != digest.digest():
        sys.exit("the stream has changed")


def load(host):
    """One stream after the other."""
    while True:
        try:
            stream(host, 64)
        except OSError:
            time.sleep(0.1)


def unread(host):
    """A stream that nobody reads."""
    with socket.create_connection((host, 9), 60) as sock:
        sock.settimeout(None)
        sock.sendall(bytes(2 * UNREAD))


def main():
    """Run a command."""
    command, *args = sys.argv[1:]
    {"counters": counters, "serve": serve, "echo": echo, "stream": stream, "load": load, "unread": unread}[command](
        *(int(arg) if arg.isdigit() else arg for arg in args))


main()
