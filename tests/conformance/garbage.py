#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Talk nonsense to a kfi_sockets endpoint and see that each connection is closed.

garbage.py ADDRESS PORT EP-TYPE(1 MSG, 3 RDM) [SEED]

Prints one line for each kind of nonsense and exits with 1 if a connection
stayed open, or was refused because the listener is not there.
"""

import errno
import itertools
import random
import socket
import struct
import sys
import time

MAGIC, VERSION, LENGTH = 0x5049464B, 1, 72
HELLO, ACCEPT, PROOF, AUTH = 1, 2, 5, 0x100
MSG, RTS, CTS, DATA, WRITE, READ, READ_DATA, TREAD, ACK, CREDIT, BYE, ATOMIC = range(1, 13)
# An atomic operation: its number, and in the high byte its type. Here: sum, and 64 bits unsigned, or float.
SUM_U64, SUM_FLOAT = 7 << 8 | 2, 8 << 8 | 2
# Flags of a frame, and the tag for which 200 receives of 64 bytes wait.
TAGGED, CQ_DATA, WANTS_ACK, RMA, COMMIT, FETCH, COMPARE, TAG = 1, 2, 4, 0x10, 0x80, 0x100, 0x200, 0xACED
PATIENCE = 30


def hello(ep_type, **change):
    """A hello as wire.h has it, with single fields changed."""
    field = {"magic": MAGIC, "version": VERSION, "len": LENGTH, "kind": HELLO, "ep_type": ep_type, "port": 5, "data_len": 0, "auth_len": 0,
             "incarnation": random.getrandbits(63) + 1, "stream": random.getrandbits(64), "known": 0,
             "window_msg": 64, "window_tag": 64, "requests": 16, "eager": 16384,
             "status": 0, "features": 0, "src_ctx": 0, "dst_ctx": 0, "zero": 0}
    field.update(change)
    return struct.pack("<IHHBBHHHQQQIIIIIIHHI", *field.values())


def frame(kind, **change):
    """A frame header as wire.h has it."""
    field = {"places": 0, "flags": 0, "rma_count": 0, "slot": 0, "id": 0, "gen": 0,
             "credit_msg": 64, "credit_tag": 64, "payload": 0, "len": 0, "tag": 0, "data": 0}
    field.update(change)
    return struct.pack("<BBHHHIIIIQQQQ", kind, *field.values())


def segment(addr, length, key):
    return struct.pack("<QQQ", addr, length, key)


def atomic(what, length=8, operands=8, flags=0, segments=(8,)):
    """An atomic operation on a region that is not there."""
    return frame(ATOMIC, slot=what, len=length, payload=operands, flags=flags, rma_count=len(segments)) + \
        b"".join(segment(0, n, 0xBAD) for n in segments) + bytes(operands)


def durable(segments=(8,)):
    """The same for a write that is to be durable."""
    return frame(WRITE, flags=COMMIT, rma_count=len(segments), payload=8, len=8) + \
        b"".join(segment(0, n, 0xBAD) for n in segments) + bytes(8)


def first_words(ep_type):
    """What a stranger may open with."""
    yield "nothing but an end", b""
    yield "random bytes", random.randbytes(5000)
    yield "zeros", bytes(4096)
    yield "ones", b"\xff" * 4096
    yield "half a hello", hello(ep_type)[:30]
    yield "another magic", hello(ep_type, magic=MAGIC ^ 1)
    yield "a future version", hello(ep_type, version=77)
    yield "no version", hello(ep_type, version=0)
    yield "a hello of another length", hello(ep_type, len=71)
    yield "a hello without a length", hello(ep_type, len=0)
    yield "an unknown kind", hello(ep_type, kind=99)
    yield "an answer nobody asked for", hello(ep_type, kind=ACCEPT)
    yield "another endpoint type", hello(4 - ep_type)
    yield "too much private data", hello(ep_type, data_len=65535) + bytes(65535)
    yield "authentication", hello(ep_type, auth_len=16) + bytes(16)
    yield "authentication nobody asked for", hello(ep_type, features=AUTH, auth_len=32) + bytes(32)
    yield "authentication of another length", hello(ep_type, features=AUTH, auth_len=31) + bytes(31)
    yield "a proof of nothing", hello(ep_type, kind=PROOF, features=AUTH, auth_len=32) + bytes(32)
    yield "unknown features", hello(ep_type, features=0x80000000)
    yield "something where nothing belongs", hello(ep_type, zero=1)
    yield "a receive context that nobody has", hello(ep_type, dst_ctx=3)
    if ep_type == 3:        # to a MSG listener that is a request, which waits
        yield "a hello twice", hello(ep_type) * 2


def frames():
    """What one who was let in may go on with."""
    yield "random bytes", random.randbytes(8000)
    yield "an unknown frame", frame(99)
    yield "frame 0", frame(0)
    yield "an eager message of 4 GiB", frame(MSG, payload=1 << 32, len=1 << 32)
    yield "a length beyond all", frame(MSG, payload=(1 << 64) - 1, len=(1 << 64) - 1)
    yield "a request beyond all", frame(RTS, len=(1 << 64) - 1)
    # With a tag: what has credit is a message like every other, and would be received.
    yield "more than the credits", \
        (frame(MSG, flags=TAGGED, tag=2, payload=16000, len=16000) + bytes(16000)) * 101
    yield "too many segments", frame(WRITE, rma_count=65535, payload=8, len=8)
    yield "a write without segments", frame(WRITE, rma_count=0, payload=8, len=8) + bytes(8)
    yield "segments that do not add up", frame(WRITE, rma_count=1, payload=8, len=8) + \
        segment(0, 1 << 40, 1) + bytes(8)
    yield "an atomic operation that there is not", atomic(7 << 8 | 30)
    yield "an atomic operation on what is no integer", atomic(SUM_FLOAT)
    yield "a comparison of nothing", atomic(7 << 8 | 12)
    yield "an atomic operation of two kinds", atomic(7 << 8 | 12, operands=16, flags=FETCH | COMPARE)
    yield "old values and remote data", atomic(SUM_U64, flags=FETCH | CQ_DATA)
    yield "half an element", atomic(SUM_U64, length=12, operands=12, segments=(12,))
    yield "more operands than targets", atomic(SUM_U64, operands=16)
    yield "more atomic operations than fit", atomic(SUM_U64, length=1024, operands=1024, segments=(1024,))
    yield "atomic targets that do not add up", atomic(SUM_U64, segments=(8, 8))
    yield "atomic targets beyond all", atomic(SUM_U64, segments=(1 << 63, (1 << 63) + 8))
    yield "an atomic operation on nothing", atomic(SUM_U64, segments=())
    yield "a commit of nothing", durable(segments=())
    yield "a commit of too much", durable(segments=(8,) * 257)
    yield "a message that commits", frame(MSG, flags=COMMIT)
    yield "a read that commits", frame(READ, flags=COMMIT, rma_count=1, len=8) + segment(0, 8, 0xBAD)
    yield "old values and a commit", atomic(SUM_U64, flags=FETCH | COMMIT)
    yield "go ahead for nothing", frame(CTS, id=5, gen=7)
    yield "data for nothing", frame(DATA, slot=7, payload=100, len=100) + bytes(100)
    yield "read data for nothing", frame(READ_DATA, id=70000, payload=100, len=100) + bytes(100)
    yield "an end of nothing", frame(ACK, id=12345678, gen=9)
    yield "credits that run backwards", frame(CREDIT, credit_msg=0, credit_tag=0) + \
        frame(CREDIT, credit_msg=0x90000000, credit_tag=0x90000000)


def tricks():
    """What costs only who hopes that nobody looks. All end with a frame that is none."""
    end = frame(99)
    yield "a payload that was not asked for yet", \
        frame(RTS, flags=TAGGED, tag=TAG, id=7, gen=3, len=64) + \
        frame(DATA, slot=0, id=7, gen=3, payload=64, len=64) + bytes(64) + end
    yield "many requests, and never a payload", \
        frame(RTS, flags=TAGGED, tag=TAG, len=64) * 60 + end
    yield "half a payload", \
        frame(MSG, flags=TAGGED, tag=TAG, payload=64, len=64) + bytes(10)
    # Both have a receive, which nobody could cancel: they must not keep it.
    yield "a promise that is not kept", frame(RTS, flags=TAGGED, tag=TAG, id=7, gen=3, len=64)
    yield "a payload that stops in the middle", frame(MSG, flags=TAGGED, tag=TAG, payload=64, len=64) + bytes(10)
    yield "operands that stop in the middle", atomic(SUM_U64, length=512, operands=512, segments=(512,))[:200]
    yield "atomic operations on what is not there", \
        b"".join(atomic(SUM_U64, flags=n % 2 * FETCH) for n in range(300)) + end
    yield "commits of what is not there", \
        b"".join(durable(segments=(8,) + (0,) * (n % 3)) for n in range(300)) + end
    yield "a write that commits and stops in the middle", \
        frame(WRITE, flags=COMMIT, rma_count=1, payload=64, len=64) + segment(0, 64, 0xBAD) + bytes(10)
    yield "a tagged read without a tag", frame(TREAD, len=64)
    yield "a tagged read of who offers none", frame(TREAD, flags=TAGGED | RMA, tag=TAG, len=64)
    # The last ones find their receives, and no answer is left for them.
    yield "more requests at once than announced", \
        frame(MSG, flags=TAGGED | WANTS_ACK, tag=1) * 100 + frame(MSG, flags=TAGGED | WANTS_ACK, tag=TAG) * 200 + end
    yield "ends of others' requests", b"".join(frame(ACK, id=n % 64, gen=n // 64) for n in range(256))


def closed(sock):
    """Wait until the other side has closed; what it says before is its own."""
    sock.settimeout(1)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if not sock.recv(65536):
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


RESERVED = itertools.cycle(range(1023, 599, -1))


def connect(address, port):
    """From a port below 1024, without which an RDM endpoint believes nothing."""
    for _ in range(400):
        try:
            return socket.create_connection((address, port), timeout=10,
                                            source_address=("", next(RESERVED)))
        except OSError as err:
            # The port is in use, or was a minute ago.
            if err.errno not in (errno.EADDRINUSE, errno.EADDRNOTAVAIL):
                raise
    raise OSError("no reserved port is free")


def talk(address, port, words, leave):
    """One connection; leave: we close first. True if it was closed in time."""
    with connect(address, port) as sock:
        try:
            for word in words:
                sock.sendall(word)
                time.sleep(0.02)
        except OSError:
            return True
        if leave:
            return True
        return closed(sock)


def main():
    address, port, ep_type = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else int(time.time())
    random.seed(seed)
    print(f"garbage: seed {seed}, to {address} port {port}")
    bad = 0
    for name, words in first_words(ep_type):
        ok = talk(address, port, [words], leave=not words)
        print(f"garbage: {'closed' if ok else 'STILL OPEN'} after {name}", flush=True)
        bad += not ok
    # A connection request to a MSG listener waits for its consumer: no frames.
    if ep_type == 3:
        for name, words in frames():
            ok = talk(address, port, [hello(ep_type), words], leave=False)
            print(f"garbage: {'closed' if ok else 'STILL OPEN'} after {name}", flush=True)
            bad += not ok
        for name, words in tricks():
            half = name.startswith("half")
            ok = talk(address, port, [hello(ep_type), words], leave=half)
            print(f"garbage: {'closed' if ok else 'STILL OPEN'} after {name}", flush=True)
            bad += not ok
    for _ in range(50):
        talk(address, port, [random.randbytes(random.randrange(200))], leave=True)
    return 1 if bad else 0


def datagrams():
    """UDP: there is no connection to close; nothing may happen at all."""
    address, port = sys.argv[1], int(sys.argv[2])
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        for i in range(500):
            sock.sendto(random.randbytes(i % 300), (address, port))
        sock.sendto(b"", (address, port))
    return 0


if __name__ == "__main__":
    sys.exit(datagrams() if sys.argv[3] == "2" else main())
