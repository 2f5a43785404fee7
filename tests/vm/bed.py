# SPDX-License-Identifier: GPL-2.0
"""Common parts of demo.py and scenario.py: build kfabric, and use it in a pair"""

import json
import os
import re

import ntbsim
import pair as vm
import usb4sim

TOP = os.path.abspath(os.path.join(vm.HERE, "..", ".."))
# Requirements of a provider on each machine
BELOW = {
    "sockets": ":",
    "verbs": "modprobe -a rdma_rxe rdma_cm && { [ -e /sys/class/infiniband/rxe0 ] || rdma link add rxe0 type rxe netdev eth0; }",
    # The engine first: a bridge only uses an engine that exists already. In 6.1 and 6.12 crc32c() is
    # in a module, which insmod of kfi_ntb does not load.
    "ntb": "modprobe ioatdma && modprobe ntb_hw_intel && { modprobe -q libcrc32c || true; }",
    "usb4": f"modprobe thunderbolt && {usb4sim.STAY_AWAKE}",
}
# The ends of a bridge, by the numbers that its driver gives them, and those of a cable, by the names of the machines.
SIDES = {"ntb": {"a": "0", "b": "1"}, "usb4": {"a": "a", "b": "b"}}
# More than 4 MiB in one piece, or aligned to that, a machine without CMA does not have.
WINDOW = 4 << 20
# As much as a machine has, from address 0 on: a window over all of it.
MEMORY = 512 << 20

# The stacks of all that sleeps, the state of kfabric, and that of its connections. A command of rdma may wait for what hangs.
STUCK = """
for task in /proc/[0-9]*; do
	stack=$(cat $task/stack 2>/dev/null)
	case $stack in
	'' | '[<0>] worker_thread'* | '[<0>] rescuer_thread'*) ;;	# idle
	*) echo "$(cat $task/comm): $stack" ;;
	esac
done
grep -r . /sys/kernel/debug/kfi_ntb 2>/dev/null
kfi perf list; kfi show; kfi show peers; kfi stats; ss -tnio; rdma resource show qp
echo l >/proc/sysrq-trigger; dmesg | tail -n 100	# tasks that run have no stack above
"""

# A machine that sees the files of this computer, read-only, at /host, and runs programs of it: options of the emulator, modules,
# a script, and what is before a command
HOST_FILES = "-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"
HOST_MODULES = "9p", "9pnet_virtio"
SHM = "/dev/shm"                  # what such a program writes
SEE_HOST = f"""
modprobe -a {' '.join(HOST_MODULES)} && mkdir -p /host {SHM} && mount -t tmpfs tmpfs {SHM} &&
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=131072 host /host || exit
for dir in dev proc sys; do mount -o rbind /$dir /host/$dir || exit; done
for dir in run var/lib/drbd; do [ ! -d /host/$dir ] || mount -t tmpfs tmpfs /host/$dir || exit; done
"""
IN_HOST = f"PATH=/usr/sbin:/usr/bin:/sbin:/bin TMPDIR={SHM} chroot /host "

# Two nodes in one kernel, ca (10.78.0.1) and cb (10.78.0.2), for modules that have both sides in them.
TWO_NODES = """
ip netns list | grep -q ca && exit 0
ip netns add ca && ip netns add cb &&
ip link add va netns ca type veth peer name vb netns cb || exit 1
for node in a1 b2; do
	name=${node%?} number=${node#?}
	ip -n c$name link set lo up
	ip -n c$name addr add 10.78.0.$number/24 dev v$name
	ip -n c$name addr add fd78::$number/64 dev v$name nodad
	ip -n c$name link set v$name up
done
sleep 0.5
"""


def compiled(series, tests):
    """Return how many files a build of the modules has compiled, "57 of at most 180 files, "."""
    dirs = ("kfi", "providers", "ulps") + (("tests",) if tests else ())
    most = sum(name.endswith(".c") for part in dirs for _, _, names in os.walk(os.path.join(TOP, part)) for name in names)
    try:
        with open(os.path.join(vm.BUILD, f"vm-{series}", "modules.log"), encoding="utf-8", errors="replace") as log:
            done = len(re.findall(r"^  CC .*(?<!mod)\.o$", log.read(), re.M))
    except FileNotFoundError:
        done = 0
    return f"{done} of at most {most} files, " if done else ""


