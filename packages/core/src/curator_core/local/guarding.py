"""A guard: a tiny process that ends the workers when their parent is gone, however it went.

The parent holds one end of a pipe; the system closes it when the parent dies, even from
`kill -9`. Workers lead process groups of their own, so that what they started goes with them.
"""

import os
import subprocess
import sys
from contextlib import suppress

_GUARD = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
"""


class Guard:
    """Knows which process groups must not outlive this process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _GUARD],
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
        with suppress(BrokenPipeError):  # somebody killed the guard: workers end when asked to
            os.write(self._process.stdin.fileno(), line.encode())
