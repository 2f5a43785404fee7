#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""openmetrics.py OUTPUT [FILE...] - is the output of `kfi metrics` valid, and are the figures those that the files name?

Two libraries read it, one for OpenMetrics and one for the older text format that node_exporter understands. A dashboard, rules or a
manual page must not name a figure that is not in the output; a manual page names all of them."""

import re
import sys

sys.path.append("/usr/lib/python3/dist-packages")	# of the distribution, if this is another interpreter

from prometheus_client import openmetrics, parser	# noqa: E402
import prometheus_client.openmetrics.parser	# noqa: E402,F401

# Words that begin like a figure
OTHERS = {"kfi_mirror", "kfi_perf", "kfi_prom"}
UNITS = ("_bytes", "_ratio", "_bits_per_second")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def samples(text):
    """Return a dict from (name, labels) to the value; complain of what is not valid."""
    assert text.isascii() and text.endswith("\n# EOF\n"), "bytes or the end"
    found = {}
    for family in openmetrics.parser.text_string_to_metric_families(text):
        assert family.documentation.endswith("."), f"{family.name}: no help"
        assert family.type in ("counter", "gauge"), f"{family.name}: node_exporter knows no {family.type}"
        for unit in UNITS:
            assert family.name.endswith(unit) == (family.unit == unit[1:]), f"{family.name}: unit '{family.unit}'"
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            assert key not in found, f"{key} twice"
            found[key] = sample.value
    assert len(found) == len([line for line in text.splitlines() if line[0] != "#"]), "a sample twice"
    older = {(s.name, tuple(sorted(s.labels.items()))) for f in parser.text_string_to_metric_families(text) for s in f.samples}
    assert older == set(found), "the older format has others"
    return found


def main():
    text = read(sys.argv[1])
    samples(text)
    # also those that have no sample here, as no module is loaded
    names = {name + ("_total" if kind == "counter" else "") for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M)}
    for path in sys.argv[2:]:
        text = re.sub(r"\\-", "-", read(path))
        named = set(re.findall(r"\bkfi_[a-z_]+[a-z]\b(?!\s*\()", text)) - OTHERS
        unknown = named - names
        assert not unknown, f"{path} names {sorted(unknown)}"
        if re.search(r"\.[1-9]$", path):
            assert names <= named, f"{path} does not name {sorted(names - named)}"
        print(f"{path}: {len(named)} figures")


if __name__ == "__main__":
    main()
