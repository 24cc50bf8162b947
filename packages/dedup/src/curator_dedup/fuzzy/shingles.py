"""Shingles: hashes of all runs of a number of words, or characters, of a text."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from curator_dedup.hashing import STEP, U64Array, mixed

Codes: TypeAlias = npt.NDArray[np.uint32]

IGNORED, SPACE, DIGIT = 0, 32, 48
"""Codes of characters that are ignored, that separate words, and of any run of digits."""

ALONE = 1 << 31
"""Flag of characters that are words by themselves, in scripts without spaces between words."""

UNKNOWN = 0xFFFFFFFF
"""Code of characters not computed yet: the table is filled page by page, on demand."""

PAGE = 256
POINTS = 0x110000
_RAW = 1 << 21
"""Added to characters that are not normalized, so that none has one of the codes above."""

_NO_SPACES = (
    (0x0E00, 0x0F00), (0x1000, 0x10A0), (0x1780, 0x1800), (0x3040, 0x3100), (0x31F0, 0x3200),
    (0x3400, 0x4DC0), (0x4E00, 0xA000), (0xF900, 0xFB00), (0x1B000, 0x1B170), (0x20000, 0x32000),
)  # fmt: skip


class CharacterCodes:
    """A table of the codes of all characters, filled on demand."""

    def __init__(self, normalize: bool) -> None:
        self._normalize = normalize
        self.table: Codes = np.full(POINTS, UNKNOWN, np.uint32)
        self.fill(0)

    def fill(self, page: int) -> None:
        """Compute the codes of the 256 characters of a page."""
        start = page * PAGE
        code = _normalized if self._normalize else _unchanged
        self.table[start : start + PAGE] = [code(point) for point in range(start, start + PAGE)]

    def codes_of(self, points: npt.NDArray[Any]) -> Codes:
        codes: Codes = self.table[points]
        unknown = codes == UNKNOWN
        if unknown.any():
            for page in np.unique(points[unknown] // PAGE):
                self.fill(int(page))
            codes = self.table[points]
        return codes


@cache
def character_codes(normalize: bool) -> CharacterCodes:
    return CharacterCodes(normalize)


def _unchanged(point: int) -> int:
    return SPACE if chr(point).isspace() else _RAW + point + _alone_flag(point)


def _normalized(point: int) -> int:
    character = chr(point)
    kind = unicodedata.category(character)
    if character.isspace() or (kind[0] in "PSCZ" and kind != "Cf"):
        return SPACE
    if kind in ("Mn", "Cf"):
        return IGNORED
    if kind == "Nd":
        return DIGIT
    return _without_accents(character.lower()) + _alone_flag(point)


def _without_accents(lower: str) -> int:
    """Return the base letter without accents; keep a letter that decomposes into several."""
    parts = [c for c in unicodedata.normalize("NFKD", lower) if unicodedata.category(c) != "Mn"]
    if len(parts) != 1:
        return ord(lower[0])
    return DIGIT if unicodedata.category(parts[0]) == "Nd" else ord(parts[0])


def _alone_flag(point: int) -> int:
    return ALONE if any(start <= point < end for start, end in _NO_SPACES) else 0


Counts = npt.NDArray[np.int64]

BASE = np.uint64(0xD6E8FEB86659FD93)
BASE_INVERSE = np.uint64(pow(0xD6E8FEB86659FD93, -1, 1 << 64))

_CHARACTERS = 1 << 18
"""Approximate number of characters to process at a time."""


@dataclass(frozen=True)
class Shingling:
    """Defines a shingle: a number of words, or a number of characters."""

    words: int | None = 5
    characters: int | None = None
    normalize: bool = True

    def of(self, texts: Sequence[str]) -> tuple[U64Array, Counts]:
        """Return the shingles of all texts, concatenated, and the number of shingles of each."""
        if self.characters is not None:
            return self._of_characters(texts, self.characters)
        return self._of_words(texts, self.words or 1)

    def _of_words(self, texts: Sequence[str], number: int) -> tuple[U64Array, Counts]:
        counts = np.zeros(len(texts), np.int64)
        words = []
        for first, batch in _text_batches(texts):
            codes, ends = _codes(batch, self.normalize)
            hashes, in_batch = _words_of(codes, ends)
            counts[first : first + len(batch)] += in_batch
            words.append(hashes)
        return _runs(np.concatenate([*words, np.zeros(0, np.uint64)]), counts, number)

    def _of_characters(self, texts: Sequence[str], number: int) -> tuple[U64Array, Counts]:
        """Return shingles of texts with whitespace reduced to one space after each word."""
        counts = np.zeros(len(texts), np.int64)
        found = []
        for first, batch in _text_batches(texts, divided=False):
            codes, ends = _codes(batch, self.normalize)
            spaces = codes == SPACE
            kept = ~spaces
            kept[1:] |= ~spaces[:-1]  # one space after each word
            kept[0] = not spaces[0]
            in_batch = np.diff(np.cumsum(kept)[ends - 1], prepend=0)
            hashes, per_text = _runs_of_codes(codes[kept], in_batch, number)
            counts[first : first + len(batch)] = per_text
            found.append(hashes)
        return np.concatenate([*found, np.zeros(0, np.uint64)]), counts


def _text_batches(texts: Sequence[str], *, divided: bool = True) -> Iterator[tuple[int, list[str]]]:
    """Yield batches of texts with the number of the first; split a huge text between words."""
    batch: list[str] = []
    size = 0
    for number, text in enumerate(texts):
        if batch and size + len(text) > _CHARACTERS:
            yield number - len(batch), batch
            batch, size = [], 0
        start = 0
        while divided and len(text) - start > 4 * _CHARACTERS:
            border = _border(text, start)
            if border is None:
                break
            yield number, [text[start:border]]
            start = border
        batch.append(text[start:])
        size += len(text) - start
    if batch:
        yield len(texts) - len(batch), batch


def _border(text: str, start: int) -> int | None:
    """Return where a text may be split after `start`: at a space or a newline."""
    found = max(text.rfind(mark, start + 1, start + 2 * _CHARACTERS) for mark in " \n")
    return found if found > start else None


def _codes(texts: Sequence[str], normalize: bool) -> tuple[Codes, Counts]:
    """Return the codes of texts, each followed by a space, and where each text ends."""
    joined = "\n".join(texts) + "\n"
    points = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    codes = character_codes(normalize).codes_of(points)
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)) + 1)
    codes, ends = _only(codes != IGNORED, codes, ends)
    digits = codes == DIGIT
    repeated = np.zeros(len(codes), np.bool_)
    repeated[1:] = digits[1:] & digits[:-1]
    return _only(~repeated, codes, ends)


def _only(kept: npt.NDArray[np.bool_], codes: Codes, ends: Counts) -> tuple[Codes, Counts]:
    if kept.all():
        return codes, ends
    return codes[kept], np.cumsum(kept, dtype=np.int64)[ends - 1]


def _words_of(codes: Codes, ends: Counts) -> tuple[U64Array, Counts]:
    """Return a hash of each word, and the number of words of each text."""
    is_letter = codes != SPACE
    alone = codes >= ALONE
    breaks = ~is_letter[:-1]
    if alone.any():
        breaks = breaks | alone[1:] | alone[:-1]
        before_break = alone[:-1] | alone[1:] | ~is_letter[1:]
    else:
        before_break = ~is_letter[1:]
    begins = is_letter.copy()
    begins[1:] &= breaks
    stops = is_letter.copy()
    stops[:-1] &= before_break
    starts, lasts = np.flatnonzero(begins), np.flatnonzero(stops)
    sums = np.cumsum(codes * _powers(len(codes)))
    before = np.where(starts > 0, sums[starts - 1], np.uint64(0))
    hashes = mixed((sums[lasts] - before) * _inverses(len(codes))[starts])
    return hashes, np.diff(np.searchsorted(starts, ends), prepend=0)


def _runs(words: U64Array, counts: Counts, number: int) -> tuple[U64Array, Counts]:
    """Return hashes of `number` consecutive words; one of all words for a shorter text."""
    ends = np.cumsum(counts)
    starts = ends - counts
    several = np.maximum(counts - number + 1, np.minimum(counts, 1))
    firsts = np.repeat(starts - np.cumsum(several) + several, several) + np.arange(several.sum())
    limits = np.repeat(ends, several)
    padded = np.concatenate((words, np.zeros(number, np.uint64)))
    total = np.zeros(len(firsts), np.uint64)
    is_short = bool((counts < number).any())
    for place, factor in enumerate(run_factors(number)):
        values = padded[firsts + place]
        if is_short:
            values = np.where(firsts + place < limits, values, np.uint64(0))
        total += values * factor
    return mixed(total), several


def _runs_of_codes(codes: Codes, counts: Counts, number: int) -> tuple[U64Array, Counts]:
    """Return hashes of `number` consecutive characters; one of all for a shorter text."""
    ends = np.cumsum(counts)
    starts = ends - counts
    several = np.maximum(counts - number + 1, np.minimum(counts, 1))
    firsts = np.repeat(starts - np.cumsum(several) + several, several) + np.arange(several.sum())
    lasts = np.minimum(firsts + number, np.repeat(ends, several))
    plain = (codes & np.uint32(ALONE - 1)).astype(np.uint64)
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(plain * _powers(len(codes)))))
    return mixed((sums[lasts] - sums[firsts]) * _inverses(len(codes) + 1)[firsts]), several


@cache
def run_factors(number: int) -> list[np.uint64]:
    """Return a factor for each position in a run, so that the order of words matters."""
    return [np.uint64(one) for one in mixed(STEP * np.arange(1, number + 1, dtype="u8")) | 1]


_TABLES: dict[str, U64Array] = {}


def _powers(count: int) -> U64Array:
    return _grown("powers", BASE, count)


def _inverses(count: int) -> U64Array:
    return _grown("inverses", BASE_INVERSE, count)


def _grown(name: str, base: np.uint64, count: int) -> U64Array:
    """Return the powers 1, base, base squared …, cached and extended on demand."""
    known = _TABLES.get(name)
    if known is None or len(known) < count:
        factors = np.full(max(count, 2 * _CHARACTERS), base, np.uint64)
        factors[0] = 1
        known = _TABLES[name] = np.cumprod(factors, dtype=np.uint64)
    return known[:count]