def build(series, progress, logs, *make_args):
    """Build the modules and the kfi tool. Return the directory of .ko files, and the tool."""
    tool = os.path.join(TOP, "tools", "kfi")
    progress.during("looking for what it needs", [os.path.join(vm.HERE, "need")],
                    os.path.join(logs, "need.log"))
    progress.during("looking for the tool's libraries", [os.path.join(tool, "deps")],
                    os.path.join(logs, "need-tool.log"))
    progress.during(f"{series}: building the modules",
                    [os.path.join(vm.HERE, "modules"), series, *make_args],
                    os.path.join(logs, "modules.log"), lambda: compiled(series, "KFI_TESTS=y" in make_args))
    progress.during("building the kfi tool", ["make", "-C", tool],
                    os.path.join(logs, "tool.log"))
    return os.path.join(vm.BUILD, f"vm-{series}", "ko"), os.path.join(tool, "kfi")


class Devices:
    """Several simulators as one for a pair. Calls for a single one go to the last."""

    def __init__(self, *parts):
        self.parts = parts

    def start(self, run_dir, logs):
        for part in self.parts:
            part.start(run_dir, logs)

    def stop(self):
        for part in reversed(self.parts):
            part.stop()

    def arguments(self, name, memory):
        return [word for part in self.parts for word in part.arguments(name, memory)]

    def __getattr__(self, name):
        return getattr(self.parts[-1], name)


def machines(provider, series, logs, ko, bridges=1, modules=(), disk=None, devices=(), last=MEMORY, seed=None, **options):
    """Return a pair with what that provider needs of machines, and @devices; @disk is one of b, @last the size of a bridge's last window,
    @seed that of lost frames. Of the cables only the first is plugged."""
    devices = [*([disk] if disk else []), *devices]
    if provider == "ntb":
        ko = [*([ko] if isinstance(ko, str) else ko), vm.script("stock-modules", series)]
        modules = [*modules, "ioatdma"]
        devices.append(ntbsim.Ntbsim(bridges, bar2=WINDOW, bar4=last))
    if provider == "usb4":
        modules = [*modules, *usb4sim.MODULES]
        devices.append(usb4sim.Usb4sim("a0-b0", "a1-b1", "c0-d0", pulled=(1, 2), seed=seed, interfaces={"a": "ac", "b": "bd"}, uuid_per_boot=True))
    if devices:
        options["devices"] = devices[0] if len(devices) == 1 else Devices(*devices)
    return vm.Pair(series, logs, ko=ko, modules=modules, **options)


def check(condition, text):
    if not condition:
        raise vm.Failed(text)


def register_in(cases):
    """Return a decorator that adds a case to the list, with its budget in seconds, which it must not exceed, and its providers; none
    stands for all."""
    def case(budget, *providers):
        def register(function):
            cases.append((function, budget, providers))
            return function
        return register
    return case


def closing(verdict, each, run, what="the two machines"):
    """Run a scenario on each kernel, print the verdict, and return the exit status."""
    for series in each:
        try:
            run(series)
        except vm.VmError as error:
            verdict.say(series, what, 0, str(error))
        except KeyboardInterrupt:
            return 130
    print(f"{verdict.passed} passed, {verdict.failed} failed")
    return verdict.failed != 0 or verdict.passed == 0


def node(provider, pair, name, version=4):
    """Return the provider's name for that machine."""
    return SIDES[provider][name] if provider in SIDES else pair.address(name, version)


def wait_for_cable(pair, provider, progress=lambda text: None):
    """If that is the provider: a cable is up some time after both machines have loaded it."""
    for name in pair.vms if provider == "usb4" else ():
        progress(f"{name}: until `kfi show devices` says that the cable is up")
        pair.run(name, "until kfi show devices | grep -q 'cable  *up,'; do sleep 0.2; done", 120)


