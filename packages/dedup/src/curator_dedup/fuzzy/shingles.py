"""Shingles: hashes of all runs of a number of words, or characters, of a text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from curator_dedup.fuzzy.letters import ALONE, DIGIT, NOTHING, SPACE, Codes, letters
from curator_dedup.mixing import STEP, Words, mixed

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

    def of(self, texts: Sequence[str]) -> tuple[Words, Counts]:
        """Return the shingles of all texts, concatenated, and the number of shingles of each."""
        if self.characters is not None:
            return self._of_characters(texts, self.characters)
        return self._of_words(texts, self.words or 1)

    def _of_words(self, texts: Sequence[str], number: int) -> tuple[Words, Counts]:
        counts = np.zeros(len(texts), np.int64)
        words = []
        for first, pieces in _pieces(texts):
            codes, ends = _codes(pieces, self.normalize)
            hashes, in_piece = _words_of(codes, ends)
            counts[first : first + len(pieces)] += in_piece
            words.append(hashes)
        return _runs(np.concatenate([*words, np.zeros(0, np.uint64)]), counts, number)

    def _of_characters(self, texts: Sequence[str], number: int) -> tuple[Words, Counts]:
        """Return shingles of texts with whitespace reduced to one space after each word."""
        counts = np.zeros(len(texts), np.int64)
        found = []
        for first, pieces in _pieces(texts, divided=False):
            codes, ends = _codes(pieces, self.normalize)
            spaces = codes == SPACE
            kept = ~spaces
            kept[1:] |= ~spaces[:-1]  # one space after each word
            kept[0] = not spaces[0]
            in_piece = np.diff(np.cumsum(kept)[ends - 1], prepend=0)
            hashes, per_text = _runs_of_codes(codes[kept], in_piece, number)
            counts[first : first + len(pieces)] = per_text
            found.append(hashes)
        return np.concatenate([*found, np.zeros(0, np.uint64)]), counts


def _pieces(texts: Sequence[str], *, divided: bool = True) -> Iterator[tuple[int, list[str]]]:
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
    codes = letters(normalize).of(points)
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)) + 1)
    codes, ends = _only(codes != NOTHING, codes, ends)
    digits = codes == DIGIT
    repeated = np.zeros(len(codes), np.bool_)
    repeated[1:] = digits[1:] & digits[:-1]
    return _only(~repeated, codes, ends)


def _only(kept: npt.NDArray[np.bool_], codes: Codes, ends: Counts) -> tuple[Codes, Counts]:
    if kept.all():
        return codes, ends
    return codes[kept], np.cumsum(kept, dtype=np.int64)[ends - 1]


def _words_of(codes: Codes, ends: Counts) -> tuple[Words, Counts]:
    """Return a hash of each word, and the number of words of each text."""
    letter = codes != SPACE
    alone = codes >= ALONE
    breaks = ~letter[:-1]
    if alone.any():
        breaks = breaks | alone[1:] | alone[:-1]
        before_break = alone[:-1] | alone[1:] | ~letter[1:]
    else:
        before_break = ~letter[1:]
    begins = letter.copy()
    begins[1:] &= breaks
    stops = letter.copy()
    stops[:-1] &= before_break
    starts, lasts = np.flatnonzero(begins), np.flatnonzero(stops)
    sums = np.cumsum(codes * _powers(len(codes)))
    before = np.where(starts > 0, sums[starts - 1], np.uint64(0))
    hashes = mixed((sums[lasts] - before) * _inverses(len(codes))[starts])
    return hashes, np.diff(np.searchsorted(starts, ends), prepend=0)


def _runs(words: Words, counts: Counts, number: int) -> tuple[Words, Counts]:
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


def _runs_of_codes(codes: Codes, counts: Counts, number: int) -> tuple[Words, Counts]:
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


_TABLES: dict[str, Words] = {}


def _powers(count: int) -> Words:
    return _grown("powers", BASE, count)


def _inverses(count: int) -> Words:
    return _grown("inverses", BASE_INVERSE, count)


def _grown(name: str, base: np.uint64, count: int) -> Words:
    """Return the powers 1, base, base squared …, cached and extended on demand."""
    known = _TABLES.get(name)
    if known is None or len(known) < count:
        factors = np.full(max(count, 2 * _CHARACTERS), base, np.uint64)
        factors[0] = 1
        known = _TABLES[name] = np.cumprod(factors, dtype=np.uint64)
    return known[:count]
