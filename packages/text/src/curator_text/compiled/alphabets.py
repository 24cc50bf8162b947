"""Alphabets: what Python says of each code point, as a table that kernels read."""

import unicodedata
from functools import cache

import numpy as np

from curator_text.compiled.kernels import Array
from curator_text.filters.words import is_letter
from curator_text.sets.marks import SENTENCE_ENDS, SYMBOLS

SPACE, LETTER, ALPHA, SYMBOL, END, DIGIT, HASH = 1, 2, 4, 8, 16, 32, 64
"""White space; what has a letter in it; `str.isalpha`; Gopher's marks; sentence ends; what `\\d`
finds; `#`."""

POINTS = 0x40000
"""Above these there is nothing that any rule asks for."""


@cache
def alphabet() -> Array:
    """A byte of flags for each code point. Made once in a process, in about 0.1 s."""
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
