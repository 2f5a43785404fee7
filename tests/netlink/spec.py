#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""spec.py YNL - the specification of the family, read by the kernel's own library (YNL is tools/net/ynl), speaks to kfi.ko.

The library knows nothing but docs/netlink/kfi.yaml, and refuses an attribute that is not in it. KTAP on stdout.
"""

import errno
import os
import sys

from genl import run_cases

sys.path.insert(0, sys.argv[1])
from pyynl.lib import NlError, YnlFamily  # noqa: E402

SPEC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/netlink/kfi.yaml")
kfi = YnlFamily(SPEC, schema="")	# tools/check/netlink holds it against the schema


def dumped(name, **request):
    return kfi.dump(name, request)


def error(call, *args):
    """The name of the error that a call ends with, or OK; and its words."""
    try:
        call(*args)
    except NlError as err:
        return errno.errorcode[err.error], str(err)
    return "OK", ""


# ---- the cases: each returns nothing, or asserts ----

def every_dump(_):
    """each command that dumps has messages, or none of its objects is open; and no message has more than its reply"""
    for name, op in kfi.msgs.items():
        if not name.startswith("get-"):
            continue
        reply = set(op.yaml["dump"]["reply"]["attributes"])
        for message in dumped(name):
            assert set(message) <= reply, f"{name}: {set(message) - reply}"
    empty = {name for name in kfi.msgs if name.startswith("get-") and not dumped(name)}
    assert empty <= {"get-map", "get-device", "get-peer", "get-place"}, empty


def every_reply(_):
    """what the specification says of an endpoint, an info and statistics comes"""
    ep = next(m for m in dumped("get-ep") if m["ep-state"] == "enabled")
    assert ep["src-addr"].startswith("loop:") and ep["prov-name"] == "loop"
    assert ep["tx-attr"]["size"] and {"caps", "op-flags", "iov-limit", "inject-size", "tclass"} <= set(ep["tx-attr"]), ep
    assert [m["ep-id"] for m in dumped("get-ep", **{"ep-id": ep["ep-id"]})] == [ep["ep-id"]]
    stats, = dumped("get-stats", **{"ep-id": ep["ep-id"]})
    assert stats["stats"]["tx-ops"] == 0 and stats["cntr"] == [{"dir": "send", "value": 5, "errors": 0}], stats
    infos = dumped("get-info", **{"prov-name": "loop", "ep-type": 3})
    assert infos and all(m["ep-type"] == 3 and m["ep-attr"]["max-msg-size"] > 65536 and m["domain-attr"]["mr-key-size"] for m in infos)


def changes(_):
    entry = {"map-id": 5, "map-addr": "10.0.0.5"}
    kfi.do("add-map", entry)
    assert dumped("get-map") == [entry], dumped("get-map")
    number, words = error(kfi.do, "add-map", entry)
    assert number == "EEXIST" and "already" in words, (number, words)
    kfi.do("del-map", {"map-id": 5})
    assert error(kfi.do, "del-map", {"map-id": 5})[0] == "ENOENT" and not dumped("get-map")


def limits(_):
    """the limits of the specification are those of the kernel's policies"""
    for op, name in (("del-map", "map-id"), ("get-ep", "ep-id"), ("get-info", "ep-type"), ("get-info", "prov-name")):
        checks = kfi.attr_sets["kfi"][name].yaml["checks"]
        call = kfi.do if op == "del-map" else kfi.dump
        if "max-len" in checks:
            assert error(call, op, {name: "n" * checks["max-len"]})[0] == "ENODATA"
            assert error(call, op, {name: "n" * (checks["max-len"] + 1)})[0] == "EINVAL"
        if "max" in checks:
            most = kfi.consts[checks["max"]]["value"] if checks["max"] in kfi.consts else checks["max"]
            assert error(call, op, {name: most})[0] != "ERANGE" and error(call, op, {name: most + 1})[0] == "ERANGE", name
        if "min" in checks:
            assert error(call, op, {name: checks["min"]})[0] != "ERANGE" and error(call, op, {name: checks["min"] - 1})[0] == "ERANGE", name


sys.exit(not run_cases("spec", [every_dump, every_reply, changes, limits]))
