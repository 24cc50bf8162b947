"""Waiting: compile only after a process has judged enough text to make it worthwhile.

Compiling takes about 12 CPU-seconds, once per machine. Python judges a few thousand documents in
less time. So a worker that finds no compiled kernels stays in Python until it has spent about as
long.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from curator_text.compiled.caching import mark_of
from curator_text.compiled.engines import VARIABLE
from curator_text.judging import Rule

PATIENCE_S = 10.0
"""CPU time that a process spends judging in Python before it compiles."""


class _Patience:
    """The CPU time that this process spent in Python, and the rules whose kernels are ready."""

    def __init__(self) -> None:
        self.spent_s = 0.0
        self.ready: set[frozenset[str]] = set()


_patience = _Patience()


def is_ready(rules: Sequence[Rule]) -> bool:
    """Whether the kernels of these rules are ready; compiles or loads them when it is time."""
    names = frozenset(type(rule).__name__ for rule in rules)
    if names in _patience.ready:
        return True
    if not (_is_insisted() or mark_of(names).exists() or _patience.spent_s >= PATIENCE_S):
        return False
    from curator_text.compiled.warming import warm

    warm(rules)
    _patience.ready.add(names)
    return True


@contextmanager
def in_python() -> Iterator[None]:
    """Count the CPU time of this block as time that compiled rules might have saved."""
    started = time.process_time()
    try:
        yield
    finally:
        _patience.spent_s += time.process_time() - started


def _is_insisted() -> bool:
    return os.environ.get(VARIABLE) == "compiled"
