"""Subjects: what can be counted in texts, each by a kernel of its own."""

from dataclasses import dataclass

import numpy as np

from curator_text.compiled import blocks, characters, lines, phrases, runs, words
from curator_text.compiled.alphabets import alphabet
from curator_text.compiled.documents import Documents
from curator_text.compiled.kernels import Array
from curator_text.phrases import FILLER, NOTICES

_NOTICES = phrases.phrases_of([[FILLER], NOTICES])


def _zeros(documents: Documents, *shape: int) -> Array:
    return np.zeros((len(documents), *shape), np.int64)


@dataclass(frozen=True)
class Characters:
    def count(self, documents: Documents, rows: Array) -> Array:
        out = _zeros(documents, characters.WIDTH)
        characters.fill_characters(documents.data, documents.starts, documents.ends, rows, out)
        return out


@dataclass(frozen=True)
class Words:
    stop_words: tuple[str, ...] = ()

    def count(self, documents: Documents, rows: Array) -> Array:
        out = _zeros(documents, words.WIDTH)
        tables = (alphabet(), words.packed_words(self.stop_words))
        words.fill_words(documents.data, documents.starts, documents.ends, rows, tables, out)
        return out


@dataclass(frozen=True)
class NumberOfWords:
    """For rules that ask for nothing else about them."""

    def count(self, documents: Documents, rows: Array) -> Array:
        out = _zeros(documents, 1)
        words.fill_number_of_words(documents.data, documents.starts, documents.ends, rows, out)
        return out


@dataclass(frozen=True)
class Lines:
    short: int = 0
    long: int = 0

    def count(self, documents: Documents, rows: Array) -> Array:
        out = _zeros(documents, lines.WIDTH)
        options = (alphabet(), self.short, self.long)
        lines.fill_lines(documents.data, documents.starts, documents.ends, rows, options, out)
        return out


@dataclass(frozen=True)
class SplitLines:
    def count(self, documents: Documents, rows: Array) -> Array:
        out = _zeros(documents, lines.WIDTH)
        lines.fill_split_lines(documents.data, documents.starts, documents.ends, rows, out)
        return out


@dataclass(frozen=True)
class Urls:
    def count(self, documents: Documents, rows: Array) -> Array:
        out = _zeros(documents, phrases.URL_WIDTH)
        phrases.fill_urls(documents.data, documents.starts, documents.ends, rows, out)
        return out


@dataclass(frozen=True)
class Notices:
    def count(self, documents: Documents, rows: Array) -> Array:
        out = _zeros(documents, phrases.NOTICE_WIDTH)
        phrases.fill_notices(documents.data, documents.starts, documents.ends, rows, _NOTICES, out)
        return out


@dataclass(frozen=True)
class Blocks:
    kind: int

    def count(self, documents: Documents, rows: Array) -> Array:
        out = _zeros(documents, blocks.WIDTH)
        blocks.fill_blocks(documents.data, documents.starts, documents.ends, rows, self.kind, out)
        return out


@dataclass(frozen=True)
class Runs:
    """Runs of these lengths, in rising order; those in `counted` also as strings."""

    lengths: tuple[int, ...]
    counted: tuple[int, ...] = ()

    def count(self, documents: Documents, rows: Array) -> Array:
        out = _zeros(documents, len(self.lengths), runs.WIDTH)
        is_counted = np.array([length in self.counted for length in self.lengths], np.bool_)
        wanted = (np.array(self.lengths, np.int64), is_counted)
        runs.fill_runs(documents.data, documents.starts, documents.ends, rows, wanted, out)
        return out
