# SPDX-License-Identifier: GPL-2.0
"""smc_guest.py eid NAME | links | fetch ADDRESS PORT FILE MD5 - part of smc.py in a machine: SMC's netlink family, and a client of HTTP"""

import hashlib
import json
import socket
import struct
import sys
import urllib.request

NETLINK_GENERIC, CTRL_ID, CTRL_GETFAMILY = 16, 16, 3
FAMILY = b"SMC_GEN_NETLINK"
GET_LINK_SMCR, ADD_UEID = 3, 10         # commands
GEN_LINK_SMCR = 3                       # attribute of an answer, and those in it
LINK_DEVICE, LINK_CONNECTIONS, LINK_STATE = 2, 6, 10
EID_ENTRY, EID_LEN = 1, 32
REQUEST, ACK, DUMP = 1, 4, 0x300
ERROR, DONE = 2, 3                      # types of messages
NESTED = 0x8000


def attribute(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def attributes(data):
    """Return the attributes in a message, {number: bytes}."""
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        found[kind & ~NESTED] = data[4:length]
        data = data[length + 3 & ~3:]
    return found


class Netlink:
    """A socket of generic netlink"""

    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        self.socket.bind((0, 0))
        family = self.ask(CTRL_ID, CTRL_GETFAMILY, ACK, attribute(2, FAMILY + b"\0"))
        self.family = struct.unpack("=H", family[0][1])[0]

    def ask(self, family, command, flags, data=b""):
        """Return the attributes of all answers."""
        body = struct.pack("=BBH", command, 1, 0) + data
        self.socket.send(struct.pack("=IHHII", 16 + len(body), family, REQUEST | flags, 1, 0) + body)
        answers = []
        while True:
            text = self.socket.recv(1 << 16)
            while text:
                length, kind = struct.unpack_from("=IH", text)
                if kind in (ERROR, DONE):
                    error = struct.unpack_from("=i", text, 16)[0]
                    if error:
                        raise OSError(-error, f"command {command} of family {family}")
                    return answers
                answers.append(attributes(text[20:length]))
                text = text[length + 3 & ~3:]


def links():
    """Return the links of all link groups of SMC-R."""
    smc, found = Netlink(), []
    for answer in smc.ask(smc.family, GET_LINK_SMCR, DUMP):
        link = attributes(answer[GEN_LINK_SMCR]) if GEN_LINK_SMCR in answer else {}
        if LINK_DEVICE in link:
            found.append({"device": link[LINK_DEVICE].rstrip(b"\0").decode(), "connections": struct.unpack("=I", link[LINK_CONNECTIONS])[0],
                          "state": struct.unpack("=I", link[LINK_STATE])[0]})
    return found


def fetch(address, port, name, md5):
    with urllib.request.urlopen(f"http://{address}:{port}/{name}", timeout=120) as answer:
        found = hashlib.md5(answer.read()).hexdigest()
    if found != md5:
        sys.exit(f"what came has {found}, and what was sent {md5}")


def main():
    what, *words = sys.argv[1:]
    if what == "eid":
        smc = Netlink()
        smc.ask(smc.family, ADD_UEID, ACK, attribute(EID_ENTRY, words[0].ljust(EID_LEN).encode() + b"\0"))
    elif what == "links":
        print(json.dumps(links()))
    else:
        fetch(*words)


main()
