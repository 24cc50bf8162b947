"""Sharing: reuse one object for equal words or n-grams in texts of many megabytes.

Separate objects would take gigabytes.
"""

import re
from collections.abc import Hashable, Iterable
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

LARGE = 4_000_000
"""Share objects in texts with this many characters, or in lists with this many items."""

_PIECE = 1_000_000
_SPACE = re.compile(r"\s")


def words_of(text: str) -> list[str]:
    """Split a text at white space."""
    if len(text) < LARGE:
        return text.split()
    known: dict[str, str] = {}
    words: list[str] = []
    start = 0
    while start < len(text):
        space = _SPACE.search(text, start + _PIECE)
        end = space.start() if space else len(text)
        part = text[start:end].split()
        words += map(known.setdefault, part, part)
        start = end
    return words


def listed(items: Iterable[T], number: int) -> list[T]:
    """Return the items as a list; `number` is about how many there are."""
    if number < LARGE:
        return list(items)
    known: dict[T, T] = {}
    return [known.setdefault(one, one) for one in items]
