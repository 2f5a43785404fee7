#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Change and read the map of fabric ids through the netlink family of kfi.ko.

As administrator and as other users. KTAP on stdout. Leaves entries, which the end of a namespace
and of kfi.ko must free.
"""

import errno
import socket
import struct
import sys
import threading

from genl import (K, Genl, NlError, attr, become_nobody, get, in_child, leave_namespace, outcome, run_cases, u32)

ID_MAX = 0xfffff
NOT_SUPPORTED = errno.errorcode[errno.EOPNOTSUPP]	# it has two names


def ip(address):
    return attr(K["KFI_A_MAP_ADDR"], socket.inet_aton(address))


def entry(number, address):
    return u32("KFI_A_MAP_ID", number) + ip(address)


def numbered(number):
    """Return an address for a number."""
    return socket.inet_ntoa(struct.pack("!I", 0x0a000000 + number))


def add(nl, number, address):
    nl.do("ADD_MAP", entry(number, address))


def delete(nl, number):
    nl.do("DEL_MAP", u32("KFI_A_MAP_ID", number))


def shown(nl, **kw):
    """Return the map, in the order of the dump."""
    answer = []
    for m in nl.dump("MAP", **kw):
        found = dict(m)
        assert set(found) == {K["KFI_A_MAP_ID"], K["KFI_A_MAP_ADDR"]}
        answer.append((get(m, "KFI_A_MAP_ID"), socket.inet_ntoa(found[K["KFI_A_MAP_ADDR"]])))
    return answer


def clear(nl):
    for number, _ in shown(nl):
        delete(nl, number)


def refused(nl, command, attrs, error, words):
    """Check that the request fails with this error and message."""
    try:
        nl.do(command, attrs)
    except NlError as err:
        assert str(err) == error, f"{err}, not {error}"
        assert words in err.said, f"says '{err.said}', not '{words}'"
        return
    raise AssertionError(f"{command} was accepted")


# ---- the cases: each returns nothing, or asserts ----

def add_and_delete(nl):
    assert shown(nl) == []
    add(nl, ID_MAX, "255.255.255.255")
    add(nl, 1, "10.0.0.9")
    add(nl, 0x500, "192.168.7.1")
    assert shown(nl) == [(1, "10.0.0.9"), (0x500, "192.168.7.1"), (ID_MAX, "255.255.255.255")]
    delete(nl, 0x500)
    assert shown(nl) == [(1, "10.0.0.9"), (ID_MAX, "255.255.255.255")]
    refused(nl, "DEL_MAP", u32("KFI_A_MAP_ID", 0x500), "ENOENT", "not in the map")
    add(nl, 2, "192.168.7.1")
    delete(nl, 1)
    add(nl, 1, "10.0.0.10")
    assert shown(nl) == [(1, "10.0.0.10"), (2, "192.168.7.1"), (ID_MAX, "255.255.255.255")]
    clear(nl)


def duplicates(nl):
    add(nl, 1, "10.0.0.1")
    add(nl, 2, "10.0.0.2")
    refused(nl, "ADD_MAP", entry(1, "10.0.0.3"), "EEXIST", "the number has an address")
    refused(nl, "ADD_MAP", entry(3, "10.0.0.1"), "EEXIST", "the address has a number")
    refused(nl, "ADD_MAP", entry(1, "10.0.0.1"), "EEXIST", "already")
    refused(nl, "ADD_MAP", entry(1, "10.0.0.2"), "EEXIST", "already")
    assert shown(nl) == [(1, "10.0.0.1"), (2, "10.0.0.2")]
    clear(nl)


def out_of_range(nl):
    for number in (0, ID_MAX + 1, 0xffffffff):
        refused(nl, "ADD_MAP", entry(number, "10.0.0.1"), "ERANGE", "out of range")
        refused(nl, "DEL_MAP", u32("KFI_A_MAP_ID", number), "ERANGE", "out of range")
    refused(nl, "ADD_MAP", entry(1, "0.0.0.0"), "EINVAL", "a node cannot have this address")
    for attrs in (b"", u32("KFI_A_MAP_ID", 1), ip("10.0.0.1")):
        refused(nl, "ADD_MAP", attrs, "EINVAL", "a number and an address are needed")
    refused(nl, "DEL_MAP", b"", "EINVAL", "a number is needed")
    assert shown(nl) == []


def wrong_sizes(nl):
    number, address = u32("KFI_A_MAP_ID", 1), ip("10.0.0.1")
    for size in (0, 3, 5, 4000):
        bad = bytes([1] * size)
        refused(nl, "ADD_MAP", attr(K["KFI_A_MAP_ID"], bad) + address, "EINVAL", "invalid attribute length")
        refused(nl, "ADD_MAP", number + attr(K["KFI_A_MAP_ADDR"], bad), "EINVAL", "invalid attribute length")
        refused(nl, "DEL_MAP", attr(K["KFI_A_MAP_ID"], bad), "EINVAL", "invalid attribute length")
    # One that says it is longer than the message, one that says it is shorter than its head, and bytes left over.
    for tail in (struct.pack("HHI", 400, K["KFI_A_MAP_ADDR"], 1), struct.pack("HHI", 3, K["KFI_A_MAP_ADDR"], 1), b"\1\2"):
        assert outcome(nl.do, "ADD_MAP", number + tail) == "EINVAL"
    assert shown(nl) == []


def strangers(nl):
    """attributes of another command, or of none"""
    good = entry(1, "10.0.0.1")
    for other in (u32("KFI_A_EP_ID", 1), attr(999, b"1234"), attr(0, b"1234"), u32("KFI_A_PAD", 1)):
        refused(nl, "ADD_MAP", good + other, "EINVAL", "attribute")
        refused(nl, "DEL_MAP", u32("KFI_A_MAP_ID", 1) + other, "EINVAL", "attribute")
    refused(nl, "DEL_MAP", good, "EINVAL", "attribute")
    assert nl.fails("MAP", u32("KFI_A_MAP_ID", 1)) == "EINVAL"
    # A nest where a number belongs.
    assert outcome(nl.do, "ADD_MAP", attr(K["KFI_A_MAP_ID"] | 0x8000, bytes(4)) + ip("10.0.0.1")) != "OK"
    assert shown(nl) == []


def wrong_manner(nl):
    """a change is not a dump, and the map is shown only by a dump"""
    for name in ("ADD_MAP", "DEL_MAP"):
        try:
            list(nl.ask(nl.family, K["KFI_CMD_" + name], entry(1, "10.0.0.1")))
            raise AssertionError(f"{name} as a dump")
        except NlError as err:
            assert str(err) == NOT_SUPPORTED, err
    assert outcome(nl.do, "GET_MAP") == NOT_SUPPORTED
    assert shown(nl) == []


def unprivileged(nl):
    """every user may read, only the administrator may change"""
    add(nl, 5, "10.0.0.5")

    def work():
        before = Genl()		# a socket that was opened with the right
        become_nobody()
        after = Genl()
        assert shown(after) == [(5, "10.0.0.5")]
        for other in (before, after):
            assert outcome(add, other, 6, "10.0.0.6") == "EPERM"
            assert outcome(delete, other, 5) == "EPERM"
        # Before anything is said about what it asks.
        assert outcome(after.do, "ADD_MAP") == "EPERM"
    in_child(work)
    assert shown(nl) == [(5, "10.0.0.5")]
    clear(nl)


def long_map(nl):
    """more entries than fit a buffer: each that stays is dumped once, in order, during changes"""
    staying = list(range(2, 4000, 2)) + [ID_MAX - 1, ID_MAX]
    for number in staying:
        add(nl, number, numbered(number))
    reads = nl.reads
    assert shown(nl) == [(n, numbered(n)) for n in staying]
    assert nl.reads - reads > 3, "the dump was not continued"
    other, odd = Genl(), iter(range(1, 4000, 2))

    def between():
        for number in [next(odd) for _ in range(50)]:
            add(other, number, numbered(number))
    small = Genl(4096)
    told = shown(small, between=between)
    assert [n for n, _ in told if n in set(staying)] == staying
    assert all(told[i][0] < told[i + 1][0] for i in range(len(told) - 1)), "not in order"
    assert all(address == numbered(n) for n, address in told)
    # And of those that go while it is told, none is told after it has gone.
    going = iter(staying)

    def delete_some():
        for number in [next(going) for _ in range(100)]:
            delete(other, number)
    told = [n for n, _ in shown(small, between=delete_some)]
    assert len(told) == len(set(told)) and {ID_MAX - 1, ID_MAX} <= set(told)
    clear(nl)


def at_once(nl):
    """several change the same entries: each change succeeds for one of them"""
    counts = {"added": 0, "deleted": 0}
    lock = threading.Lock()

    def work():
        mine = Genl()
        for i in range(2000):
            number = 1 + i % 20
            added = outcome(add, mine, number, numbered(number))
            gone = outcome(delete, mine, number)
            assert added in ("OK", "EEXIST") and gone in ("OK", "ENOENT"), (added, gone)
            with lock:
                counts["added"] += added == "OK"
                counts["deleted"] += gone == "OK"
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert counts["added"] == counts["deleted"] > 2000, counts
    assert shown(nl) == []


def other_namespace(nl):
    """another namespace has another map, which ends with it"""
    add(nl, 5, "10.0.0.5")

    def work():
        leave_namespace()
        other = Genl()
        assert shown(other) == []
        assert outcome(delete, other, 5) == "ENOENT"
        for number in range(1, 500):
            add(other, number, numbered(number + 1000))
        assert len(shown(other)) == 499
        # A socket stays where it was opened.
        assert shown(nl) == [(5, "10.0.0.5")]
    in_child(work)
    assert shown(nl) == [(5, "10.0.0.5")]


sys.exit(not run_cases("map", [add_and_delete, duplicates, out_of_range, wrong_sizes, strangers, wrong_manner,
                               unprivileged, long_map, at_once, other_namespace]))
