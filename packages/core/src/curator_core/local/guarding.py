"""A guard: a tiny process that ends the workers when their parent is gone, however it went.

The parent holds one end of a pipe; the system closes it when the parent dies, even from
`kill -9`. Workers lead process groups of their own, so that what they started goes with them; what
left its group is known by a mark in its environment, where the system shows that (Linux).
"""

import os
import subprocess
import sys
from contextlib import suppress
from secrets import token_hex

MARKERS = "CURATOR_POOLS"
"""The environment variable that names the pools (one may run inside another) of a process."""

_GUARD = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
marker = sys.argv[1].encode()
groups = set()

def end(kill, target):
    try:
        kill(target, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass

def is_ours(process):
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            return marker in file.read()
    except OSError:
        return False

for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    end(os.killpg, group)
if os.path.isdir("/proc"):
    for process in [name for name in os.listdir("/proc") if name.isdigit() and is_ours(name)]:
        end(os.kill, int(process))
"""


class Guard:
    """Knows which process groups must not outlive this process."""

    def __init__(self) -> None:
        self.marker = token_hex(8)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _GUARD, self.marker],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def watch(self, group: int) -> None:
        self._say(f"+{group}\n")

    def forget(self, group: int) -> None:
        self._say(f"-{group}\n")

    def dismiss(self) -> None:
        """Let it end; whatever it still watches ends with it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(
            BrokenPipeError
        ):  # somebody killed the guard: workers still end when asked to
            os.write(self._process.stdin.fileno(), line.encode())
