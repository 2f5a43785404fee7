# SPDX-License-Identifier: GPL-2.0
"""Two virtual machines of a stock Debian kernel, joined by a network.

    with Pair("6.12", logs="build/x", ko="build/vm-6.12/ko") as pair:
        pair.run("a", "ping -c 1 10.77.0.2")       # -> Result, raises Failed
        job = pair.spawn("b", "kfi perf server")   # on a channel of its own
        pair.kill("b"); pair.restart("b")          # SIGKILL, and a fresh boot
        pair.check_logs()                          # raises Splat

Leaving the `with` block ends the machines, however it is left; should this
process be killed, the kernel kills them (parent death signal).
"""

import base64
import collections
import ctypes
import mmap
import os
import re
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from simulator import BUILD, HERE, VmError

CHANNELS = 8
ADDRESS = {"a": ("10.77.0.1", "fd77::1"), "b": ("10.77.0.2", "fd77::2")}
MAC = {"a": "52:54:00:77:00:01", "b": "52:54:00:77:00:02"}

# What a healthy console never says.
SPLAT = re.compile(
    r"Kernel panic|Oops|\bBUG\b|WARNING: |general protection fault|"
    r"INFO: task .* blocked for more|INFO: rcu.* stall|rcu: INFO: .*stall|"
    r"soft lockup|hard LOCKUP|possible recursive locking|possible deadlock|"
    r"inconsistent lock state|suspicious RCU usage|refcount_t: |UBSAN: |"
    r"unable to handle|list_(add|del) corruption|scheduling while atomic|"
    r"sleeping function called|Call Trace:|Bad page state|"
    r"unregister_netdevice: waiting|segfault at|traps: .* trap "
)


# What machines of one series boot
Image = collections.namedtuple("Image", "kernel release initramfs")


class Failed(VmError):
    """A command ended with a status other than 0."""


class TimedOut(VmError):
    """A command or a boot did not end in time"""


class Gone(VmError):
    """The machine went away during a command"""


class Splat(VmError):
    """A console has a warning, an oops or a hung task"""


class EmulatorFault(Splat):
    """The emulator has executed a breakpoint that the kernel had removed"""


INT3 = re.compile(r"\bint3: 0000 \[#1\]")


class Result:
    """Output and exit status of a finished command"""

    def __init__(self, command, status, output, seconds):
        self.command = command
        self.status = status
        self.output = output
        self.seconds = seconds

    @property
    def text(self):
        return self.output.decode("utf-8", "replace")


class Progress:
    """One line that updates on a terminal, plain lines elsewhere; a step that takes long is told again"""

    again = 30                    # seconds

    def __init__(self, stream=sys.stderr):
        self.stream = stream
        self.tty = stream.isatty()
        self.last = None
        self.start = self.told = time.monotonic()
        if not self.tty:
            threading.Thread(target=self.remind, daemon=True).start()

    def remind(self):
        while True:
            time.sleep(1)
            last = self.last
            if last and time.monotonic() > self.told + self.again + 2:       # during() has told it meanwhile
                self.write(f"{last}, still")

    def write(self, text):
        self.told = time.monotonic()
        line = f"[{self.told - self.start:5.1f} s] {text}"
        if self.tty:
            width = shutil.get_terminal_size().columns - 1
            self.stream.write("\r\033[K" + line[:width])
        else:
            self.stream.write(line + "\n")
        self.stream.flush()

    def __call__(self, text):
        if text == self.last:
            return
        self.last = text
        self.write(text)

    def during(self, text, args, log, far=lambda: ""):
        """Run a program with its output in a log, and show the elapsed time and what far() returns."""
        os.makedirs(os.path.dirname(log), exist_ok=True)
        start, told = time.monotonic(), 0
        self(text)
        with open(log, "wb") as out:
            process = subprocess.Popen(args, stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=subprocess.STDOUT)
            try:
                while process.poll() is None:
                    try:
                        process.wait(1)
                    except subprocess.TimeoutExpired:
                        seconds = time.monotonic() - start
                        if self.tty or seconds >= told + self.again:
                            told = seconds
                            self(f"{text}: {far()}{seconds:.0f} s")
            except BaseException:
                process.terminate()
                process.wait()
                raise
        if process.returncode != 0:
            with open(log, encoding="utf-8", errors="replace") as said:
                raise VmError(f"{text}: failed, see {log}\n" +
                              "".join(said.readlines()[-30:]))

    def end(self):
        """Leave the updating line, so that ordinary output may follow."""
        if self.tty and self.last is not None:
            self.stream.write("\r\033[K")
            self.stream.flush()
        self.last = None


