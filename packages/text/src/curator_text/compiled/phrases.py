"""Find phrases in text, in any letter case."""

from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from curator_text.compiled.kernels import Array, kernel, part
from curator_text.compiled.utf8 import count_bytes

FILLER, BOILERPLATE, PARAGRAPHS, UNSURE = range(4)
"""Whether there is `lorem ipsum`; paragraphs with boilerplate; paragraphs; whether Python must
decide."""
WIDTH = 4

_FIVE = 31
_FIFTEEN = 2**15 - 1


PhraseGroups: TypeAlias = tuple[tuple[str, ...], ...]
"""Phrases in lower-case ASCII; those of a group set the same bit."""


class Phrases(NamedTuple):
    """Phrases in lower-case ASCII, sorted by their first letter."""

    letters: Array
    sizes: Array
    firsts: Array
    """For each byte, the index of its first phrase; the next entry is the end."""
    bits: Array
    """The bit that each phrase sets."""
    ends: Array
    """For each three bytes, reduced to five bits each, whether a phrase may begin with them."""


@cache
def build_phrases(groups: PhraseGroups) -> Phrases:
    """Build the table: phrases of the first group set bit 0, of the second bit 1, and so on."""
    pairs = sorted((one.encode(), bit) for bit, group in enumerate(groups) for one in group)
    letters = np.zeros((len(pairs), max(len(one) for one, _ in pairs)), np.uint8)
    ends = np.zeros(_FIFTEEN + 1, np.bool_)
    for place, (one, _) in enumerate(pairs):
        letters[place, : len(one)] = np.frombuffer(one, np.uint8)
        ends[(one[0] & _FIVE) << 10 | (one[1] & _FIVE) << 5 | one[2] & _FIVE] = True
    heads = [one[0] for one, _ in pairs]
    firsts = np.searchsorted(heads, np.arange(257)).astype(np.int64)
    sizes = np.array([len(one) for one, _ in pairs], np.int64)
    bits = np.array([1 << bit for _, bit in pairs], np.int64)
    return Phrases(letters, sizes, firsts, bits, ends)


@part
def find_phrases(data: Array, start: int, end: int, phrases: Phrases) -> int:
    """Return the bits of all phrases in the span."""
    found = 0
    last = np.int64(0)
    for place in range(start, end):
        last = ((last << 5) | (np.int64(data[place]) & _FIVE)) & _FIFTEEN
        if phrases.ends[last] and place >= start + 2:
            found |= _phrases_at(data, place - 2, end, phrases)
    return found


@part
def _phrases_at(data: Array, place: int, end: int, phrases: Phrases) -> int:
    found = 0
    byte = _lower(data[place])
    for which in range(phrases.firsts[byte], phrases.firsts[byte + 1]):
        size = phrases.sizes[which]
        if place + size <= end and _matches(data, place, phrases.letters[which], size):
            found |= phrases.bits[which]
    return found


@part
def _lower(byte: int) -> Any:
    return np.int64(byte) + 32 if 65 <= byte <= 90 else np.int64(byte)


@part
def _matches(data: Array, place: int, letters: Array, size: int) -> bool:
    for step in range(1, size):
        if _lower(data[place + step]) != letters[step]:
            return False
    return True


@part
def has_kelvin(data: Array, start: int, end: int) -> bool:
    """Whether the text has a Kelvin sign, the only character besides K whose lower case is k."""
    if count_bytes(data, start, end, 0xE2) == 0:
        return False
    for place in range(start, end - 2):
        if data[place] == 0xE2 and data[place + 1] == 0x84 and data[place + 2] == 0xAA:
            return True
    return False


@kernel
def fill_boilerplate(
    data: Array, starts: Array, ends: Array, rows: Array, phrases: Phrases, out: Array
) -> None:
    for row in rows:
        start, end = starts[row], ends[row]
        out[row, UNSURE] = has_kelvin(data, start, end)
        while start <= end:
            stop = _paragraph_end(data, start, end)
            found = find_phrases(data, start, stop, phrases)
            out[row, FILLER] |= found & 1
            out[row, BOILERPLATE] += found >> 1
            out[row, PARAGRAPHS] += 1
            start = stop + 2


@part
def _paragraph_end(data: Array, place: int, end: int) -> int:
    """Return where the next empty line begins, or the end of the text."""
    while place + 1 < end:
        if data[place] == 10 and data[place + 1] == 10:
            return place
        place += 1
    return end
