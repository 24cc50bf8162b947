"""Phrases and URLs: find them in text; phrases match in any letter case."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from curator_text.compiled.kernels import Array, kernel, part
from curator_text.compiled.utf8 import count_bytes

URL_LETTERS, OBSCENE = range(2)
"""Counts: characters in URLs; whether a URL contains `porn`."""
URL_WIDTH = 2

FILLER, NOTICES, PARTS, UNSURE = range(4)
"""Whether there is `lorem ipsum`; paragraphs with a notice; paragraphs; whether Python must
decide."""
NOTICE_WIDTH = 4


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


_FIVE = 31
_FIFTEEN = 2**15 - 1


def phrases_of(groups: Sequence[Sequence[str]]) -> Phrases:
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
def said_in(data: Array, start: int, end: int, phrases: Phrases) -> int:
    """Return the bits of all phrases in the span."""
    found = 0
    last = np.int64(0)
    for place in range(start, end):
        last = ((last << 5) | (np.int64(data[place]) & _FIVE)) & _FIFTEEN
        if phrases.ends[last] and place >= start + 2:
            found |= _said_at(data, place - 2, end, phrases)
    return found


@part
def _said_at(data: Array, place: int, end: int, phrases: Phrases) -> int:
    found = 0
    byte = _small(data[place])
    for which in range(phrases.firsts[byte], phrases.firsts[byte + 1]):
        size = phrases.sizes[which]
        if place + size <= end and _says(data, place, phrases.letters[which], size):
            found |= phrases.bits[which]
    return found


@part
def _small(byte: int) -> Any:
    return np.int64(byte) + 32 if 65 <= byte <= 90 else np.int64(byte)


@part
def _says(data: Array, place: int, letters: Array, size: int) -> bool:
    for step in range(1, size):
        if _small(data[place + step]) != letters[step]:
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
def fill_notices(
    data: Array, starts: Array, ends: Array, rows: Array, phrases: Phrases, out: Array
) -> None:
    for row in rows:
        start, end = starts[row], ends[row]
        out[row, UNSURE] = has_kelvin(data, start, end)
        while start <= end:
            stop = _paragraph_end(data, start, end)
            said = said_in(data, start, stop, phrases)
            out[row, FILLER] |= said & 1
            out[row, NOTICES] += said >> 1
            out[row, PARTS] += 1
            start = stop + 2


@part
def _paragraph_end(data: Array, place: int, end: int) -> int:
    """Return where the next empty line begins, or the end of the text."""
    while place + 1 < end:
        if data[place] == 10 and data[place + 1] == 10:
            return place
        place += 1
    return end


_WEB = np.zeros(256, np.uint8)
_WEB[list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789$-_@.&+/:=?#~!*(),")] = 1
_HEX = np.zeros(256, np.uint8)
_HEX[list(b"0123456789ABCDEFabcdef")] = 1


@kernel
def fill_urls(data: Array, starts: Array, ends: Array, rows: Array, out: Array) -> None:
    for row in rows:
        place, end = starts[row], ends[row]
        while place < end:
            begin = _head_end(data, place, end) if data[place] == 104 else place
            stop = _url_end(data, begin, end) if begin > place else place
            if stop == begin:
                place += 1
                continue
            out[row, URL_LETTERS] += stop - place
            out[row, OBSCENE] |= _is_obscene(data, begin, stop)
            place = stop


@part
def _head_end(data: Array, place: int, end: int) -> Any:
    """Return the end of `http://` or `https://`, or `place` if neither begins here."""
    if place + 7 >= end or not (
        data[place + 1] == 116 and data[place + 2] == 116 and data[place + 3] == 112
    ):
        return place
    colon = place + 4 + (data[place + 4] == 115)
    if colon + 3 <= end and data[colon] == 58 and data[colon + 1] == 47 and data[colon + 2] == 47:
        return colon + 3
    return place


@part
def _url_end(data: Array, place: int, end: int) -> int:
    while place < end:
        if _WEB[data[place]]:
            place += 1
        elif (
            data[place] == 37
            and place + 2 < end
            and _HEX[data[place + 1]]
            and _HEX[data[place + 2]]
        ):
            place += 3
        else:
            break
    return place


@part
def _is_obscene(data: Array, start: int, end: int) -> bool:
    for place in range(start, end - 3):
        if (
            data[place] == 112
            and data[place + 1] == 111
            and data[place + 2] == 114
            and data[place + 3] == 110
        ):
            return True
    return False
