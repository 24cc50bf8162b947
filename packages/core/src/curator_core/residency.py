"""Residency: how much memory this process takes, looked at now and then."""

import os
import sys

LOOK_EVERY_S = 0.25
_LOOKED: dict[int, float] = {}


def resident_now_and_then(stage_index: int, now: float) -> int:
    """The resident bytes while this stage is at work; 0 where that was looked at a moment ago."""
    if now - _LOOKED.get(stage_index, -LOOK_EVERY_S) < LOOK_EVERY_S:
        return 0
    _LOOKED[stage_index] = now
    return resident_bytes()


def resident_bytes() -> int:
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # no such file system: the most that it ever was has to do
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
