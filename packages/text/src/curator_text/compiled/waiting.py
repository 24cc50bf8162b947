"""Waiting: nothing is compiled before there is enough to judge to be worth it.

Compiling takes about 12 CPU-seconds, once for each machine. A few thousand documents are done in
Python sooner; so a worker that finds nothing compiled goes on in Python until it has spent as long.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from curator_text.compiled.caching import mark_of
from curator_text.compiled.engines import VARIABLE
from curator_text.judging import Rule

PATIENCE_S = 10.0
"""For so much CPU time a process judges in Python before it compiles."""


class _Patience:
    """What this process has spent in Python, and for which rules it need wait no longer."""

    def __init__(self) -> None:
        self.spent_s = 0.0
        self.ready: set[frozenset[str]] = set()


_patience = _Patience()


def is_ready(rules: Sequence[Rule]) -> bool:
    """Whether the kernels of these rules are compiled, by now at the latest."""
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
    """Counts what is judged within as time that compiled rules might have saved."""
    started = time.process_time()
    try:
        yield
    finally:
        _patience.spent_s += time.process_time() - started


def _is_insisted() -> bool:
    return os.environ.get(VARIABLE) == "compiled"
