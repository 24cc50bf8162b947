"""Crowding: how long this thread was ready to work, and no CPU was free for it."""

import os
import threading

LOOK_EVERY_S = 0.05
"""Rarely enough that it costs nothing, often enough that it goes to the stage that waited."""


class _Looked(threading.local):
    """What this thread knows of itself."""

    process = 0
    """Another process after a fork, in which the file would tell of a thread elsewhere."""

    file = -1
    when = 0.0
    seconds = 0.0


_LOOKED = _Looked()


def crowded_now_and_then(now: float) -> float:
    """Seconds since the last look; 0 where that was a moment ago, or the system does not say."""
    looked = _LOOKED
    if now - looked.when < LOOK_EVERY_S:
        return 0.0
    looked.when = now
    if looked.process != os.getpid():
        looked.process, looked.file = os.getpid(), _opened()
        looked.seconds = _seconds(looked.file)
        return 0.0
    before, looked.seconds = looked.seconds, _seconds(looked.file)
    return looked.seconds - before


def _opened() -> int:
    try:
        return os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def _seconds(file: int) -> float:
    if file < 0:
        return 0.0
    return int(os.pread(file, 100, 0).split()[1]) / 1e9
