#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Compare our headers with libfabric's: values, order, members, arguments.

Every constant, enumeration, structure and call of libfabric is the same in ours, or is in the list
exceptions (it differs) or not-applicable (it is missing). What only kfabric has uses numbers that
libfabric does not use. The last line is "N passed, N failed".
"""

import argparse
import os
import sys

import api
import lists

HERE = os.path.dirname(os.path.abspath(__file__))
NORMATIVE = "2.x"
VERSIONS = (NORMATIVE, "1.17")


class Lists:
    def __init__(self):
        self.exceptions = lists.Exceptions(os.path.join(HERE, "exceptions"))
        self.missing = lists.Groups(os.path.join(HERE, "not-applicable"))


def differs(key, theirs, ours):
    if key.startswith("enum "):
        return lists.common_order(theirs[key].shape, ours[key].shape, {"theirs": theirs, "ours": ours})
    return lists.difference(theirs[key].shape, ours[key].shape)


def compare_version(version, theirs, ours, allowed):
    """Return complaints by key, and the number of items without a complaint."""
    wrong = {}
    for key, item in sorted(theirs.items()):
        if key not in ours:
            if not allowed.missing.allow(version, key, item):
                wrong[key] = f"{version}  {key} ({item.file}) is missing in ours, and not listed"
            continue
        diff = differs(key, theirs, ours)
        if diff and not allowed.exceptions.allow(version, key, diff):
            wrong[key] = f"{version}  {key} differs: {diff}"
    return wrong, len(theirs) - len(wrong)


# Headers that no consumer includes, and those for both worlds
OTHERS = ("kfi_prov", "kfi_link", "kfi_mux", "kfi_payer", "uapi/")


def kernel_only(key, item):
    """Is the value of our flag or enumerator in a range that libfabric does not use?"""
    value = int(item.shape, 16) if item.shape.startswith("0x") else None
    return value is None or value >= 1 << 60 or 0x1000 <= value < 0x2000 or item.file.startswith(OTHERS)


def compare_ours(both, ours):
    alone = {k: i for k, i in ours.items() if not any(k in theirs for theirs in both.values())}
    wrong = {key: f"ours  {key} = {item.shape}: a number of ours begins at 0x1000, a flag at bit 60"
             for key, item in sorted(alone.items())
             if key.startswith("const ") and not kernel_only(key, item) and key[6:] not in LOW_NUMBERS}
    return wrong, len(alone) - len(wrong)


# Enumerations that are ours altogether, limits, and a size: nothing of libfabric's to collide with.
LOW_NUMBERS = ("FI_KVEC", "FI_BVEC", "FI_SGL", "FI_CREDIT_WINDOW_MAX", "FI_MEM_MAX",
               "FI_OP_TIMEOUT_MAX_MS", "FI_SHORT_PORT_MAX", "FI_REPLY_LEN",
               "FI_CONN_OPEN", "FI_CONN_LIVE", "FI_CONN_COUNTED", "FI_RXBUF_IDLE", "FI_RXBUF_POSTED", "FI_RXBUF_KEPT",
               "FI_CONN_SOFTIRQ", "FI_CONN_WORK", "FI_CONN_ROUNDS", "FI_CONN_POLL", "FI_CONN_READ",
               "FI_IB_DRIVER_ID", "FI_SECRET_MIN", "FI_SECRET_MAX",
               "FI_REQ_AWAITED", "FI_REQ_MAPPED",
               "FI_POLL_DEV_STOPPED", "FI_POLL_DEV_ARMED", "FI_POLL_DEV_HOT", "FI_POLL_DEV_DUE")


def compare(both, ours, allowed):
    """Return all complaints by key, and the number of items without a complaint."""
    wrong, good = {}, 0
    for version, theirs in both.items():
        bad, fine = compare_version(version, theirs, ours, allowed)
        wrong.update({f"{version} {k}": text for k, text in bad.items()})
        good += fine
    bad, fine = compare_ours(both, ours)
    wrong.update({f"ours {k}": text for k, text in bad.items()})
    stale = [*allowed.exceptions.complaints(), *allowed.missing.complaints(VERSIONS)]
    wrong.update({f"list {n}": "list  " + text for n, text in enumerate(stale)})
    return wrong, good + fine


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--include", required=True, help="our headers")
    parser.add_argument("--command", required=True, help="a .cmd file of kbuild that says how they are compiled")
    for version in VERSIONS:
        parser.add_argument("--" + version, required=True, help=f"where libfabric-dev {version} is unpacked", dest=version)
    args = parser.parse_args()

    both = {v: api.read(api.libfabric(getattr(args, v))) for v in VERSIONS}
    ours = api.read(api.kfabric(args.include, args.command))
    wrong, good = compare(both, ours, Lists())
    complaints = list(wrong.values())
    # Headers that could not be found would differ in nothing.
    if min(len(ours), *map(len, both.values())) < 500:
        complaints.append("headers  hardly anything was found in the headers")
    for text in complaints:
        print("FAILED ", text)
    print(f"{good} passed, {len(complaints)} failed")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
