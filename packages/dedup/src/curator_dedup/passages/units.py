"""Units: the words, sentences, lines or characters of texts, with where each begins and ends."""

import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from curator_dedup.hashing import U64Array
from curator_dedup.passages.rolling_hash import hashes_of_stretches
from curator_dedup.passes.group import Indices, Mask

PassageUnit: TypeAlias = Literal["words", "characters", "sentences", "lines"]

_SPACE, _SYMBOL, _STOP, _WIDE_STOP, _CLOSER, _BREAK = (1 << bit for bit in range(6))
_OTHERS = 0x10000
"""Table index of all characters beyond the first 65,536, none of which is special."""

_STOPS = ".!?\u2026"
_WIDE_STOPS = "\u3002\uff01\uff1f"
_CLOSERS = "\"'\u201d\u2019\xbb)]"


@dataclass(frozen=True)
class Units:
    """Units of several concatenated texts: character positions, and the text each belongs to."""

    starts: Indices
    ends: Indices
    texts: Indices
    hashes: U64Array
    edges: Indices
    """Where each text begins, and where the last one ends."""

    @property
    def numbers(self) -> Indices:
        """The index of each unit within its text."""
        firsts = np.searchsorted(self.texts, np.arange(len(self.edges) - 1))
        return np.asarray(np.arange(len(self.texts)) - firsts[self.texts])


def find_units(texts: Sequence[str | None], unit: PassageUnit, *, normalize: bool) -> Units:
    """Return the units of texts; with `normalize`, ignore case, spaces, punctuation and symbols.

    Text that consists only of ignored characters is not a unit; neither is whitespace.
    """
    lengths = np.fromiter((len(text or "") for text in texts), np.int64, len(texts))
    edges = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    points = _points("".join(text for text in texts if text))
    kinds = _character_kinds()[np.minimum(points, _OTHERS)]
    is_visible = (kinds & _SPACE) == 0
    begins = _begins(points, kinds, unit)
    begins[edges[:-1][lengths > 0]] = True
    has_spaces = unit in ("sentences", "lines")
    starts, ends = (
        _with_spaces(is_visible, begins) if has_spaces else _without_spaces(is_visible, begins)
    )
    if normalize:
        starts, ends, hashes = _normalized(points, kinds, starts, ends)
    else:
        hashes = hashes_of_stretches(points, starts, ends)
    counts = np.diff(np.searchsorted(starts, edges))
    owners = np.repeat(np.arange(len(texts)), counts)
    return Units(starts, ends, owners, hashes, edges)


def _without_spaces(is_visible: Mask, begins: Mask) -> tuple[Indices, Indices]:
    last = np.ones(len(is_visible), np.bool_)
    last[:-1] = begins[1:] | ~is_visible[1:]
    return np.flatnonzero(is_visible & begins), np.flatnonzero(is_visible & last) + 1


def _with_spaces(is_visible: Mask, begins: Mask) -> tuple[Indices, Indices]:
    """Return the first and last non-space character between each beginning and the next."""
    places = np.flatnonzero(is_visible)
    stretches = np.cumsum(begins, dtype=np.int32)[places]
    first = np.ones(len(places) + 1, np.bool_)
    first[1:-1] = stretches[1:] != stretches[:-1]
    return places[first[:-1]], places[first[1:]] + 1


def _normalized(
    points: npt.NDArray[np.uint32],
    kinds: npt.NDArray[np.uint8],
    starts: Indices,
    ends: Indices,
) -> tuple[Indices, Indices, U64Array]:
    """Keep units with more than spaces, punctuation and symbols; hash their other characters."""
    counts = (kinds & (_SYMBOL | _SPACE)) == 0
    places = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    has_letters = places[starts] < places[ends]
    starts, ends = starts[has_letters], ends[has_letters]
    hashes = hashes_of_stretches(_lowered(points[counts]), places[starts], places[ends])
    return starts, ends, hashes


def _points(text: str) -> npt.NDArray[np.uint32]:
    coding = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"
    return np.frombuffer(text.encode(coding, "surrogatepass"), np.uint32)


def _begins(
    points: npt.NDArray[np.uint32], kinds: npt.NDArray[np.uint8], unit: PassageUnit
) -> Mask:
    """Return where a unit may begin: after the end of the previous one."""
    if unit == "characters":
        return np.ones(len(points), np.bool_)
    begins = np.zeros(len(points), np.bool_)
    if unit == "words":
        begins[1:] = (kinds[:-1] & _SPACE) != 0
        return begins
    begins[1:] = (kinds[:-1] & _BREAK) != 0
    if unit == "sentences":
        ends = (kinds & _STOP) != 0
        for _ in range(2):  # up to two quotation marks or brackets may follow
            ends[1:] |= ends[:-1] & ((kinds[1:] & _CLOSER) != 0)
        begins[1:] |= ends[:-1] & ((kinds[1:] & _SPACE) != 0)
        begins[1:] |= (kinds[:-1] & _WIDE_STOP) != 0
    return begins


@cache
def _character_kinds() -> npt.NDArray[np.uint8]:
    table = np.zeros(_OTHERS + 1, np.uint8)
    for point in range(_OTHERS):
        letter = chr(point)
        if letter.isspace():
            table[point] |= _SPACE
        elif unicodedata.category(letter)[0] in "PSZC":
            table[point] |= _SYMBOL
    marks: dict[int, str] = {
        _STOP: _STOPS, _WIDE_STOP: _WIDE_STOPS, _CLOSER: _CLOSERS, _BREAK: "\n\r\u2028\u2029"
    }  # fmt: skip
    for kind, letters in marks.items():
        for letter in letters:
            table[ord(letter)] |= kind
    return table


def _lowered(points: npt.NDArray[np.uint32]) -> npt.NDArray[Any]:
    return np.where(points < _OTHERS, _lowercase()[np.minimum(points, _OTHERS - 1)], points)


@cache
def _lowercase() -> npt.NDArray[np.uint32]:
    """Return lowercase letters, where the lowercase form is a single character."""
    small = (chr(point).lower() for point in range(_OTHERS))
    return np.array(
        [ord(one) if len(one) == 1 else point for point, one in enumerate(small)], np.uint32
    )
