"""A guard: a tiny process that ends a private cluster when its owner is gone, however it went.

The owner holds one end of a pipe; the system closes it when the owner dies, even from `kill -9`.
Everything that Ray starts carries a mark in its environment, by which it is found (Linux; elsewhere
Ray's own reaper has to do). What cannot be ended at once is looked for again: a raylet may have
started one more worker in the meantime.
"""

import os
import subprocess
import sys
from secrets import token_hex

from curator_core.local.guarding import MARKERS

_GUARD = """
import os, shutil, signal, sys, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
marker, folder = sys.argv[1].encode(), sys.argv[2]

def is_ours(process):
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            return marker in file.read()
    except OSError:
        return False

sys.stdin.read()
for attempt in range(50 if os.path.isdir("/proc") else 0):
    found = [name for name in os.listdir("/proc") if name.isdigit() and is_ours(name)]
    if not found:
        break
    for process in found:
        try:
            os.kill(int(process), signal.SIGKILL)
        except OSError:
            pass
    time.sleep(0.02)
shutil.rmtree(folder, ignore_errors=True)
"""


class ClusterGuard:
    """Sees to it that nothing of a cluster, and nothing in its folder, outlives this process."""

    def __init__(self, folder: str) -> None:
        self._marker = token_hex(8)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _GUARD, self._marker, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def environment(self) -> dict[str, str]:
        """What the processes of the cluster must be started with to be known."""
        return {MARKERS: f"{os.environ.get(MARKERS, '')}:{self._marker}"}

    def dismiss(self) -> None:
        """End whatever is left, and wait until it is gone."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
