#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Ask the netlink family of kfi.ko for everything, while kfi_nltest.ko keeps
objects open and a thread of it opens and closes others. KTAP on stdout."""

import errno
import os
import re
import socket
import struct
import subprocess
import sys
import time

NLM_F_REQUEST, NLM_F_DUMP = 1, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
SOL_NETLINK, NETLINK_GET_STRICT_CHK, NETLINK_GENERIC, GENL_ID_CTRL = 270, 12, 16, 16
CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 3, 1, 2
EP_MSG, EP_RDM = 1, 3
LISTENING, ENABLED, IDLE = 6, 1, 0


def constants(path):
    """The enumerators of the header, by name: this test needs no copy."""
    text = re.sub(r"/\*.*?\*/", "", open(path).read(), flags=re.S)
    values = {}
    for body in re.findall(r"enum \w+ \{(.*?)\}", text, re.S):
        for number, name in enumerate(n.strip() for n in body.split(",") if n.strip()):
            if "=" not in name:
                values[name] = number
    return values


K = constants(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                           "../../include/uapi/linux/kfi.h"))


class NlError(Exception):
    pass


def attr(kind, payload):
    raw = struct.pack("HH", len(payload) + 4, kind) + payload
    return raw + bytes(-len(raw) % 4)


def parse(raw):
    """Attributes as a list of (type, payload)."""
    found = []
    while len(raw) >= 4:
        length, kind = struct.unpack_from("HH", raw)
        assert 4 <= length <= len(raw), "broken attribute"
        found.append((kind & 0x3fff, raw[4:length]))
        raw = raw[(length + 3) & ~3:]
    return found


class Genl:
    def __init__(self, bufsize=65536):
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        self.sock.bind((0, 0))
        self.bufsize = bufsize
        self.seq = 0
        self.reads = 0
        answer = next(self.ask(GENL_ID_CTRL, CTRL_CMD_GETFAMILY,
                               attr(CTRL_ATTR_FAMILY_NAME, b"kfi\0"), 0))
        self.family = struct.unpack("H", dict(answer)[CTRL_ATTR_FAMILY_ID])[0]

    def ask(self, family, command, attrs=b"", flags=NLM_F_DUMP, between=None):
        self.seq += 1
        body = struct.pack("BBH", command, 1, 0) + attrs
        self.sock.send(struct.pack("IHHII", len(body) + 16, family, NLM_F_REQUEST | flags,
                                   self.seq, 0) + body)
        while True:
            raw = self.sock.recv(self.bufsize)
            self.reads += 1
            while raw:
                length, kind = struct.unpack_from("IH", raw)
                body, raw = raw[16:length], raw[(length + 3) & ~3:]
                if kind in (NLMSG_ERROR, NLMSG_DONE):
                    code = struct.unpack_from("i", body)[0] if body else 0
                    if code:
                        raise NlError(errno.errorcode.get(-code, code))
                    return
                yield parse(body[4:])
                if not flags:
                    return
            if between:
                between()

    def dump(self, name, attrs=b"", **kw):
        return list(self.ask(self.family, K["KFI_CMD_GET_" + name], attrs, **kw))

    def fails(self, name, attrs):
        try:
            self.dump(name, attrs)
        except NlError as err:
            return str(err)
        return "OK"


def get(message, name, number=True):
    for kind, payload in message:
        if kind == K[name]:
            return int.from_bytes(payload, sys.byteorder) if number else \
                payload.rstrip(b"\0").decode()
    return None


def u32(name, value):
    return attr(K[name], struct.pack("I", value))


def text(name, value):
    return attr(K[name], value.encode() + b"\0")


def stable(messages, domains):
    return [m for m in messages if get(m, "KFI_A_DOMAIN_ID") in domains]


# ---- the cases: each returns nothing, or asserts ----

DOMAINS = int(open("/sys/module/kfi_nltest/parameters/domains").read())
EPS = int(open("/sys/module/kfi_nltest/parameters/eps").read())


def our_domains(nl):
    """Numbers of the domains that stay: those of the fabric with the most of them."""
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


def fabrics(nl):
    for m in nl.dump("FABRIC"):
        assert get(m, "KFI_A_PROV_NAME", False) == "loop" and get(m, "KFI_A_FABRIC_NAME", False) == "loop"


def domains(nl):
    assert len(our_domains(nl)) == DOMAINS


def endpoints(nl):
    """Every endpoint that stays is shown once, however many others come and go."""
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


def peers(nl):
    for m in nl.dump("PEER"):
        assert get(m, "KFI_A_EP_ID")


def abandoned(nl):
    """A dump that nobody reads to its end leaves nothing behind."""
    for name in ("EP", "INFO"):
        for _ in range(5):
            other = Genl(4096)
            next(other.ask(other.family, K["KFI_CMD_GET_" + name]))
            other.sock.close()


def in_child(work):
    pid = os.fork()
    if not pid:
        code = 1
        try:
            work()
            code = 0
        except BaseException as err:
            print(f"# child: {err!r}", flush=True)
        os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0, "the child failed"


def unprivileged(nl):
    def work():
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        other = Genl()
        endpoints(other)
        infos(other)
        counts(other)
    in_child(work)


def other_namespace(nl):
    """Another namespace sees the providers and none of the objects."""
    def work():
        libc = __import__("ctypes").CDLL(None, use_errno=True)
        assert libc.unshare(0x40000000) == 0, "unshare"
        other = Genl()
        providers(other)
        for name in ("FABRIC", "DOMAIN", "EP", "PEER", "STATS"):
            assert not other.dump(name), name
    in_child(work)


def namespace_end(nl):
    """Objects of a namespace that goes are dead at once, and can be closed."""
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


def main():
    cases = [providers, infos, infos_refused, fabrics, domains, endpoints, one_endpoint, passive, counts,
             peers, abandoned, unprivileged, other_namespace, namespace_end]
    nl = Genl()
    failed = 0
    print(f"TAP version 13\n1..{len(cases)}")
    for number, case in enumerate(cases, 1):
        try:
            case(nl)
            print(f"ok {number} netlink.{case.__name__}", flush=True)
        except (AssertionError, NlError, OSError, StopIteration,
                subprocess.CalledProcessError) as err:
            failed += 1
            print(f"# {type(err).__name__} {err} at line {err.__traceback__.tb_next.tb_lineno}")
            print(f"not ok {number} netlink.{case.__name__}", flush=True)
            nl = Genl()
    return failed > 0


sys.exit(main())
