# SPDX-License-Identifier: GPL-2.0
"""Implementation of `make demo ULP=mirror`, see run: a file system on mirrored writes, whose machines are killed. Disks that
outlive the machines, a mirror, and a writer whose acknowledged writes are known here
"""

import filecmp
import json
import os
import random
import re
import subprocess
import time

import bed
import pair as vm

NAME = "r0"
DEVICE = f"/dev/mapper/{NAME}"
UUID = "c3a0f9a2-5d0c-4a57-8f0e-2b1d6e8b7a11"
PORT = {"a": 701, "b": 702}
OTHER = {"a": "b", "b": "a"}
# Stock modules that the guests need besides the usual
MODULES = ("dm_mod", "virtio_blk", "ext4", "crc32c_generic")
PROGRAMS = ("/usr/sbin/dmsetup", "/usr/sbin/mkfs.ext4", "/usr/sbin/e2fsck")
THREADS = 4     # of fsynced


class Disks:
    """Files of the host that are the disks of both machines: leg, metadata and log of each. What a
    machine has written and flushed outlives it."""

    qemu = "qemu-system-x86_64"
    names = ("leg", "meta", "log")
    devices = {"leg": "/dev/vda", "meta": "/dev/vdb", "log": "/dev/vdc"}

    def __init__(self, leg_mib, log_mib=8):
        self.mib = {"leg": leg_mib, "meta": 1, "log": log_mib}
        self.run_dir = None

    def path(self, machine, name):
        return os.path.join(self.run_dir, f"{machine}.{name}")

    def start(self, run_dir, _logs):
        self.run_dir = run_dir
        for machine in OTHER:
            for name in self.names:
                with open(self.path(machine, name), "wb") as file:
                    file.truncate(self.mib[name] << 20)

    def stop(self):
        """Remove them, with their directory."""

    def arguments(self, machine, _memory):
        words = []
        for name in self.names:
            # What the emulator has written outlives it in this machine's page cache: to flush that as
            # well would only take time.
            words += ["-drive", f"file={self.path(machine, name)},format=raw,if=none,id={name},cache=unsafe",
                      "-device", f"virtio-blk-pci,drive={name},romfile="]
        return words


def need(progress, logs):
    """Install the programs of the guests."""
    progress.during("looking for dmsetup and e2fsprogs", [os.path.join(vm.HERE, "need"), "mirror"],
                    os.path.join(logs, "need-mirror.log"))


