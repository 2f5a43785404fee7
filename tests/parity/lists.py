# SPDX-License-Identifier: GPL-2.0
"""The reviewed lists of differences, and their comparison with the ones found

All lists have stanzas of "name: text" lines; a text continues in indented lines. Each entry names
exactly what it permits: a change on either side makes it stale, and a stale entry fails like a
difference that is not listed.
"""

import difflib
import fnmatch
import re


def stanzas(path):
    """Return a dictionary for each stanza; blank lines separate stanzas, # begins a comment line.
    """
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
    """Return how ours differs: "-missing +added" words, in order; empty if they are the same."""
    a, b = theirs.split(), ours.split()
    words = []
    for tag, a1, a2, b1, b2 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            words += ["-" + w for w in a[a1:a2]] + ["+" + w for w in b[b1:b2]]
    return " ".join(words)


def common_order(theirs, ours, items):
    """Compare an enumeration by the names that both interfaces have."""
    a = [w for w in theirs.split() if "const " + w in items["ours"]]
    b = [w for w in ours.split() if "const " + w in items["theirs"]]
    return difference(" ".join(a), " ".join(b))


class Exceptions:
    """Items that both sides have with different values or shapes"""

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
    """Items of one side only, by pattern, each with the number that it covers in each version"""

    def __init__(self, path):
        self.entries = [dict(e, hits={}) for e in stanzas(path)]

    @staticmethod
    def match(entry, key, item):
        return any(fnmatch.fnmatchcase(item.file, p[1:]) if p[0] == "@" else fnmatch.fnmatchcase(key, p)
                   for p in entry["items"].split(", "))

    def allow(self, version, key, item):
        """Only the first entry that matches an item counts it."""
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
                if said.get(version) != str(len(hits)):
                    yield (f"{entry['line']}: says {said.get(version)} of {version}, covers {len(hits)}: "
                           + ", ".join(hits))
            if not entry.get("why"):
                yield f"{entry['line']}: no reason"