class Channel:
    """Host end of one command loop in a guest (see guest-init)."""

    def __init__(self, sock, port):
        self.sock = sock
        self.port = port          # its number, as in kf.<number>
        self.buffer = b""
        self.busy = False

    def fill(self, deadline):
        """Read some more. Raises TimedOut after the deadline, Gone at the end."""
        left = deadline - time.monotonic()
        if self.sock.fileno() < 0:
            raise Gone("the machine was killed")
        if left <= 0 or not select.select([self.sock], [], [], left)[0]:
            raise TimedOut("no answer in time")
        try:
            data = self.sock.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            raise Gone("the machine is gone")
        self.buffer += data
        return data

    def wait_ready(self, deadline):
        while b"ready\n" not in self.buffer:
            self.fill(deadline)
        self.buffer = b""


class Job:
    """A command that runs in a guest"""

    def __init__(self, vm, channel, command, sink=None):
        self.vm = vm
        self.channel = channel
        self.command = command
        self.sink = sink
        self.start = time.monotonic()
        self.result = None
        self.nonce = secrets.token_hex(16)
        channel.busy = True
        channel.buffer = b""
        script = base64.b64encode(command.encode()).decode()
        channel.sock.sendall(f"{self.nonce} {script}\n".encode())

    def __str__(self):
        return f"{self.vm.name}: {self.command}"

    def poll(self):
        """Return the Result if the command has ended, else None."""
        try:
            return self.wait(0.001)
        except TimedOut:
            return None

    def output(self):
        """Return the output so far as text."""
        if self.result is None:
            self.poll()
        data = self.result.output if self.result else self.channel.buffer
        return data.decode("utf-8", "replace")

    def wait(self, timeout):
        """Wait for the end. TimedOut leaves the command running."""
        deadline = time.monotonic() + timeout
        if self.result:
            return self.result
        end = re.compile(b"\n" + self.nonce.encode() + rb" (\d+)\n")
        scanned = 0
        while True:
            found = end.search(self.channel.buffer, scanned)
            if found:
                return self.finish(found)
            scanned = max(0, len(self.channel.buffer) - 64)
            try:
                data = self.channel.fill(deadline)
            except TimedOut:
                raise TimedOut(f"{self}: not over after "
                               f"{time.monotonic() - self.start:.0f} s") from None
            except Gone:
                raise Gone(f"{self}: the machine went away") from None
            if self.sink:
                self.sink(data)

    def finish(self, found):
        output = self.channel.buffer[:found.start()]
        self.channel.busy = False
        self.channel.buffer = b""
        self.result = Result(self.command, int(found.group(1)), output,
                             time.monotonic() - self.start)
        return self.result

    def kill(self, sig="KILL"):
        """Kill the command's session from another channel and reap it."""
        if self.result is None:
            pid = f"/run/{self.vm.port_device(self.channel)}.pid"
            self.vm.run(f"kill -s {sig} -- -$(cat {pid})", check=False)
            self.wait(10)
        return self.result