def programs(out):
    """Return the programs of the guests, ours among them."""
    path = os.path.join(out, "fsynced")
    source = os.path.join(bed.TOP, "tools", "demo", "fsynced.c")
    done = subprocess.run(["gcc", "-static", "-O2", "-Wall", "-Werror", "-pthread", "-o", path, source],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise vm.VmError(f"fsynced does not build:\n{done.stdout}")
    return [*PROGRAMS, path]


class Writer:
    """A fsynced that runs on a machine; see fsynced.c"""

    LINE = re.compile(r"^(\d+) (\d+)$", re.M)

    def __init__(self, pair, name, folder, seed):
        self.folder = folder
        self.seed = seed
        self.job = pair.spawn(name, f"fsynced write {folder} {seed}")
        self.last_words = None    # all that it has said, once its machine is killed

    def counts(self):
        """Return the last number that each thread has acknowledged so far. A line that is not
        complete does not count."""
        counts = [0] * THREADS
        text = self.last_words or self.job.output()
        for thread, number in self.LINE.findall(text[:text.rfind("\n") + 1]):
            counts[int(thread)] = int(number)
        return counts

    def acknowledged(self):
        return sum(self.counts())

    def until(self, number, timeout=120):
        """Wait until so many records are acknowledged."""
        end = time.monotonic() + timeout
        while self.acknowledged() < number:
            if self.job.result or not self.job.vm.alive:
                raise vm.Failed(f"{self.job} is over:\n{self.job.output()[-2000:]}")
            if time.monotonic() > end:
                raise vm.TimedOut(f"{self.acknowledged()} of {number} records were acknowledged in {timeout} s")
            time.sleep(0.02)

    def stop(self):
        """End it in order."""
        self.job.vm.run("killall fsynced", check=False)
        self.job.wait(60)

    def killed(self):
        """The machine was killed: read what it had still said."""
        try:
            self.job.wait(10)
        except vm.Gone:
            self.last_words = self.job.channel.buffer.decode("utf-8", "replace")
            return
        raise vm.Failed(f"{self.job} ended before its machine:\n{self.job.output()[-2000:]}")


class Mirror:
    """One mirror over one provider, and the part of a cluster's manager"""

    def __init__(self, pair, provider, policy="fence", timeout_ms=2000, leg_mib=64):
        self.pair = pair
        self.kfi = bed.Kfi(pair, provider)
        self.provider = provider
        self.policy = policy
        self.timeout_ms = timeout_ms
        self.sectors = leg_mib * 2048

    def load(self, name):
        bed.load_provider(self.pair, name, self.provider)
        self.pair.run(name, "modprobe -a virtio_blk ext4; modprobe kfi_mirror")

    def unload(self, name):
        self.pair.run(name, f"rmmod kfi_mirror kfi_ulp kfi_{self.provider} kfi")

    def table(self, name):
        peer = OTHER[name]
        disks = " ".join(Disks.devices[disk] for disk in Disks.names)
        return (f"0 {self.sectors} kfi_mirror {disks} {self.provider} {bed.node(self.provider, self.pair, name)} {PORT[name]} "
                f"{bed.node(self.provider, self.pair, peer)} {PORT[peer]} {self.policy} 2 timeout {self.timeout_ms}")

    def up(self, name):
        self.pair.run(name, f"DM_DISABLE_UDEV=1 dmsetup create {NAME} --table '{self.table(name)}'")

    def down(self, name):
        self.pair.run(name, f"DM_DISABLE_UDEV=1 dmsetup remove {NAME}")

    def say(self, name, words, check=True):
        """A word of `kfi mirror`, and the words behind the mirror's name"""
        word, _, rest = words.partition(" ")
        return self.kfi.command(name, f"mirror {word} {NAME} {rest}", check=check)

    def state(self, name):
        return self.kfi.json(name, f"mirror show {NAME}")[0]

    def until(self, name, timeout=120, each=None, **wanted):
        """Wait until the JSON of `kfi mirror` has these values; @each is called with what it has."""
        end = time.monotonic() + timeout
        while True:
            state = self.state(name)
            if each:
                each(state)
            if all(state[key] == value for key, value in wanted.items()):
                return state
            if time.monotonic() > end:
                raise vm.TimedOut(f"{name}: not {wanted} after {timeout} s: {state}")
            time.sleep(0.3)

    def mount(self, name):
        self.pair.run(name, f"mkdir -p /mnt && mount -t ext4 {DEVICE} /mnt")

    def kill(self, name):
        """Cut the power of a machine: its emulator is killed."""
        self.pair.vms[name].process.kill()
        self.pair.vms[name].process.wait()

    def forget(self, name):
        """Close what is left of a killed machine."""
        self.pair.kill(name)

    def check(self, name, folder, seed, counts):
        """Compare what was acknowledged. Return right, missing, wrong, later."""
        words = " ".join(str(count) for count in counts)
        text = self.pair.run(name, f"fsynced check {folder} {seed} {words}", 300, check=False).text
        found = re.search(r"right (\d+), missing (\d+), wrong (\d+), later (\d+)", text)
        if not found:
            raise vm.Failed(f"{name}: fsynced says nothing of use:\n{text[-2000:]}")
        right, missing, wrong, later = map(int, found.groups())
        if missing or wrong or right != sum(counts):
            raise vm.Failed(f"{name}: ACKNOWLEDGED WRITES ARE LOST: {missing} missing, {wrong} wrong:\n{text[-2000:]}")
        return right, missing, wrong, later


def new_seed():
    return int(os.environ.get("MIRROR_SEED") or random.SystemRandom().randrange(1 << 31))


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
        return OTHER[self.primary]

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
            self.mirror.say(name, f"create {UUID}")
        self.progress("a: kfi mirror promote r0 force (the first time)")
        self.mirror.say("a", "promote force")
        self.synced()
        self.progress("a: mkfs.ext4, mount")
        self.pair.run("a", f"mkfs.ext4 -q -F {DEVICE}", 120)
        self.mirror.mount("a")

    def write(self):
        """Start a writer on the primary; it has acknowledged some when this returns."""
        seed = self.lot.randrange(1 << 31)
        writer = Writer(self.pair, self.primary, f"/mnt/{len(self.written)}", seed)
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
        run(self.primary, f"e2fsck -f -n {DEVICE}", 120)
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
    need(progress, out)
    disks = Disks(LEG_MIB)
    seed = new_seed()
    progress(f"seed {seed}")
    with bed.machines(provider, series, out, ko, programs=[tool, *programs(out)], modules=MODULES,
                      mtu=mtu, disk=disks, progress=progress) as pair:
        mirror = Mirror(pair, provider, leg_mib=LEG_MIB)
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
