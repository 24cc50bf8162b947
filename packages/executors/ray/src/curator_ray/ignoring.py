"""Ignoring warnings for a while, whatever other threads do meanwhile.

`warnings.catch_warnings` puts a copy of all filters in place, and the former ones back: what a
thread adds in between is lost. Libraries do that while they are imported: `requests` would then
warn of what it had just said is to be ignored.
"""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, cast

_NUMBERS = count()


@contextmanager
def ignoring_warnings(module: str = "") -> Iterator[None]:
    """Those of all modules, or of those whose names begin like this (a regular expression)."""
    alone = re.compile(f"(?#{next(_NUMBERS)})")  # any text; but like no other filter
    ours = ("ignore", alone, Warning, re.compile(module) if module else None, 0)
    filters = cast(list[Any], warnings.filters)
    filters.insert(0, ours)
    try:
        yield
    finally:
        # A thread may have put a copy in place, and bring these back later.
        for present in (filters, cast(list[Any], warnings.filters)):
            if ours in present:
                present.remove(ours)
