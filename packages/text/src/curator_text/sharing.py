"""Sharing: in a text of many megabytes equal words are one object, and so are equal runs of them.

Each alone, they would take gigabytes.
"""

import re
from collections.abc import Hashable, Iterable
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

LARGE = 4_000_000
"""Texts of so many characters, or rows of so many items, are worth the second look."""

_PIECE = 1_000_000
_SPACE = re.compile(r"\s")


def words_of(text: str) -> list[str]:
    """What white space separates."""
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
    """The items, of which there are about so many."""
    if number < LARGE:
        return list(items)
    known: dict[T, T] = {}
    return [known.setdefault(one, one) for one in items]
