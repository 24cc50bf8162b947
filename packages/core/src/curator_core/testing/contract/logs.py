"""Logs: what stages did, in any process, as lines in one file."""

import os
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Event(NamedTuple):
    kind: str
    stage: str
    pid: int
    place: str
    moment: float
    what: str


def note(log: str, kind: str, stage: str, place: str = "", what: object = "") -> None:
    """Append an event in one write, so that lines of several processes never mix."""
    line = f"{kind}\t{stage}\t{os.getpid()}\t{place}\t{time.monotonic()}\t{what}\n"
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, line.encode())
    finally:
        os.close(handle)


def read_log(log: str | Path) -> list[Event]:
    """Return the events so far, in the order of their lines."""
    try:
        lines = Path(log).read_text().splitlines()
    except FileNotFoundError:
        return []
    fields = (line.split("\t") for line in lines)
    return [Event(k, s, int(pid), place, float(t), what) for k, s, pid, place, t, what in fields]


def lives(events: Iterable[Event], kind: str) -> Counter[tuple[str, int, str]]:
    """Count the events of this kind per worker (a stage in a process)."""
    return Counter((event.stage, event.pid, event.place) for event in events if event.kind == kind)


def still_running(pids: Iterable[int], patience_s: float = 30.0) -> set[int]:
    """Return the processes, except this one, that have not ended within `patience_s`."""
    left = set(pids) - {os.getpid()}
    deadline = time.monotonic() + patience_s
    while left := {pid for pid in left if _runs(pid)}:
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    return left


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Whether a process has ended, but its parent has not waited for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False
