"""Word lists: language data read from text files."""

import gzip
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from curator_core.errors import InputError


@dataclass(frozen=True)
class Unigrams:
    """The logarithm of each word's share of all words."""

    logs: Mapping[str, float]

    @classmethod
    def of_counts(cls, counts: Mapping[str, float]) -> "Unigrams":
        total = sum(counts.values())
        return cls({word: math.log(count / total) for word, count in counts.items() if count > 0})


def lines_of(path: str) -> list[str]:
    """Return the lines of a text file, which may be compressed with gzip."""
    try:
        data = Path(path).read_bytes()
        if path.endswith(".gz"):
            data = gzip.decompress(data)
        return data.decode("utf-8-sig").splitlines()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error


@lru_cache(maxsize=8)
def unigrams_in(path: str) -> Unigrams:
    """Read a table with `word<tab or comma>count` on each line; a header line is allowed."""
    counts: dict[str, float] = {}
    for number, line in enumerate(lines_of(path), start=1):
        word, _, count = line.rpartition("\t" if "\t" in line else ",")
        try:
            counts[word.strip().strip('"').lower()] = float(count)
        except ValueError:
            if number > 1 and line.strip():
                raise InputError(
                    f"{path}, line {number}: {line[:80]!r} is not a word and its count "
                    "separated by a tab or a comma"
                ) from None
    if sum(counts.values()) <= 0:
        raise InputError(f"{path} has no words with counts")
    return Unigrams.of_counts(counts)


@lru_cache(maxsize=32)
def characters_in(path: str, end: str) -> frozenset[str]:
    """Return the first character of each line, up to the line that begins with `end`."""
    found = set()
    for line in lines_of(path):
        if line.startswith(end):
            break
        found.add(line[:1])
    return frozenset(found - {""})
