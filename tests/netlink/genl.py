# SPDX-License-Identifier: GPL-2.0
"""Common parts of the tests of the netlink family: constants, a socket, and a list of cases"""

import errno
import os
import re
import socket
import struct
import subprocess
import sys

NLM_F_REQUEST, NLM_F_ACK, NLM_F_ACK_TLVS, NLM_F_DUMP = 1, 4, 0x200, 0x300
NLMSG_ERROR, NLMSG_DONE, NLMSGERR_ATTR_MSG = 2, 3, 1
SOL_NETLINK, NETLINK_CAP_ACK, NETLINK_EXT_ACK = 270, 10, 11
NETLINK_GENERIC, GENL_ID_CTRL = 16, 16
CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 3, 1, 2


def constants(path):
    """Return the enumerators of the header, by name, so that this test needs no copy."""
    text = re.sub(r"/\*.*?\*/", "", open(path).read(), flags=re.S)
    values = {}
    for body in re.findall(r"enum \w+ \{(.*?)\}", text, re.S):
        number = -1
        for name, given in re.findall(r"(\w+)(?: = (\d+))?", body.split("__KFI_")[0]):
            number = int(given) if given else number + 1
            values[name] = number
    return values


K = constants(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                           "../../include/uapi/linux/kfi.h"))


class NlError(Exception):
    """An error by name; said is the message of the kernel."""

    def __init__(self, code, said=""):
        super().__init__(errno.errorcode.get(-code, code))
        self.said = said


def attr(kind, payload):
    raw = struct.pack("HH", len(payload) + 4, kind) + payload
    return raw + bytes(-len(raw) % 4)


def parse(raw):
    """Return attributes as a list of (type, payload)."""
    found = []
    while len(raw) >= 4:
        length, kind = struct.unpack_from("HH", raw)
        assert 4 <= length <= len(raw), "broken attribute"
        found.append((kind & 0x3fff, raw[4:length]))
        raw = raw[(length + 3) & ~3:]
    return found


def said(body, kind, flags):
    """Return the message that comes with an error, after its number and the header of the request.
    """
    if kind != NLMSG_ERROR or not flags & NLM_F_ACK_TLVS:
        return ""
    return dict(parse(body[20:])).get(NLMSGERR_ATTR_MSG, b"").rstrip(b"\0").decode()


def outcome(call, *args):
    """Return the name of the error that a call ends with, or OK."""
    try:
        call(*args)
    except NlError as err:
        return str(err)
    return "OK"


class Genl:
    def __init__(self, bufsize=65536):
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        for option in (NETLINK_CAP_ACK, NETLINK_EXT_ACK):
            self.sock.setsockopt(SOL_NETLINK, option, 1)
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
                length, kind, answer_flags = struct.unpack_from("IHH", raw)
                body, raw = raw[16:length], raw[(length + 3) & ~3:]
                if kind in (NLMSG_ERROR, NLMSG_DONE):
                    code = struct.unpack_from("i", body)[0] if body else 0
                    if code:
                        raise NlError(code, said(body, kind, answer_flags))
                    return
                yield parse(body[4:])
                if not flags:
                    return
            if between:
                between()

    def dump(self, name, attrs=b"", **kw):
        return list(self.ask(self.family, K["KFI_CMD_GET_" + name], attrs, **kw))

    def do(self, name, attrs=b""):
        """Send a request that has no answer but its result."""
        assert not list(self.ask(self.family, K["KFI_CMD_" + name], attrs, NLM_F_ACK))

    def fails(self, name, attrs):
        return outcome(self.dump, name, attrs)


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


def become_nobody():
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)


def leave_namespace():
    """Move to a new network namespace."""
    libc = __import__("ctypes").CDLL(None, use_errno=True)
    assert libc.unshare(0x40000000) == 0, "unshare"


def run_cases(suite, cases):
    """Call each case with a socket, and print KTAP. Return whether all have passed."""
    nl = Genl()
    failed = 0
    print(f"TAP version 13\n1..{len(cases)}")
    for number, case in enumerate(cases, 1):
        try:
            case(nl)
            print(f"ok {number} {suite}.{case.__name__}", flush=True)
        except (AssertionError, NlError, OSError, StopIteration,
                subprocess.CalledProcessError) as err:
            failed += 1
            print(f"# {type(err).__name__} {err} at line {err.__traceback__.tb_next.tb_lineno}")
            print(f"not ok {number} {suite}.{case.__name__}", flush=True)
            nl = Genl()
    return not failed