class Vm:
    """One machine: its process, console log and channels"""

    def __init__(self, pair, name):
        self.pair = pair
        self.name = name
        self.process = None
        self.channels = []
        self.monitor = None       # where the emulator itself takes commands
        self.boots = 0
        self.consoles = []        # one log for each boot
        self.boot_seconds = 0.0
        self.serial_index = 0     # of its virtio-serial device, which the guest knows

    @property
    def alive(self):
        return self.process is not None and self.process.poll() is None

    def start(self):
        """Start QEMU; wait_ready() follows."""
        self.boots += 1
        suffix = "" if self.boots == 1 else f".{self.boots}"
        log = os.path.join(self.pair.logs, f"console-{self.name}{suffix}.log")
        open(log, "w", encoding="utf-8").close()
        self.consoles.append(log)
        self.channels = []
        guest_ends = []
        for port in range(CHANNELS):
            ours, theirs = socket.socketpair()
            self.channels.append(Channel(ours, port))
            guest_ends.append(theirs)
        self.monitor, theirs = socket.socketpair()
        guest_ends.append(theirs)
        self.started = time.monotonic()
        with open(os.path.join(self.pair.logs, f"qemu-{self.name}.log"), "ab") as err:
            self.process = subprocess.Popen(
                # the kernel ends the machine should we die
                ["setpriv", "--pdeathsig", "KILL"] + self.arguments(log, *guest_ends),
                stdin=subprocess.DEVNULL, stdout=err, stderr=err,
                pass_fds=[s.fileno() for s in guest_ends], start_new_session=True)
        for sock in guest_ends:
            sock.close()

    def arguments(self, log, *guest_ends):
        pair = self.pair
        image = pair.booted
        args = [
            pair.devices.qemu if pair.devices else "qemu-system-x86_64", "-name", f"kfabric-{self.name}",
            "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-M", "q35", "-accel", pair.accel, "-cpu", pair.cpu(),
            "-smp", str(pair.cpus), "-m", pair.memory,
            "-kernel", image.kernel, "-initrd", image.initramfs,
            "-append", " ".join([
                "console=ttyS0 panic=-1 oops=panic rdinit=/init",
                "rcupdate.rcu_cpu_stall_timeout=120 no_timer_check tsc=reliable",
                # guest-init wakes the other CPUs, see there
                "maxcpus=1 noreplace-smp log_buf_len=4M", clock_words(),
                "mitigations=off audit=0",
                f"kf.name={self.name} kf.mtu={pair.mtu}",
                self.address_words(),
                f"kf.load={','.join(pair.load.get(self.name, ()))}",
                pair.append]).strip(),
            "-chardev", f"file,id=console,path={log},append=on",
            "-serial", "chardev:console",
            "-device", "virtio-rng-pci",
            *self.wire_arguments(),
            "-device", f"virtio-serial-pci,max_ports={CHANNELS + 1}",
        ]
        *guest_ends, monitor = guest_ends
        args += ["-chardev", f"socket,id=monitor,fd={monitor.fileno()}", "-mon", "chardev=monitor"]
        for port, sock in enumerate(guest_ends):
            args += ["-chardev", f"socket,id=kf{port},fd={sock.fileno()}",
                     "-device", f"virtserialport,chardev=kf{port},name=kf.{port},nr={port + 1}"]
        if pair.devices:
            args += pair.devices.arguments(self.name, pair.memory)
        return args + pair.qemu_extra

    def address_words(self):
        """Return the guest's words for its addresses. Only a and b are on the wire."""
        if self.name not in ADDRESS:
            return ""
        address4, address6 = ADDRESS[self.name]
        return f"kf.addr4={address4}/24 kf.addr6={address6}/64"

    def wire_arguments(self):
        if self.name not in ADDRESS:
            return []
        run_dir, peer = self.pair.run_dir, "b" if self.name == "a" else "a"
        return ["-netdev", f"dgram,id=net0,local.type=unix,local.path={run_dir}/{self.name},"
                f"remote.type=unix,remote.path={run_dir}/{peer}",
                "-device", f"virtio-net-pci,netdev=net0,mac={MAC[self.name]},host_mtu={self.pair.mtu},romfile="]

    def port_device(self, channel):
        return f"vport{self.serial_index}p{channel.port + 1}"

    def wait_ready(self, deadline):
        try:
            for channel in self.channels:
                channel.wait_ready(deadline)
        except VmError as error:
            raise type(error)(f"{self.name} did not get ready "
                              f"({time.monotonic() - self.started:.0f} s): {error}\n"
                              + self.tail()) from None
        self.boot_seconds = time.monotonic() - self.started
        path = self.run("ls -d /dev/vport*p1", timeout=30).text
        self.serial_index = int(re.search(r"vport(\d+)p1", path).group(1))

    def spawn(self, command, sink=None):
        """Start a command on a free channel and return its Job."""
        if not self.alive:
            raise Gone(f"{self.name}: the machine is not running")
        for channel in self.channels:
            if not channel.busy:
                try:
                    return Job(self, channel, command, sink)
                except OSError:
                    raise Gone(f"{self.name}: the machine went away") from None
        raise VmError(f"{self.name}: all {CHANNELS} channels are busy")

    def run(self, command, timeout=60, check=True, sink=None):
        job = self.spawn(command, sink)
        try:
            result = job.wait(timeout)
        except TimedOut as error:
            said = job.output()[-2000:]
            try:
                job.kill()
            except VmError:
                pass              # its channel stays busy
            raise TimedOut(f"{error}\n{said}") from None
        except Gone as error:
            raise Gone(f"{error}\n{self.tail()}") from None
        if check and result.status != 0:
            raise Failed(f"{self.name}: `{command}` ended with status "
                         f"{result.status}:\n{result.text[-4000:]}")
        return result

    def link(self, up):
        """Plug the wire in or out; the machine has noticed when this returns."""
        self.monitor.sendall(f"set_link net0 {'on' if up else 'off'}\n".encode())
        self.run(f"until [ $(cat /sys/class/net/eth0/carrier) = {int(up)} ]; do sleep 0.05; done",
                 timeout=10)

    def kill(self):
        """Kill the machine (SIGKILL), without a shutdown."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        for channel in self.channels:
            channel.sock.close()
        if self.monitor:
            self.monitor.close()
        self.channels = []

    def tail(self, lines=25):
        with open(self.consoles[-1], encoding="utf-8", errors="replace") as log:
            return f"last lines of {self.consoles[-1]}:\n" + \
                "".join("  | " + line for line in log.readlines()[-lines:])

    def emulator_fault(self):
        with open(self.consoles[-1], encoding="utf-8", errors="replace") as log:
            return bool(INT3.search(log.read()))

    def forget_boot(self):
        """Keep the last console, but do not check it."""
        self.kill()
        os.replace(self.consoles[-1], self.consoles.pop() + ".emulator-fault")

    def splats(self):
        """Return the lines of the consoles that report a fault, with those that follow."""
        found = []
        for console in self.consoles:
            with open(console, encoding="utf-8", errors="replace") as log:
                lines = log.readlines()
            for at, line in enumerate(lines):
                if SPLAT.search(line):
                    found.append(f"{console}:{at + 1}:\n" +
                                 "".join("  | " + l for l in lines[at:at + 40]))
                    break
        return found


def clock_words():
    """Tell the guest how fast its clock runs. It is this machine's time stamp
    counter; measuring it, a guest on a busy machine has been seen to be wrong
    by a factor of five, and with it all its time-outs and figures."""
    if os.uname().machine != "x86_64":
        return ""
    try:
        code = mmap.mmap(-1, mmap.PAGESIZE,
                         prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return ""                 # a machine that forbids this; the guest has to measure
    code.write(b"\x0f\x31"              # rdtsc
               b"\x48\xc1\xe2\x20"      # shl rdx, 32
               b"\x48\x09\xd0\xc3")     # or rax, rdx; ret
    where = ctypes.c_char.from_buffer(code)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(where))
    speeds = []
    for _ in range(5):
        ticks, start = read(), time.monotonic_ns()
        time.sleep(0.02)
        ticks, end = read() - ticks, time.monotonic_ns()
        speeds.append(ticks * 1000000 // (end - start))
    khz = sorted(speeds)[2]
    # 250 ticks a second in Debian's kernels
    return f"tsc_early_khz={khz} lpj={khz * 4}"


def sweep_run_dirs():
    """Remove what killed runs have left."""
    base = tempfile.gettempdir()
    for name in os.listdir(base):
        match = re.fullmatch(r"kfabric-vm-(\d+)-\w+", name)
        if match and not os.path.exists(f"/proc/{match.group(1)}"):
            shutil.rmtree(os.path.join(base, name), ignore_errors=True)


class Pair:
    """Machines a and b and the wire between them."""

    def __init__(self, series, logs, ko=None, programs=(), modules=(), cpus=2,
                 memory="512M", mtu=1500, append="", load=None, qemu_extra=(), devices=None,
                 progress=None, names=("a", "b"), boot_timeout=180):
        self.series = series
        self.logs = os.path.abspath(logs)
        self.ko = [ko] if isinstance(ko, str) else list(ko or [])
        self.programs = list(programs)
        self.modules = list(modules)
        self.cpus = cpus
        self.memory = memory
        self.mtu = mtu
        self.append = append
        self.load = load or {}    # modules of each machine that are loaded at once
        self.qemu_extra = list(qemu_extra)
        self.devices = devices    # simulated ones: an object like ntbsim.Ntbsim
        self.progress = progress or Progress()
        self.boot_timeout = boot_timeout
        # KVM only on demand: there are machines on which a guest hangs in it
        self.accel = os.environ.get("KFABRIC_ACCEL", "tcg,thread=multi")
        self.vms = {name: Vm(self, name) for name in names}
        self.run_dir = None

    def cpu(self):
        """Return the model of the CPU. Simulated devices may want another one."""
        # An emulator copies byte by byte where the CPU says that this is fast. No CPU says so of
        # short copies alone, and memmove() of 6.1 would not end on one (QEMU 11's max has both).
        model = "host" if self.accel.startswith("kvm") else "max,erms=off,fsrm=off"
        return self.devices.cpu(model) if hasattr(self.devices, "cpu") else model

    def __enter__(self):
        os.makedirs(self.logs, exist_ok=True)
        self.old_handlers = {
            number: signal.signal(number, self.on_signal)
            for number in (signal.SIGTERM, signal.SIGHUP)}
        # unix socket names are short, build directories may not be
        sweep_run_dirs()
        self.run_dir = tempfile.mkdtemp(prefix=f"kfabric-vm-{os.getpid()}-")
        try:
            self.prepare()
            if self.devices:
                self.devices.start(self.run_dir, self.logs)
            self.boot(*self.vms)
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, *exc):
        for vm in self.vms.values():
            vm.kill()
        if self.devices:
            self.devices.stop()
        for number, handler in self.old_handlers.items():
            signal.signal(number, handler)
        shutil.rmtree(self.run_dir, ignore_errors=True)
        self.progress.end()

    @staticmethod
    def on_signal(number, _frame):
        sys.exit(128 + number)

    def prepare(self):
        self.booted = self.image()
        self.release = self.booted.release

    def image(self):
        """Return the Image of the series."""
        self.progress(f"{self.series}: preparing kernel and initramfs")
        base = script("kernel", self.series)
        kernel = os.path.join(base, "vmlinux")
        if not os.path.exists(kernel):
            kernel = os.path.join(base, "vmlinuz")
        with open(os.path.join(base, "release"), encoding="utf-8") as file:
            release = file.read().strip()
        args = [word for ko in self.ko for word in ("--ko", ko)]
        for program in self.programs:
            args += ["--with", program]
        for module in self.modules:
            args += ["--module", module]
        path = script("initramfs", self.series, *args)
        # a copy of our own: another run may build a different one meanwhile
        initramfs = os.path.join(self.run_dir, f"initramfs-{self.series}")
        try:
            os.link(path, initramfs)
        except OSError:
            shutil.copyfile(path, initramfs)
        return Image(kernel, release, initramfs)

    def boot(self, *names):
        """Start machines and wait until their channels answer."""
        self.progress(f"{self.series}: booting {' and '.join(names)} ({self.release})")
        deadline = time.monotonic() + self.boot_timeout
        for name in names:
            self.vms[name].start()
        for name in names:
            try:
                self.vms[name].wait_ready(deadline)
            except Gone:
                # nothing of ours has run yet; once more, but only for this
                if not self.vms[name].emulator_fault():
                    raise
                self.progress(f"{self.series}: {name}: the emulator failed, booting again")
                self.vms[name].forget_boot()
                self.vms[name].start()
                self.vms[name].wait_ready(deadline)
        self.progress(f"{self.series}: " + ", ".join(
            f"{name} ready in {self.vms[name].boot_seconds:.1f} s" for name in names))

    def run(self, name, command, timeout=60, check=True, sink=None):
        return self.vms[name].run(command, timeout, check, sink)

    def spawn(self, name, command, sink=None):
        return self.vms[name].spawn(command, sink)

    def kill(self, name):
        self.vms[name].kill()

    def restart(self, name):
        """Boot again, whether or not the machine still runs."""
        self.vms[name].kill()
        self.boot(name)

    def check_logs(self):
        """Raise Splat if a console reports a fault."""
        found = [text for vm in self.vms.values() for text in vm.splats()]
        if found and all(INT3.search(text) for text in found):
            raise EmulatorFault("the emulator failed:\n" + "\n".join(found))
        if found:
            raise Splat("the kernel complained:\n" + "\n".join(found))

    def address(self, name, version=4):
        return ADDRESS[name][version == 6]


def script(name, *args):
    """Run a script of this folder. Return its last line."""
    done = subprocess.run([os.path.join(HERE, name), *args],
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise VmError(f"{name} {' '.join(args)} failed")
    return done.stdout.strip().splitlines()[-1]
