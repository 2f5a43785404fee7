#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""terminal.py KFI END - `kfi top` on a terminal: its keys, and whether the terminal is as before when it ends by END: a key, or the
name of a signal."""

import os
import pty
import select
import signal
import sys
import termios
import time

RESTORED = b"\x1b[?7h\x1b[?25h\x1b[?1049l"
shown = b""
child, tty = None, None


def wait_for(text, status=None):
    """Read until the text is there, which is forgotten then."""
    global shown
    deadline = time.monotonic() + 10
    while text not in shown:
        assert time.monotonic() < deadline, f"no {text} in {shown[-1500:]}"
        if not select.select([tty], [], [], 0.1)[0]:
            continue
        try:
            shown += os.read(tty, 65536)
        except OSError:	# the last one has closed it
            assert text in shown, f"no {text} in {shown[-1500:]}"
    shown = shown[shown.index(text) + len(text):]


def main():
    global child, tty
    tty, inside = pty.openpty()
    before = termios.tcgetattr(inside)
    child = os.fork()
    if not child:
        os.close(tty)
        os.login_tty(inside) if hasattr(os, "login_tty") else login(inside)
        os.environ["LD_PRELOAD"] = os.environ["PRELOAD"]
        os.execv(sys.argv[1], [sys.argv[1], "top", "-d", "0.2"])
    wait_for(b"endpoints by total, every 0.2 s")
    assert not termios.tcgetattr(inside)[3] & (termios.ECHO | termios.ICANON), "keys are shown"
    wait_for(b"\x1b[H\x1b[J")
    wait_for(b"sockets")
    os.write(tty, b"s")
    wait_for(b"endpoints by tx,")
    os.write(tty, b"p")
    wait_for(b"peers by tx,")
    wait_for(b"10.0.0.2:9")
    os.write(tty, b"w")
    wait_for(b"ways by tx,")
    wait_for(b"eth0")
    end = sys.argv[2]
    if end == "SIGTSTP":
        os.kill(child, signal.SIGTSTP)
        os.waitpid(child, os.WUNTRACED)
        wait_for(RESTORED)
        assert termios.tcgetattr(inside) == before, "another mode while it is stopped"
        os.kill(child, signal.SIGCONT)
        wait_for(b"\x1b[?1049h")
        wait_for(b"ways by tx,")
        end = "q"
    if end.startswith("SIG"):
        os.kill(child, getattr(signal, end))
    else:
        os.write(tty, end.encode())
    wait_for(RESTORED)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, status
    assert termios.tcgetattr(inside) == before, "the terminal has another mode"
    assert not shown.strip(), f"{shown} behind the end"


def login(inside):
    os.setsid()
    for fd in (0, 1, 2):
        os.dup2(inside, fd)
    import fcntl
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


main()
