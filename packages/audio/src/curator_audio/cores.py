"""Cores: how many of them FFmpeg sees when it sets up threads of its own."""

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache


@contextmanager
def one_core() -> Iterator[None]:
    """This thread stays on its core, so that FFmpeg starts no threads for filters set up here.

    It would start as many as there are cores, for each file anew, and wait for all of them at its
    end: with every core at work elsewhere that takes longer than to encode a few seconds.
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
    """Where this thread runs; None where systems do not say, or do not let one stay."""
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
