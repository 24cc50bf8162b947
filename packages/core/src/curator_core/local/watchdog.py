"""A watchdog process that kills leftover workers when their parent dies, even by SIGKILL.

The owner holds one end of a pipe; the system closes it when the owner dies, even from `kill -9`.
What the owner started is known by a mark in its environment, where the system shows that (Linux).
"""

import os
import subprocess
import sys
from contextlib import suppress
from secrets import token_hex

MARKERS = "CURATOR_POOLS"
"""The environment variable that names the guards (one may stand inside another) of a process."""

_KNOWING = """
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


class GuardProcess:
    """Runs `script` beside this process; it reads stdin, and does its duty when that ends.

    The script has `arguments`, `ours()` (the processes with the mark) and `end(os.kill, process)`.
    """

    def __init__(self, script: str, *arguments: str) -> None:
        self._marker = token_hex(8)
        text = _KNOWING + script
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", text, self._marker, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def environment(self) -> dict[str, str]:
        """What processes must be started with to be known."""
        return {MARKERS: f"{os.environ.get(MARKERS, '')}:{self._marker}"}

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # somebody killed it: what it guards ends when asked to
            os.write(self._process.stdin.fileno(), line.encode())

    def dismiss(self) -> None:
        """Have it do its duty now, and wait until that is done."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


_DUTY = """
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    end(os.killpg, group)
for process in ours():
    end(os.kill, process)
"""


class Guard(GuardProcess):
    """Knows which process groups must not outlive this process."""

    def __init__(self) -> None:
        super().__init__(_DUTY)

    def watch(self, group: int) -> None:
        self.say(f"+{group}\n")

    def forget(self, group: int) -> None:
        self.say(f"-{group}\n")
