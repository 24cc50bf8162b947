"""Cores: limit the number of threads that FFmpeg starts."""

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache


@contextmanager
def one_core() -> Iterator[None]:
    """Pin this thread to its current core, so that FFmpeg starts no threads for filters.

    Otherwise FFmpeg starts one thread per core for each file, and waits for all of them at its end.
    If all cores are busy, this takes longer than encoding a few seconds.
    """
    here = _core()
    if here is None:
        yield
        return
    known = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {here})
    try:
        yield
    finally:
        os.sched_setaffinity(0, known)


def _core() -> int | None:
    """Return the core of this thread; None if it is unknown or the system has no affinity."""
    ask = _asking()
    if ask is None:
        return None
    number = ask()
    return number if number in os.sched_getaffinity(0) else None


@cache
def _asking() -> Callable[[], int] | None:
    if not hasattr(os, "sched_setaffinity"):
        return None
    try:
        found: Callable[[], int] = ctypes.CDLL(None).sched_getcpu
    except (OSError, AttributeError):
        return None
    return found