def load_provider(pair, name, provider, options=""):
    """Load a provider on a machine; on both, if it is one of cables."""
    for each in pair.vms if provider == "usb4" else (name,):
        pair.run(each, BELOW[provider])
        pair.run(each, f"modprobe kfi_{provider} {options}")
    wait_for_cable(pair, provider)


class Kfi:
    """kfabric on both machines of a pair, over one provider"""

    def __init__(self, pair, provider="sockets"):
        self.pair = pair
        self.provider = provider
        self.patience = None      # seconds without progress after which the tester gives up, if not its own

    def load(self, name, options=""):
        self.pair.run(name, f"modprobe kfi_{self.provider} {options} && "
                      "modprobe kfi_loop && modprobe kfi_perf")

    def insmod(self, name, modules):
        """Load modules one by one, by their files."""
        for module in modules:
            self.pair.run(name, f"insmod /lib/modules/$(uname -r)/extra/{module}.ko")

    def unload(self, name):
        self.pair.run(name, f"rmmod kfi_perf kfi_ulp kfi_loop kfi_{self.provider} kfi")

    def loaded(self, name):
        text = self.pair.run(name, "cat /proc/modules").text
        return [line.split()[0] for line in text.splitlines() if line.startswith("kfi")]

    def command(self, name, words, timeout=60, check=True):
        return self.pair.run(name, f"kfi {words}", timeout, check)

    def json(self, name, words, timeout=60, check=True):
        """Return the output of a command with -j as Python values; without @check None if it fails.
        """
        result = self.command(name, f"-j {words}", timeout, check)
        text = "[]" if result.status else result.text
        try:
            return json.loads(text)
        except ValueError as error:
            raise vm.Failed(f"{name}: `kfi -j {words}` said no JSON ({error}):\n{text}") from None

    def serve(self, name, kind="rdm", service=None, provider=None):
        """Start the tester's server, which stays in the kernel until it is stopped."""
        words = f" -s {service}" if service else ""
        words += f" -p {provider}" if provider else ""
        self.command(name, f"perf server -t {kind}{words}")

    def perf_words(self, address, **options):
        words = [f"-j perf run {address}" + (f" --timeout {self.patience}" if self.patience else "")]
        for option, value in options.items():
            option = option.replace("_", "-")
            if value is True:
                words.append(f"--{option}")
            elif value is not None and value is not False:
                words.append(f"--{option} {value}")
        return " ".join(words)

    def perf(self, name, address, timeout=120, **options):
        """Measure with verified data. Return a row for each op, mode and size."""
        job = self.pair.spawn(name, "kfi " + self.perf_words(address, **options))
        try:
            result = job.wait(timeout)
        except vm.TimedOut as error:
            path = self.stuck()
            job.kill()
            raise vm.TimedOut(f"{error}\nwhat hangs where is in {path}") from None
        if result.status != 0:
            raise vm.Failed(f"{job} ended with status {result.status}:\n{result.text}")
        return self.rows(result.text, name)

    def stuck(self):
        """Write what both machines are doing to a log."""
        path = os.path.join(self.pair.logs, "stuck.log")
        with open(path, "a", encoding="utf-8") as file:
            for name, machine in self.pair.vms.items():
                if machine.alive:
                    job = self.pair.spawn(name, STUCK)
                    try:
                        job.wait(60)
                    except vm.VmError:
                        pass
                    file.write(f"==== {name}\n{job.output()}\n")
        return path

    @staticmethod
    def rows(text, name="?"):
        try:
            rows = json.loads(text)
        except ValueError as error:
            raise vm.Failed(f"{name}: `kfi perf run` said no JSON ({error}):\n{text}") from None
        for row in rows:
            detail = row["detail"]
            if detail["wrong"] or detail["lost"] or not detail["verified"]:
                raise vm.Failed(f"{name}: data came to harm or was not looked at: {row}")
        return rows
