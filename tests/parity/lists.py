# SPDX-License-Identifier: GPL-2.0
"""The reviewed lists of what may differ, and holding what was found against them.

All lists have stanzas of "name: text" lines, a text going on in lines that are indented. Each entry pins what it excuses: a
change on either side makes it stale, and stale is a failure like unlisted.
"""

import difflib
import fnmatch
import re


def stanzas(path):
    """Dictionaries of a file's stanzas, separated by blank lines; # begins a comment line."""
    found, now, last = [], {}, None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(list(file) + ["\n"], 1):
            if line.startswith("#"):
                continue
            if not line.strip():
                if now:
                    found.append(now)
                now, last = {}, None
            elif line[0].isspace() and last:
                now[last] += " " + line.strip()
            elif match := re.match(r"(\w+):\s*(.*?)\s*$", line):
                last = match[1]
                now[last] = match[2]
                now.setdefault("line", f"{path}:{number}")
            else:
                raise SystemExit(f"parity: {path}:{number}: neither name nor text")
    return found


def difference(theirs, ours):
    """What becomes of their words in ours: "-gone +new", in order; empty if they are the same."""
    a, b = theirs.split(), ours.split()
    words = []
    for tag, a1, a2, b1, b2 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            words += ["-" + w for w in a[a1:a2]] + ["+" + w for w in b[b1:b2]]
    return " ".join(words)


def common_order(theirs, ours, items):
    """An enumeration compared by the names that both interfaces have; what one lacks is a constant's business."""
    a = [w for w in theirs.split() if "const " + w in items["ours"]]
    b = [w for w in ours.split() if "const " + w in items["theirs"]]
    return difference(" ".join(a), " ".join(b))


class Exceptions:
    """Items that both sides have with another value or shape."""

    MOST = 40

    def __init__(self, path):
        self.entries = stanzas(path)
        self.used = set()

    def allow(self, version, key, diff):
        for n, entry in enumerate(self.entries):
            if entry["item"] == key and version in entry["versions"].split() and entry["differs"] == diff:
                self.used.add((n, version))
                return True
        return False

    def complaints(self):
        for n, entry in enumerate(self.entries):
            for version in entry["versions"].split():
                if (n, version) not in self.used:
                    yield f"{entry['line']}: stale for {version}: {entry['item']} does not differ so"
            if not entry.get("why"):
                yield f"{entry['line']}: no reason"
        if len(self.entries) > self.MOST:
            yield f"{len(self.entries)} exceptions; more than {self.MOST} are no parity"


class Groups:
    """Items that one side has alone, by pattern, each with the number that it covers in each version."""

    def __init__(self, path):
        self.entries = [dict(e, hits={}) for e in stanzas(path)]

    @staticmethod
    def match(entry, key, item):
        return any(fnmatch.fnmatchcase(item.file, p[1:]) if p[0] == "@" else fnmatch.fnmatchcase(key, p)
                   for p in entry["items"].split(", "))

    def allow(self, version, key, item):
        """The first entry that fits has it, so that the numbers add up."""
        for entry in self.entries:
            if self.match(entry, key, item):
                entry["hits"].setdefault(version, []).append(key)
                return True
        return False

    def complaints(self, versions):
        for entry in self.entries:
            said = dict(zip(versions, entry["count"].split("/")))
            for version in versions:
                hits = entry["hits"].get(version, [])
                if said.get(version) not in (str(len(hits)), "any" if hits else None):
                    yield (f"{entry['line']}: says {said.get(version)} of {version}, covers {len(hits)}: "
                           + ", ".join(hits))
            if not entry.get("why"):
                yield f"{entry['line']}: no reason"
