"""Kernels agree with Python on the properties of every character."""

import sys

import pytest
from curator_text.character_classes import SYMBOLS, is_letter

pytest.importorskip("numba")

import numpy as np
from curator_text.compiled import lines, utf8

CHARACTERS = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]


def flagged(flag: int) -> set[str]:
    return {chr(code) for code in np.flatnonzero(utf8.character_flags() & flag)} - SURROGATES


SURROGATES = {chr(code) for code in range(0xD800, 0xE000)}


def test_character_flags_agree_with_python() -> None:
    assert flagged(utf8.SPACE) == set(filter(str.isspace, CHARACTERS))
    assert flagged(utf8.ALPHA) == set(filter(str.isalpha, CHARACTERS))
    assert flagged(utf8.LETTER) == set(filter(is_letter, CHARACTERS))
    assert flagged(utf8.DIGIT) == set(filter(str.isdecimal, CHARACTERS))
    assert flagged(utf8.SYMBOL) == set(SYMBOLS)
    assert flagged(utf8.HASH) == {"#"}


def test_white_space_and_line_breaks_agree_with_python() -> None:
    for character in CHARACTERS:
        encoded = f"{character}  ".encode()
        size = len(encoded) - 2
        if encoded[0] < 0x80 or encoded[0] in (0xC2, 0xE1, 0xE2, 0xE3):
            data = np.frombuffer(encoded, np.uint8)
            assert utf8.space_at(data, 0) == size * character.isspace(), ascii(character)
            breaks = len(f"a{character}b".splitlines()) == 2
            assert (lines.line_end(data, 0, size) == (0, size)) == breaks, ascii(character)
        else:
            assert not character.isspace()


def test_only_the_kelvin_sign_lowers_to_an_ascii_letter_of_phrases() -> None:
    """Except the dotted capital I, whose lower case has a combining dot that no phrase has."""
    others = [one for one in CHARACTERS if not one.isascii()]
    lowers = {one: one.lower() for one in others if any(c.isascii() for c in one.lower())}
    assert lowers == {"\u212a": "k", "\u0130": "i\u0307"}
