#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Compare the traces of kfabric with those of libfabric from the same run and seed.

A trace is a file named SIDE,VERSION,PROVIDER. Every record of every case is the same on both sides,
field by field, or is in the list differences. The last line is "N passed, N failed".
"""

import argparse
import collections
import os
import re
import sys

import lists

HERE = os.path.dirname(os.path.abspath(__file__))
LINE = re.compile(r"^(?:\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? )?PARITY (?:(begin|end)|([\w.]+): (.*))$")

Diff = collections.namedtuple("Diff", "case record field theirs ours")


class Trace:
    """The records of each case: a list of (name, fields)"""

    def __init__(self, text):
        self.cases = {}
        self.whole = False
        self.ended = set()
        for line in text.splitlines():
            match = LINE.match(line.rstrip())
            if not match:
                continue
            if match[1]:
                self.whole = match[1] == "end"
            else:
                self.record(match[2], match[3])

    def record(self, case, text):
        words = text.split()
        fields = dict(w.split("=", 1) for w in words if "=" in w)
        name = " ".join([w for w in words if "=" not in w] + (["ctx=" + fields.pop("ctx")] if "ctx" in fields else []))
        if name == "again":     # the case has died, and runs again
            self.cases[case] = []
            return
        if name == "end":
            self.ended.add(case)
        records = self.cases.setdefault(case, [])
        same = sum(1 for n, _ in records if n.split("#")[0] == name)
        records.append((f"{name}#{same + 1}" if same else name, fields))

    def gone(self):
        """Return what is wrong with the trace as a whole."""
        if not self.whole:
            return "it breaks off"
        if not self.cases or not any(len(r) > 1 for r in self.cases.values()):
            return "it has no records"
        short = [c for c in self.cases if c not in self.ended]
        return f"{short[0]} has no end" if short else None


def compare_case(case, theirs, ours):
    """Return the differences of one case.

    A case that libfabric does not offer is one difference; of a case that died, the records before
    count.
    """
    a, b = dict(theirs), dict(ours)
    if a.get("end", {}).get("by") == "death":
        ours = [(n, f) for n, f in ours if n in a]
        b = dict(ours)
    if "ret getinfo" in a and "ret getinfo" not in b:
        yield Diff(case, "ret getinfo", "is", a["ret getinfo"]["is"], "-")
        return
    for name in [n for n, _ in theirs] + [n for n, _ in ours if n not in a]:
        if name not in b or name not in a:
            yield Diff(case, name, "record", *("there" if name in s else "-" for s in (a, b)))
            continue
        for field in [*a[name], *(f for f in b[name] if f not in a[name])]:
            if a[name].get(field) != b[name].get(field):
                yield Diff(case, name, field, a[name].get(field, "-"), b[name].get(field, "-"))
    common_a, common_b = [n for n, _ in theirs if n in b], [n for n, _ in ours if n in a]
    if common_a != common_b:
        yield Diff(case, "records", "order", ",".join(common_a).replace(" ", "_"), ",".join(common_b).replace(" ", "_"))


def pattern(text):
    """Return a regular expression of a pattern: ? is any text, * is a group."""
    return re.compile(re.escape(text).replace(r"\*", "(.*)").replace(r"\?", ".*") + "$")


class Differences:
    """The reviewed list. The texts of * in theirs and in ours must be the same."""

    def __init__(self, path):
        self.entries = [dict({"provider": "*"}, **e) for e in lists.stanzas(path)]
        self.used = collections.defaultdict(set)

    @staticmethod
    def fits(entry, diff):
        if any(not pattern(p).match(v) for p, v in ((entry["case"], diff.case), (entry["record"], diff.record))):
            return False
        if entry["field"] != diff.field:
            return False
        a, b = pattern(entry["theirs"]).match(diff.theirs), pattern(entry["ours"]).match(diff.ours)
        return bool(a and b) and a.groups() == b.groups()

    @staticmethod
    def names(listed, name):
        return any(pattern(p).match(name) for p in listed.split(", "))

    def allow(self, oracle, provider, diff):
        for n, entry in enumerate(self.entries):
            if self.names(entry["oracle"], oracle) and self.names(entry["provider"], provider) and self.fits(entry, diff):
                self.used[n].add((oracle, provider))
                return True
        return False

    def complaints(self, oracles, providers):
        """Complain about entries that are not needed by all that they name, unless "sometimes"."""
        for n, entry in enumerate(self.entries):
            if not entry.get("why"):
                yield f"list  {entry['line']}: no reason"
            if entry.get("sometimes") == "yes":
                continue
            for oracle in (o for o in oracles if self.names(entry["oracle"], o)):
                if not any(o == oracle for o, _ in self.used[n]):
                    yield f"list  {entry['line']}: stale: {oracle} does not differ so in {entry['case']}"
            for provider in (p for p in providers if self.names(entry["provider"], p)):
                if not any(p == provider for _, p in self.used[n]):
                    yield f"list  {entry['line']}: stale: our {provider} does not differ so in {entry['case']}"
            if not self.used[n]:
                yield f"list  {entry['line']}: stale: nothing differs so in {entry['case']}"


def compare(theirs, ours, differences):
    """Return complaints, and the number of cases without one. theirs and ours are dictionaries."""
    bad, good = [], 0
    for oracle, a in theirs.items():
        for provider, b in ours.items():
            if set(a.cases) != set(b.cases):
                bad.append(f"cases  {oracle} and our {provider} have not run the same ones")
            for case in a.cases:
                diffs = [d for d in compare_case(case, a.cases[case], b.cases.get(case, []))
                         if not differences.allow(oracle, provider, d)]
                bad += [f"{d.case}  {oracle}, our {provider}: {d.record}: {d.field}: theirs {d.theirs}, ours {d.ours}" for d in diffs]
                good += not diffs
    return bad + list(differences.complaints(theirs, ours)), good


# ---- does it notice? ----

def changed(trace, change):
    """Return a copy of a trace with one change: call change for each case until it has made it.
    """
    copy = Trace("")
    copy.whole, copy.ended = trace.whole, set(trace.ended)
    done = False
    for case, records in trace.cases.items():
        records = [(n, dict(f)) for n, f in records]
        if not done:
            done = change(records)
        copy.cases[case] = records
    return copy if done else None


def is_receive(name):
    return name.startswith("B.rx ctx=") and "none" not in name


def drop_record(records):
    return bool([records.remove(r) for r in records[:] if is_receive(r[0])][:1])


def double_record(records):
    found = [r for r in records if is_receive(r[0])]
    records += [(found[0][0] + "#2", found[0][1])] if found else []
    return bool(found)


def change_field(field, value):
    def change(records):
        for name, fields in records:
            if is_receive(name) and field in fields:
                fields[field] = value
                return True
        return False
    return change


def swap_records(records):
    found = [n for n, r in enumerate(records) if is_receive(r[0])]
    if len(found) < 2:
        return False
    a, b = found[:2]
    records[a], records[b] = records[b], records[a]
    return True


def change_return(records):
    for name, fields in records:
        if name.startswith("ret ") and fields.get("is") == "0":
            fields["is"] = "EIO"
            return True
    return False


def drop_case(records):
    records.clear()
    return True


PLANTED = {
    "a completion is missing": drop_record, "a completion comes twice": double_record, "completions change places": swap_records,
    "a length": change_field("len", "7777777"), "flags": change_field("flags", "MSG|SEND"),
    "a checksum": change_field("sum", "deadbeef"), "remote CQ data": change_field("data", "0x1"), "a tag": change_field("tag", "0x1"),
    "a return code": change_return, "a case says nothing": drop_case,
}


def notices(theirs, ours, path):
    """Is there a complaint about each planted change of our trace?"""
    for what, change in PLANTED.items():
        for provider, trace in ours.items():
            wrong = changed(trace, change)
            if wrong is None:
                yield f"selftest  nothing to plant: {what}"
            elif not compare(theirs, dict(ours, **{provider: wrong}), Differences(path))[0]:
                yield f"selftest  it goes unnoticed in our {provider} when wrong: {what}"
    listed = Differences(path)
    listed.entries.append(dict(listed.entries[0], case="msg.nosuch"))
    if not compare(theirs, ours, listed)[0]:
        yield "selftest  a stale entry of the list goes unnoticed"
    listed = Differences(path)
    del listed.entries[0]
    if not compare(theirs, ours, listed)[0]:
        yield "selftest  a difference that is not listed goes unnoticed"


def read(folder):
    """Return the traces in a folder, by side and name."""
    sides = {"libfabric": {}, "kfabric": {}}
    for name in sorted(os.listdir(folder)):
        side, _, rest = name.partition(",")
        if side in sides:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                sides[side][rest] = Trace(file.read())
    return sides["libfabric"], sides["kfabric"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="where the traces are: libfabric,VERSION,PROVIDER and kfabric,PROVIDER")
    parser.add_argument("--list", default=os.path.join(HERE, "differences"))
    args = parser.parse_args()

    theirs, ours = read(args.folder)
    bad = [f"trace  {n}: {t.gone()}" for side in (theirs, ours) for n, t in side.items() if t.gone()]
    bad += [] if theirs and ours else ["trace  there is nothing to compare"]
    good = 0
    if not bad:
        bad, good = compare(theirs, ours, Differences(args.list))
    if not bad:
        bad = list(notices(theirs, ours, args.list))
        good += len(PLANTED) * len(ours) + 2
    for text in bad:
        print("FAILED ", text)
    print(f"{good} passed, {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
