"""Memory kills: whether the system killed a process because memory ran out."""

import os
from collections.abc import Iterable
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_RECORD_BYTES = 1 << 16


class MemoryKills:
    """Counts the processes that were ended for it: those that share our limit, and all.

    Each kill explains one death. Where the kernel's log may be read it decides, for a kill
    elsewhere on the machine says nothing about a worker of ours.
    """

    def __init__(self, seen: Iterable[int | None] | None = None) -> None:
        self._ours, all_kills = seen or (_kills_of_ours(), _all_kills())
        self._all = all_kills or 0

    @property
    def seen(self) -> tuple[int | None, int]:
        """What to begin with in another process of this machine."""
        return self._ours, self._all

    def explain(self, pid: int) -> bool:
        """Whether this process, which was killed, was killed for its memory."""
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
    """Those of our control group; in a container that is all of it."""
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
    """Whether the kernel says that it killed this process; None where we may not read that."""
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
                continue  # this record was overwritten: the next read gives the oldest there is
            except OSError:
                return None
    finally:
        os.close(log)
