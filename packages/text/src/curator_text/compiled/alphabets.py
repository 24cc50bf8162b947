"""Alphabets: Python's properties of each code point, as a table for kernels."""

import unicodedata
from functools import cache

import numpy as np

from curator_text.compiled.kernels import Array
from curator_text.filters.words import is_letter
from curator_text.sets.marks import SENTENCE_ENDS, SYMBOLS

SPACE, LETTER, ALPHA, SYMBOL, END, DIGIT, HASH = 1, 2, 4, 8, 16, 32, 64
"""Flags: white space; letters (`is_letter`); `str.isalpha`; Gopher's symbols; sentence ends;
characters that `\\d` matches; `#`."""

POINTS = 0x40000
"""No rule needs the properties of code points from here on."""


@cache
def alphabet() -> Array:
    """Return one byte of flags per code point. Built once per process, in about 0.1 s."""
    table = np.zeros(POINTS, np.uint8)
    for point in range(POINTS):
        character = chr(point)
        if character.isalpha():
            table[point] = LETTER | ALPHA
        elif unicodedata.category(character) in _KINDS:
            table[point] = _flags_of(character)
    for flag, characters in ((SYMBOL, SYMBOLS), (END, SENTENCE_ENDS), (HASH, "#")):
        table[[ord(character) for character in characters]] |= flag
    return table


_KINDS = frozenset({"Cc", "Nd", "Nl", "So", "Zl", "Zp", "Zs"})


def _flags_of(character: str) -> int:
    return (
        SPACE * character.isspace() | LETTER * is_letter(character) | DIGIT * character.isdecimal()
    )
