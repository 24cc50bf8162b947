"""UTF-8: characters and their properties, white space and hashes in valid bytes."""

import unicodedata
from functools import cache
from typing import Any

import numpy as np

from curator_text.character_classes import SYMBOLS, is_letter
from curator_text.compiled.kernels import Array, part

SPACE, LETTER, ALPHA, SYMBOL, DIGIT, HASH = 1, 2, 4, 8, 16, 32
"""Flags: white space; letters (`is_letter`); `str.isalpha`; Gopher's symbols; characters
that `\\d` matches; `#`."""

POINTS = 0x40000
"""No rule needs the properties of code points from here on."""


@cache
def character_flags() -> Array:
    """Return one byte of flags per code point. Built once per process, in about 0.1 s."""
    table = np.zeros(POINTS, np.uint8)
    for point in range(POINTS):
        character = chr(point)
        if character.isalpha():
            table[point] = LETTER | ALPHA
        elif unicodedata.category(character) in _KINDS:
            table[point] = _flags_of(character)
    for flag, characters in ((SYMBOL, SYMBOLS), (HASH, "#")):
        table[[ord(character) for character in characters]] |= flag
    return table


_KINDS = frozenset({"Cc", "Nd", "Nl", "So", "Zl", "Zp", "Zs"})


def _flags_of(character: str) -> int:
    return (
        SPACE * character.isspace() | LETTER * is_letter(character) | DIGIT * character.isdecimal()
    )


_MIX = np.uint64(0x9E3779B97F4A7C15)
_AGAIN = np.uint64(0xBF58476D1CE4E5B9)
_32 = np.uint64(32)
_29 = np.uint64(29)
_8 = np.uint64(8)


@part
def point_at(data: Array, place: int) -> tuple[Any, int]:
    """Return the code point that begins here, and where the next one begins."""
    lead = np.int64(data[place])
    if lead < 0x80:
        return lead, place + 1
    second = np.int64(data[place + 1]) & 0x3F
    if lead < 0xE0:
        return ((lead & 0x1F) << 6) | second, place + 2
    third = np.int64(data[place + 2]) & 0x3F
    if lead < 0xF0:
        return ((lead & 0x0F) << 12) | (second << 6) | third, place + 3
    fourth = np.int64(data[place + 3]) & 0x3F
    return ((lead & 0x07) << 18) | (second << 12) | (third << 6) | fourth, place + 4


def _marked(members: bytes) -> Array:
    table = np.zeros(256, np.bool_)
    table[list(members)] = True
    return table


SPACES = _marked(bytes([*range(9, 14), *range(28, 33)]))
"""Bytes that are white space by themselves."""
MAYBE_SPACES = _marked(bytes([*range(9, 14), *range(28, 33), 0xC2, 0xE1, 0xE2, 0xE3]))
"""These bytes, and the first bytes of multi-byte white space."""


@part
def space_at(data: Array, place: int) -> int:
    """Return the length in bytes of the white space that begins here, or 0 if there is none."""
    lead = data[place]
    if lead < 0x80:
        return 1 if SPACES[lead] else 0
    if lead == 0xC2:
        return 2 if data[place + 1] == 0x85 or data[place + 1] == 0xA0 else 0
    if lead == 0xE2:
        return 3 if _wide_space(data[place + 1], data[place + 2]) else 0
    if lead == 0xE3:
        return 3 if data[place + 1] == 0x80 and data[place + 2] == 0x80 else 0
    if lead == 0xE1:
        return 3 if data[place + 1] == 0x9A and data[place + 2] == 0x80 else 0
    return 0


@part
def _wide_space(second: int, third: int) -> bool:
    if second == 0x80:
        return third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF
    return second == 0x81 and third == 0x9F


@part
def without_spaces(data: Array, start: int, end: int) -> tuple[int, int]:
    """Return the span without white space at both ends."""
    while start < end:
        width = space_at(data, start)
        if width == 0:
            break
        start += width
    while end > start:
        last = end - 1
        while data[last] & 0xC0 == 0x80:
            last -= 1
        if space_at(data, last) == 0:
            break
        end = last
    return start, end


@part
def characters_in(data: Array, start: int, end: int) -> int:
    found = 0
    for place in range(start, end):
        found += data[place] & 0xC0 != 0x80
    return found


@part
def count_bytes(data: Array, start: int, end: int, byte: int) -> int:
    found = 0
    for place in range(start, end):
        found += data[place] == byte
    return found


@part
def is_same(data: Array, one: int, other: int, size: int) -> bool:
    for step in range(size):
        if data[one + step] != data[other + step]:
            return False
    return True


@part
def hash_of(data: Array, start: int, end: int) -> np.uint64:
    """Return a hash for a first comparison: for equal hashes, callers compare the bytes."""
    made = np.uint64(end - start) * _MIX
    place = start
    if end - start < 8 and start + 8 <= len(data):  # reads the bytes after it too, and masks them
        kept = (np.uint64(1) << np.uint64(8 * (end - start))) - np.uint64(1)
        return mixed(made ^ (eight_bytes(data, start) & kept))
    while place + 8 <= end:
        made = mixed(made ^ eight_bytes(data, place))
        place += 8
    rest, shift = np.uint64(0), np.uint64(0)
    while place < end:
        rest |= np.uint64(data[place]) << shift
        shift += _8
        place += 1
    return mixed(made ^ rest)


@part
def eight_bytes(data: Array, place: int) -> np.uint64:
    found = np.uint64(0)
    first = np.uint64(place)  # unsigned, so that the loads are merged into one
    for step in range(8):
        found |= np.uint64(data[first + np.uint64(step)]) << np.uint64(8 * step)
    return found


@part
def mixed(value: np.uint64) -> np.uint64:
    value = (value ^ (value >> _32)) * _MIX
    value = (value ^ (value >> _29)) * _AGAIN
    return value ^ (value >> _32)


@part
def packed(data: Array, start: int, end: int) -> np.uint64:
    """Return up to seven bytes as one unique number."""
    found = np.uint64(1)  # a leading 1, so that leading NULs count
    for place in range(start, end):
        found = (found << _8) | np.uint64(data[place])
    return found
