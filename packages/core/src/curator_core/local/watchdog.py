"""Watchdog: a process that kills leftover workers when their parent dies, even by SIGKILL.

The parent holds one end of a pipe, which the system closes when the parent dies. On Linux,
processes started by the parent are identified by a marker in their environment.
"""

import os
import subprocess
import sys
from contextlib import suppress
from secrets import token_hex

MARKERS = "CURATOR_POOLS"
"""Environment variable that lists the guards of a process; guards may be nested."""

_HELPERS = """
import os, signal, sys, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
marker, arguments = sys.argv[1].encode(), sys.argv[2:]

def is_ours(process):
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            return marker in file.read()
    except OSError:
        return False

def ours():
    there = os.listdir("/proc") if os.path.isdir("/proc") else []
    return [int(name) for name in there if name.isdigit() and is_ours(name)]

def end(kill, target):
    try:
        kill(target, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
"""


class WatchdogProcess:
    """Runs `script` in another process; it reads stdin, and does its work when that is closed.

    The script can use `arguments`, `ours()` (the processes with the marker) and `end(os.kill,
    process)`.
    """

    def __init__(self, script: str, *arguments: str) -> None:
        self._marker = token_hex(8)
        text = _HELPERS + script
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", text, self._marker, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def environment(self) -> dict[str, str]:
        """The environment to start processes with, so that the guard finds them."""
        return {MARKERS: f"{os.environ.get(MARKERS, '')}:{self._marker}"}

    def send_line(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the guard was killed: workers still end when asked to
            os.write(self._process.stdin.fileno(), line.encode())

    def finish(self) -> None:
        """Trigger the guard's work now, and wait until it is done."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


_KILL_LEFTOVERS = """
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    end(os.killpg, group)
for process in ours():
    end(os.kill, process)
"""


class Watchdog(WatchdogProcess):
    """Kills process groups that must not outlive this process."""

    def __init__(self) -> None:
        super().__init__(_KILL_LEFTOVERS)

    def watch(self, group: int) -> None:
        self.send_line(f"+{group}\n")

    def forget(self, group: int) -> None:
        self.send_line(f"-{group}\n")
