#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Compare our headers with libfabric's: values, order, members, arguments.

Every constant, enumeration, structure and call of libfabric is the same in ours, or is in the list
exceptions (it differs) or not-applicable (it is missing). What only kfabric has is in the list
ours. The last line is "N passed, N failed".
"""

import argparse
import os
import shutil
import sys
import tempfile

import api
import lists

HERE = os.path.dirname(os.path.abspath(__file__))
NORMATIVE = "2.x"
VERSIONS = (NORMATIVE, "1.17")


class Lists:
    def __init__(self):
        self.exceptions = lists.Exceptions(os.path.join(HERE, "exceptions"))
        self.missing = lists.Groups(os.path.join(HERE, "not-applicable"))
        self.ours = lists.Groups(os.path.join(HERE, "ours"))


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


def kernel_only(key, item):
    """Is the value of our flag or enumerator in a range that libfabric does not use?"""
    value = int(item.shape, 16) if item.shape.startswith("0x") else None
    return value is None or value >= 1 << 60 or 0x1000 <= value < 0x2000 or item.file.startswith(("kfi_prov", "kfi_link", "uapi/"))


def compare_ours(both, ours, allowed):
    wrong = {}
    alone = {k: i for k, i in ours.items() if not any(k in theirs for theirs in both.values())}
    for key, item in sorted(alone.items()):
        if not allowed.ours.allow("ours", key, item):
            wrong[key] = f"ours  {key} ({item.file}) is not libfabric's, and not listed as ours"
        elif key.startswith("const ") and not kernel_only(key, item) and key[6:] not in LOW_NUMBERS:
            wrong[key] = f"ours  {key} = {item.shape}: a number of ours begins at 0x1000, a flag at bit 60"
    return wrong, len(alone) - len(wrong)


# Enumerations that are ours altogether, limits, and a size: nothing of libfabric's to collide with.
LOW_NUMBERS = ("FI_KVEC", "FI_BVEC", "FI_SGL", "FI_CREDIT_WINDOW_MAX", "FI_MEM_MAX",
               "FI_OP_TIMEOUT_MAX_MS", "FI_SHORT_PORT_MAX",
               "FI_CONN_OPEN", "FI_CONN_LIVE", "FI_CONN_COUNTED", "FI_RXBUF_IDLE", "FI_RXBUF_POSTED", "FI_RXBUF_KEPT",
               "FI_CONN_SOFTIRQ", "FI_CONN_WORK", "FI_CONN_ROUNDS", "FI_CONN_POLL", "FI_CONN_READ",
               "FI_IB_DRIVER_ID",
               "FI_REQ_AWAITED", "FI_REQ_MAPPED",
               "FI_POLL_DEV_STOPPED", "FI_POLL_DEV_ARMED", "FI_POLL_DEV_HOT", "FI_POLL_DEV_DUE")


def compare(both, ours, allowed):
    """Return all complaints by key, and the number of items without a complaint."""
    wrong, good = {}, 0
    for version, theirs in both.items():
        bad, fine = compare_version(version, theirs, ours, allowed)
        wrong.update({f"{version} {k}": text for k, text in bad.items()})
        good += fine
    bad, fine = compare_ours(both, ours, allowed)
    wrong.update({f"ours {k}": text for k, text in bad.items()})
    stale = [*allowed.exceptions.complaints(), *allowed.missing.complaints(VERSIONS), *allowed.ours.complaints(("ours",))]
    wrong.update({f"list {n}": "list  " + text for n, text in enumerate(stale)})
    return wrong, good + fine


# ---- does it notice? ----

# Changes to our headers, all made at once: file, old text, new text, and the items that are complained about then: these and
# no other.
MUTANTS = (
    ("kfi_types.h", "KFI_TAGGED\t\t(1ULL << 3)", "KFI_TAGGED\t\t(1ULL << 7)", ["const FI_TAGGED"]),
    ("kfi_types.h", "\tKFI_EP_DGRAM,\n\tKFI_EP_RDM,", "\tKFI_EP_RDM,\n\tKFI_EP_DGRAM,",
     ["enum fi_ep_type", "const FI_EP_RDM", "const FI_EP_DGRAM"]),
    ("kfi_types.h", "((major) << 16) | (minor)", "((major) << 8) | (minor)", ["macro FI_VERSION/2"]),
    ("kfi_types.h", "#define KFI_PEEK\t\t(1ULL << 19)\n", "", ["const FI_PEEK"]),
    ("kfi_types.h", "#define KFI_CQE\t", "#define KFI_CQE_TOO (1ULL << 60)\n#define KFI_CQE\t", ["const FI_CQE_TOO"]),
    ("kfi_types.h", "KFI_TAGGED_RMA\t\t(1ULL << 60)", "KFI_TAGGED_RMA\t\t(1ULL << 44)", ["const FI_TAGGED_RMA"]),
    ("kfi_eq.h", "\tsize_t\t\t\tolen;\n\tint\t\t\terr;", "\tint\t\t\terr;\n\tsize_t\t\t\tolen;",
     ["struct fi_cq_err_entry"]),
    ("kfi_rma.h", "\tuint64_t\t\taddr;\n\tsize_t\t\t\tlen;\n\tuint64_t\t\tkey;", "\tuint64_t\t\taddr;\n\tuint64_t\t\tkey;",
     ["struct fi_rma_iov"]),
    ("kfi_cm.h", "int kfi_accept(struct kfid_ep *ep, const void *param, size_t paramlen);",
     "int kfi_accept(struct kfid_ep *ep, const void *param);", ["call fi_accept"]),
    ("kfi_domain.h", "\t\tstruct kfid_av **av, void *context);", "\t\tvoid **av, void *context);", ["call fi_av_open"]),
)


def mutated(args):
    """Return our headers with all mutants, or the text of a mutant that no longer applies."""
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "include")
        shutil.copytree(args.include, copy)
        for name, old, new, _ in MUTANTS:
            path = os.path.join(copy, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if text.count(old) != 1:
                raise SystemExit(f"parity: a mutant no longer applies: {old!r} is not once in {name}")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(old, new))
        return api.read(api.kfabric(copy, args.command))


def notices(both, ours, args):
    """Is there a complaint about every planted fault, by name, and no other?"""
    wrong, _ = compare(both, mutated(args), Lists())
    seen = {key.split(" ", 1)[1] for key in wrong if not key.startswith("list ")}
    for name, _, _, keys in MUTANTS:
        for key in keys:
            if key not in seen:
                yield f"selftest  a wrong {key} in {name} goes unnoticed"
    planted = {key for mutant in MUTANTS for key in mutant[3]}
    for key in seen - planted:
        yield f"selftest  {key} is complained about, though nobody touched it"
    yield from notices_lists(both, ours)


def notices_lists(both, ours):
    """Is an entry too few, and one too many, detected in each list?"""
    for part in ("exceptions", "missing", "ours"):
        allowed = Lists()
        getattr(allowed, part).entries.pop()
        if not compare(both, ours, allowed)[0]:
            yield f"selftest  an entry taken from the list '{part}' goes unnoticed"
        allowed = Lists()
        entries = getattr(allowed, part).entries
        more = dict(entries[0], item="const FI_NOSUCH", items="const FI_NOSUCH", hits={})
        entries.append(more)
        if not compare(both, ours, allowed)[0]:
            yield f"selftest  a stale entry of the list '{part}' goes unnoticed"


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
    if not complaints:
        complaints = list(notices(both, ours, args))
        good += len(MUTANTS) + 6 - len(complaints)
    for text in complaints:
        print("FAILED ", text)
    print(f"{good} passed, {len(complaints)} failed")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
