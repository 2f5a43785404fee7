# SPDX-License-Identifier: GPL-2.0
"""Implementation of `make demo ULP=mirror`, see demo: a file system on a mirror, whose machines are
killed one after the other while files are written with fsync()"""

import filecmp
import json
import os
import random
import time

import bed
import mirror_bed
import pair as vm

LEG_MIB = 64
# Records that are acknowledged before a machine is killed: so many, and by chance up to as many more
RECORDS = 200


class Demo:
    """Two machines with one mirror, and what was acknowledged so far"""

    def __init__(self, pair, mirror, disks, lot, progress):
        self.pair = pair
        self.mirror = mirror
        self.disks = disks
        self.lot = lot
        self.progress = progress
        self.primary = "a"
        self.written = []         # folder, seed and counts of each writer
        self.rows = []

    @property
    def secondary(self):
        return mirror_bed.OTHER[self.primary]

    # ---- steps ----

    def synced(self):
        """Wait for the end of a resynchronisation."""
        def each(state):
            if state["resync"]:
                self.progress(f"{self.primary}: kfi mirror: resynchronisation {state['percent'] // 10 * 10}%")

        self.mirror.until(self.primary, each=each, insync=True)
        self.mirror.until(self.secondary, insync=True)

    def begin(self):
        for name in self.pair.vms:
            self.progress(f"{name}: modprobe kfi_mirror, dmsetup create, kfi mirror create")
            self.mirror.load(name)
            self.mirror.up(name)
            self.mirror.say(name, f"create {mirror_bed.UUID}")
        self.progress("a: kfi mirror promote r0 force (the first time)")
        self.mirror.say("a", "promote force")
        self.synced()
        self.progress("a: mkfs.ext4, mount")
        self.pair.run("a", f"mkfs.ext4 -q -F {mirror_bed.DEVICE}", 120)
        self.mirror.mount("a")

    def write(self):
        """Start a writer on the primary; it has acknowledged some when this returns."""
        seed = self.lot.randrange(1 << 31)
        writer = mirror_bed.Writer(self.pair, self.primary, f"/mnt/{len(self.written)}", seed)
        writer.until(RECORDS + self.lot.randrange(RECORDS))
        return writer

    def note(self, writer):
        self.written.append((writer.folder, writer.seed, writer.counts()))

    def compare(self):
        """Compare everything that any writer has had acknowledged. Return right and later."""
        right = later = 0
        for folder, seed, counts in self.written:
            self.progress(f"{self.primary}: comparing {sum(counts)} acknowledged records in {folder}")
            found = self.mirror.check(self.primary, folder, seed, counts)
            right += found[0]
            later += found[3]
        return right, later

    def row(self, what, seconds):
        right, later = self.compare()
        acknowledged = sum(sum(counts) for _, _, counts in self.written)
        self.rows.append({"event": what, "acknowledged": acknowledged, "right": right, "lost": acknowledged - right, "later": later,
                          **seconds})

    def back(self, name):
        """A machine comes back as secondary, while the primary writes."""
        self.pair.boot(name)
        self.mirror.load(name)
        self.mirror.up(name)
        self.synced()

    # ---- the three kills ----

    def kill_primary(self):
        """The primary is killed; its peer is promoted as a cluster's manager does it."""
        writer = self.write()
        dead, heir = self.primary, self.secondary
        self.progress(f"{dead}: killed, with {writer.acknowledged()} records acknowledged")
        start = time.monotonic()
        self.mirror.kill(dead)
        writer.killed()
        self.mirror.forget(dead)
        self.note(writer)
        self.progress(f"{heir}: kfi mirror promote r0 fenced")
        self.mirror.say(heir, "promote fenced")
        self.primary = heir
        promoted = time.monotonic() - start
        self.mirror.mount(heir)
        mounted = time.monotonic() - start
        self.row(f"primary {dead} killed, {heir} takes over", {"promoted_s": promoted, "mounted_s": mounted})
        self.written_meanwhile(dead)

    def written_meanwhile(self, name):
        """Writes go on without the peer, and while it comes back and is resynchronised."""
        writer = self.write()
        self.progress(f"{name}: booting again, while {self.primary} writes")
        self.back(name)
        writer.until(writer.acknowledged() + 20)
        writer.stop()
        self.note(writer)

    def kill_secondary(self):
        """The secondary is killed. Writes are held until the manager says that it is off."""
        writer = self.write()
        dead = self.secondary
        self.progress(f"{dead}: killed, with {writer.acknowledged()} records acknowledged")
        start = time.monotonic()
        self.mirror.kill(dead)
        self.mirror.forget(dead)
        outage = self.mirror.until(self.primary, frozen=True)["outage"]
        frozen = time.monotonic() - start
        count = writer.acknowledged()
        time.sleep(1)
        if writer.acknowledged() != count:
            raise vm.Failed(f"{self.primary}: a record was acknowledged although writes are frozen")
        self.progress(f"{self.primary}: frozen; kfi mirror fenced r0 {outage}")
        self.mirror.say(self.primary, f"fenced {outage}")
        writer.until(count + 20)
        resumed = time.monotonic() - start
        self.progress(f"{dead}: booting again, while {self.primary} writes")
        self.back(dead)
        writer.until(writer.acknowledged() + 20)
        writer.stop()
        self.note(writer)
        self.row(f"secondary {dead} killed, {self.primary} goes on", {"frozen_s": frozen, "resumed_s": resumed})

    # ---- the end ----

    def end(self):
        """All is read once more from the disk, e2fsck finds no fault, and both disks are the same."""
        run = self.pair.run
        self.progress(f"{self.primary}: umount, e2fsck, mount")
        run(self.primary, "umount /mnt", 120)
        run(self.primary, f"e2fsck -f -n {mirror_bed.DEVICE}", 120)
        self.mirror.mount(self.primary)
        self.row("both machines in sync, mounted anew", {})
        run(self.primary, "umount /mnt", 120)
        self.mirror.until(self.primary, lag=0, writes=0, insync=True)
        for name in (self.primary, self.secondary):
            self.mirror.down(name)
            self.mirror.unload(name)
            run(name, "sync")
        self.progress("comparing both disks")
        legs = [self.disks.path(name, "leg") for name in self.pair.vms]
        if not filecmp.cmp(*legs, shallow=False):
            raise vm.Failed("the disks of both machines differ although they are in sync")


