"""Subjects: what can be counted in texts, each by its own kernel."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from curator_text.compiled import blocks, characters, lines, phrases, runs, words
from curator_text.compiled.alphabets import alphabet
from curator_text.compiled.documents import Documents
from curator_text.compiled.kernels import Array
from curator_text.phrases import FILLER, NOTICES

Shape: TypeAlias = tuple[int, ...]

_NOTICES = phrases.phrases_of([[FILLER], NOTICES])


def _counts(
    fill: Callable[..., None], documents: Documents, rows: Array, shape: Shape, *options: Any
) -> Array:
    """Run a kernel on an array with a place for every row."""
    out = np.zeros((len(documents), *shape), np.int64)
    fill(documents.data, documents.starts, documents.ends, rows, *options, out)
    return out


@dataclass(frozen=True)
class Characters:
    def count(self, documents: Documents, rows: Array) -> Array:
        return _counts(characters.fill_characters, documents, rows, (characters.WIDTH,))


@dataclass(frozen=True)
class Words:
    stop_words: tuple[str, ...] = ()

    def count(self, documents: Documents, rows: Array) -> Array:
        tables = (alphabet(), words.packed_words(self.stop_words))
        return _counts(words.fill_words, documents, rows, (words.WIDTH,), tables)


@dataclass(frozen=True)
class NumberOfWords:
    """For rules that need only the number of words."""

    def count(self, documents: Documents, rows: Array) -> Array:
        return _counts(words.fill_number_of_words, documents, rows, (1,))


@dataclass(frozen=True)
class Lines:
    short: int = 0
    long: int = 0

    def count(self, documents: Documents, rows: Array) -> Array:
        options = (alphabet(), self.short, self.long)
        return _counts(lines.fill_lines, documents, rows, (lines.WIDTH,), options)


@dataclass(frozen=True)
class SplitLines:
    def count(self, documents: Documents, rows: Array) -> Array:
        return _counts(lines.fill_split_lines, documents, rows, (lines.WIDTH,))


@dataclass(frozen=True)
class Urls:
    def count(self, documents: Documents, rows: Array) -> Array:
        return _counts(phrases.fill_urls, documents, rows, (phrases.URL_WIDTH,))


@dataclass(frozen=True)
class Notices:
    def count(self, documents: Documents, rows: Array) -> Array:
        return _counts(phrases.fill_notices, documents, rows, (phrases.NOTICE_WIDTH,), _NOTICES)


@dataclass(frozen=True)
class Blocks:
    kind: int

    def count(self, documents: Documents, rows: Array) -> Array:
        return _counts(blocks.fill_blocks, documents, rows, (blocks.WIDTH,), self.kind)


@dataclass(frozen=True)
class Runs:
    """Runs of these lengths, in rising order; those in `counted` are also counted as strings."""

    lengths: tuple[int, ...]
    counted: tuple[int, ...] = ()

    def count(self, documents: Documents, rows: Array) -> Array:
        is_counted = np.array([length in self.counted for length in self.lengths], np.bool_)
        wanted = (np.array(self.lengths, np.int64), is_counted)
        return _counts(runs.fill_runs, documents, rows, (len(self.lengths), runs.WIDTH), wanted)
