"""Memory kills: whether the kernel killed a process because memory ran out."""

import os
from collections.abc import Iterable
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_RECORD_BYTES = 1 << 16


class MemoryKills:
    """Counts out-of-memory kills: in our control group, and on the whole machine.

    Each kill explains one death. If the kernel log is readable it decides, because a kill elsewhere
    on the machine is unrelated to our workers.
    """

    def __init__(self, seen: Iterable[int | None] | None = None) -> None:
        self._ours, all_kills = seen or (_kills_of_ours(), _all_kills())
        self._all = all_kills or 0

    @property
    def seen(self) -> tuple[int | None, int]:
        """The initial counts for another process on this machine."""
        return self._ours, self._all

    def explain(self, pid: int) -> bool:
        """Whether this process was killed because memory ran out."""
        ours = _kills_of_ours()
        if ours is not None and self._ours is not None and ours > self._ours:
            self._ours += 1
            self._all += 1
            return True
        if _all_kills() <= self._all:
            return False
        logged = _is_in_kernel_log(pid)
        if logged is None:
            logged = ours is None
        self._all += logged
        return logged


def _kills_of_ours() -> int | None:
    """Return the kills in our control group: in a container, all of its kills."""
    try:
        groups = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in groups:
        _, kinds, path = line.split(":", 2)
        if kinds == "memory":
            top, name = _GROUPS / "memory", "memory.oom_control"
        elif kinds == "":
            top, name = _GROUPS, "memory.events"
        else:
            continue
        for folder in (top / path.lstrip("/"), top):
            count = _count_in(folder / name)
            if count is not None:
                return count
    return None


def _all_kills() -> int:
    return _count_in(Path("/proc/vmstat")) or 0


def _count_in(file: Path) -> int | None:
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), None)


def _is_in_kernel_log(pid: int) -> bool | None:
    """Whether the kernel log has a kill of this process; None if the log is not readable."""
    try:
        log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    words = f"Killed process {pid} ".encode()
    try:
        while True:
            try:
                if words in os.read(log, _RECORD_BYTES):
                    return True
            except BlockingIOError:
                return False
            except BrokenPipeError:
                continue  # this record was overwritten: the next read returns the oldest left
            except OSError:
                return None
    finally:
        os.close(log)
