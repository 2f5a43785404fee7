#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""short.py 6.1|6.12|newest... [-k WORD]: the cases on two machines that `make test` and `make test-more` run.

Each kernel's pair of machines boots once, and all groups of cases follow one another on it. The
cases are those of scenario.py, bridges.py and nvme.py, each of which runs all of its cases
when it is called by name. After each case the consoles must be clean. The last line is "N passed,
N failed".
"""

import argparse
import os
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import bed               # noqa: E402
import nvme              # noqa: E402
import pair as vm        # noqa: E402
import scenario          # noqa: E402
from scenario import Verdict, once_more, usable  # noqa: E402

# In each group the first case loads the modules and the last one unloads them.
SMOKE = {"sockets": "load_by_alias rdm_traffic msg_traffic peer_killed unload"}
GROUPS = {
    "6.1": SMOKE,
    "6.12": {
        "sockets": "load_by_alias rdm_traffic msg_traffic peer_killed conformance unload",
        "nvme": "load verified chap target_killed unload",
        "ntb": "load_by_alias rdm_traffic msg_traffic flaps driver_gone unload",
    },
    "newest": SMOKE,
}
# The groups of the conformance list that run in one stock kernel
ONE_MACHINE = "lifetime.,stress."


def make_scenario(pair, group, seed):
    """Return the object that the functions of a group work on."""
    if group == "nvme":
        opts = nvme.arguments(["--kills", "1", "--seed", str(seed)])
        return nvme.Scenario(pair, "sockets", opts)
    return scenario.Scenario(pair, group, seed=seed, wanted=ONE_MACHINE)


def cases(group, names):
    """Return functions and budgets by name, in order. Cases of different providers may have the same name."""
    rows, provider = (nvme.CASES, "sockets") if group == "nvme" else (scenario.CASES, group)
    known = {function.__name__: (function, budget) for function, budget, providers in rows
             if not providers or provider in providers}
    return [known[name] for name in names.split()]


def picked(group, rows, wanted):
    """Return the cases with that word in GROUP.CASE, after the first one, which loads the modules.
    """
    found = [row for row in rows if wanted in f"{group}.{row[0].__name__}"]
    return rows[:1] * (bool(found) and rows[0] not in found) + found


def fresh(pair):
    """After a group: a machine that has died or still has our modules boots again."""
    for name, machine in pair.vms.items():
        if not machine.alive or bed.Kfi(pair).loaded(name):
            pair.restart(name)


def machines(series, verdict, logs):
    """Return the pair: that of 6.12 has bridges, an engine, and a disk in b."""
    if series != "6.12":
        ko, tool = bed.build(series, verdict.progress, logs)
        return bed.machines("sockets", series, logs, ko, programs=[tool], progress=verdict.progress)
    ko, programs = nvme.guest_files(series, verdict, logs, misfits=False)
    return bed.machines("ntb", series, logs, ko, scenario.BRIDGES, programs=programs,
                        modules=nvme.guest_modules(series), memory="640M",
                        append="rootfstype=ramfs", disk=nvme.Disk(nvme.DISK_MIB),
                        progress=verdict.progress)


def run_series(series, verdict, wanted, seed):
    """Run all groups on one pair; a broken pair ends the series."""
    logs = os.path.join(vm.BUILD, f"vm-{series}", "short")
    with machines(series, verdict, logs) as pair:
        for group, names in GROUPS[series].items():
            one = make_scenario(pair, group, seed)
            for function, budget in picked(group, cases(group, names), wanted):
                good = verdict.case(f"{series} {group}", function, budget, one)
                if not good and not usable(pair):
                    verdict.say(series, "the cases after that", 0, "a machine is broken")
                    return
            fresh(pair)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series", nargs="+", choices=sorted(GROUPS))
    parser.add_argument("-k", dest="wanted", default="", metavar="WORD",
                        help="only cases with this word in GROUP.CASE")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32),
                        help="of the moments at which trouble comes")
    opts = parser.parse_args()
    verdict = Verdict(vm.Progress())
    print(f"seed {opts.seed}", flush=True)
    return bed.closing(verdict, opts.series, lambda series: once_more(
        series, verdict, lambda: run_series(series, verdict, opts.wanted, opts.seed)))


if __name__ == "__main__":
    sys.exit(main())
