#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Dump everything from the netlink family of kfi.ko while objects come and go.

kfi_nltest.ko keeps objects open, and a thread of it opens and closes others. KTAP on stdout.
"""

import re
import subprocess
import sys
import time

from genl import (K, Genl, attr, become_nobody, get, in_child, leave_namespace, parse, run_cases, text, u32)

EP_MSG, EP_RDM = 1, 3
LISTENING, ENABLED, IDLE = 6, 1, 0


def stable(messages, domains):
    return [m for m in messages if get(m, "KFI_A_DOMAIN_ID") in domains]


# ---- the cases: each returns nothing, or asserts ----

DOMAINS = int(open("/sys/module/kfi_nltest/parameters/domains").read())
EPS = int(open("/sys/module/kfi_nltest/parameters/eps").read())


def our_domains(nl):
    """Return the domains that stay: those of the fabric with the most domains."""
    by_fabric = {}
    for m in nl.dump("DOMAIN"):
        by_fabric.setdefault(get(m, "KFI_A_FABRIC_ID"), []).append(get(m, "KFI_A_DOMAIN_ID"))
    return max(by_fabric.values(), key=len)


def providers(nl):
    names = [get(m, "KFI_A_PROV_NAME", False) for m in nl.dump("PROVIDER")]
    assert names.count("loop") == 1, names


def infos(nl):
    for kind in (EP_MSG, EP_RDM):
        answer = nl.dump("INFO", text("KFI_A_PROV_NAME", "loop") + u32("KFI_A_EP_TYPE", kind))
        assert answer and all(get(m, "KFI_A_EP_TYPE") == kind for m in answer)
        assert all(get(m, "KFI_A_DOMAIN_NAME", False) == "loop0" for m in answer)
        nest = parse(next(p for k, p in answer[0] if k == K["KFI_A_TX_ATTR"]))
        assert get(nest, "KFI_CTX_A_SIZE") == 256
    assert len(nl.dump("INFO")) >= 2


def infos_refused(nl):
    assert nl.fails("INFO", text("KFI_A_PROV_NAME", "nobody")) == "ENODATA"
    assert nl.fails("INFO", text("KFI_A_NODE", "no-such-node")) == "ENODATA"
    assert nl.fails("INFO", u32("KFI_A_EP_TYPE", 99)) == "ERANGE"
    assert nl.fails("INFO", text("KFI_A_NODE", "n" * 300)) == "EINVAL"
    assert nl.fails("INFO", attr(K["KFI_A_NODE"], b"no end")) == "EINVAL"
    assert nl.fails("INFO", attr(K["KFI_A_EP_TYPE"], b"x")) in ("EINVAL", "ERANGE")
    assert nl.fails("INFO", u32("KFI_A_FABRIC_ID", 1)) == "EINVAL"
    assert nl.fails("INFO", attr(999, b"1234")) == "EINVAL"
    assert nl.fails("INFO", attr(K["KFI_A_SOURCE"], b"")) == "EINVAL"	# of nothing
    assert nl.fails("FABRIC", u32("KFI_A_EP_ID", 1)) == "EINVAL"
    assert nl.fails("EP", u32("KFI_A_EP_ID", 0)) == "ERANGE"


def domains(nl):
    for m in nl.dump("FABRIC"):
        assert get(m, "KFI_A_PROV_NAME", False) == "loop" and get(m, "KFI_A_FABRIC_NAME", False) == "loop"
    assert len(our_domains(nl)) == DOMAINS
    assert not any(get(m, "KFI_A_REGISTERED") for m in nl.dump("DOMAIN")), "nobody has registered memory"


def endpoints(nl):
    """every endpoint that stays is dumped once, however many others come and go"""
    want = None
    for _ in range(20):
        start = nl.reads
        shown = nl.dump("EP")
        ids = [get(m, "KFI_A_EP_ID") for m in shown]
        assert len(ids) == len(set(ids)), "shown twice"
        ours = [get(m, "KFI_A_EP_ID") for m in stable(shown, our_domains(nl))]
        assert len(ours) == DOMAINS * EPS + 1, len(ours)
        assert want in (None, ours), "others than before"
        want = ours
        assert EPS < 100 or nl.reads - start > 3, "the dump was not continued"


def one_endpoint(nl):
    shown = nl.dump("EP")
    live = [m for m in shown if get(m, "KFI_A_EP_STATE") == ENABLED]
    assert len(live) == 1
    number = get(live[0], "KFI_A_EP_ID")
    assert re.fullmatch(r"loop:[1-9]\d*", get(live[0], "KFI_A_SRC_ADDR", False))
    assert [get(m, "KFI_A_EP_ID") for m in nl.dump("EP", u32("KFI_A_EP_ID", number))] == [number]
    assert not nl.dump("EP", u32("KFI_A_EP_ID", 0xfffffff0))


def passive(nl):
    listening = [m for m in nl.dump("EP") if get(m, "KFI_A_EP_STATE") == LISTENING]
    assert len(listening) == 1 and get(listening[0], "KFI_A_EP_TYPE") == EP_MSG
    assert get(listening[0], "KFI_A_DOMAIN_ID") is None
    assert get(listening[0], "KFI_A_DOMAIN_NAME", False) == "loop0"
    assert get(listening[0], "KFI_A_SRC_ADDR", False)


def counts(nl):
    live = next(get(m, "KFI_A_EP_ID") for m in nl.dump("EP") if get(m, "KFI_A_EP_STATE") == ENABLED)
    answer = nl.dump("STATS", u32("KFI_A_EP_ID", live))
    assert len(answer) == 1
    stats = parse(next(p for k, p in answer[0] if k == K["KFI_A_STATS"]))
    for name in K:
        if name.startswith("KFI_STATS_A_") and not name.endswith(("_UNSPEC", "_PAD")):
            assert get(stats, name) == 0, name
    cntr = parse(next(p for k, p in answer[0] if k == K["KFI_A_CNTR"]))
    assert get(cntr, "KFI_CNTR_A_DIR") == K["KFI_NL_CNTR_SEND"]
    assert get(cntr, "KFI_CNTR_A_VALUE") == 5 and get(cntr, "KFI_CNTR_A_ERRORS") == 0


def peers_of_the_next(nl):
    """the endpoint being dumped closes: the peers of the next are dumped from the first on
    """
    def crowd(number):
        with open("/sys/module/kfi_nltest/parameters/crowd", "w") as file:
            file.write(str(number))

    crowd(2)
    first, second = sorted({get(m, "KFI_A_EP_ID") for m in nl.dump("PEER")})
    shown = [get(m, "KFI_A_EP_ID") for m in Genl(4096).dump("PEER", between=lambda: crowd(1))]
    crowd(0)
    assert 0 < shown.count(first) < 300, "the endpoint closed too late"
    assert shown.count(second) == 300, shown.count(second)


def abandoned(nl):
    """a dump that is not read to its end leaves nothing"""
    for name in ("EP", "INFO"):
        for _ in range(5):
            other = Genl(4096)
            next(other.ask(other.family, K["KFI_CMD_GET_" + name]))
            other.sock.close()


def unprivileged(nl):
    def work():
        become_nobody()
        other = Genl()
        endpoints(other)
        infos(other)
        counts(other)
    in_child(work)


def other_namespace(nl):
    """another namespace sees the providers and none of the objects"""
    def work():
        leave_namespace()
        other = Genl()
        providers(other)
        for name in ("FABRIC", "DOMAIN", "EP", "PEER", "STATS"):
            assert not other.dump(name), name
    in_child(work)


def namespace_end(nl):
    """objects of a namespace that ends are dead at once, and can be closed"""
    module = sys.argv[1]
    run("rmmod", "kfi_nltest")
    run("ip", "netns", "add", "gone")
    run("ip", "netns", "exec", "gone", "insmod", module)
    assert not [m for m in nl.dump("EP") if get(m, "KFI_A_EP_STATE") == ENABLED]
    assert state() == "alive"
    run("ip", "netns", "del", "gone")
    deadline = time.monotonic() + 20
    while state() != "dead":
        assert time.monotonic() < deadline, "still alive"
        time.sleep(0.1)
    assert not [m for m in nl.dump("EP") if get(m, "KFI_A_EP_STATE") == ENABLED]
    run("rmmod", "kfi_nltest")


def run(*command):
    subprocess.run(command, check=True)


def state():
    return open("/sys/module/kfi_nltest/parameters/state").read().strip()


CASES = [providers, infos, infos_refused, domains, endpoints, one_endpoint, passive, counts, peers_of_the_next,
         abandoned, unprivileged, other_namespace, namespace_end]
sys.exit(not run_cases("netlink", CASES))