def demo(series, provider, mtu, out, progress):
    """Return release and rows; everything that was acknowledged was read back and compared."""
    ko, tool = bed.build(series, progress, out)
    mirror_bed.need(progress, out)
    disks = mirror_bed.Disks(LEG_MIB)
    seed = mirror_bed.new_seed()
    progress(f"seed {seed}")
    with bed.machines(provider, series, out, ko, programs=[tool, *mirror_bed.programs(out)], modules=mirror_bed.MODULES,
                      mtu=mtu, disk=disks, progress=progress) as pair:
        mirror = mirror_bed.Mirror(pair, provider, leg_mib=LEG_MIB)
        run = Demo(pair, mirror, disks, random.Random(seed), progress)
        run.begin()
        run.kill_primary()
        run.kill_secondary()
        run.kill_primary()
        log(run, out)
        run.end()
        pair.check_logs()
        with open(os.path.join(out, "results.json"), "w", encoding="utf-8") as file:
            json.dump({"seed": seed, "rows": run.rows}, file, indent=1)
            file.write("\n")
        return pair.release, run.rows


def log(run, out):
    with open(os.path.join(out, "mirror.log"), "w", encoding="utf-8") as file:
        for name in run.pair.vms:
            for words in ("mirror", "mirror -d"):
                file.write(f"# {name}: kfi {words}\n{run.mirror.kfi.command(name, words).text}\n")


def table(rows):
    print(f"{'':<38}{'acknowledged':>13}{'right':>8}{'lost':>6}   then")
    for row in rows:
        then = "e2fsck finds no fault, both disks are the same"
        if "promoted_s" in row:
            then = f"promoted after {row['promoted_s']:.1f} s, mounted after {row['mounted_s']:.1f} s"
        elif "frozen_s" in row:
            then = f"frozen after {row['frozen_s']:.1f} s, writes go on after {row['resumed_s']:.1f} s"
        print(f"{row['event']:<38}{row['acknowledged']:>13}{row['right']:>8}{row['lost']:>6}   {then}")
    print("Records of up to 8 KiB, each with fsync(). After each kill all that were ever acknowledged are compared.")
