"""Duplicates in a sample of texts: equal ones, and ones that share most runs of five words."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

_WORDS = re.compile(r"\w+")
_RUN, _SKETCH = 5, 64
_SIMILAR = 0.7
_LONGEST = 20_000
"""Characters of a text that are compared."""


@dataclass(frozen=True)
class Duplicates:
    """Texts of the sample that have an earlier copy."""

    texts: int
    exact: int
    near: int


def find_duplicates(texts: Sequence[str]) -> Duplicates:
    """Count texts that equal an earlier one, ignoring case and punctuation, or nearly do."""
    words = [_WORDS.findall(text[:_LONGEST].lower()) for text in texts]
    words = [found for found in words if found]
    seen: set[str] = set()
    different = []
    for found in words:
        joined = " ".join(found)
        if joined not in seen:
            seen.add(joined)
            different.append(found)
    return Duplicates(len(words), len(words) - len(different), _count_near(different))


def _count_near(texts: Sequence[Sequence[str]]) -> int:
    """Count texts similar to an earlier one: by the smallest hashes of their runs of words."""
    earlier: dict[int, list[int]] = defaultdict(list)
    sizes: list[int] = []
    found = 0
    for words in texts:
        sketch = _sketch(words)
        shared = Counter(text for value in sketch for text in earlier[value])
        found += any(
            count / (len(sketch) + sizes[text] - count) >= _SIMILAR
            for text, count in shared.items()
        )
        for value in sketch:
            earlier[value].append(len(sizes))
        sizes.append(len(sketch))
    return found


def _sketch(words: Sequence[str]) -> list[int]:
    runs = {
        crc32(" ".join(words[at : at + _RUN]).encode("utf-8", "replace"))
        for at in range(max(1, len(words) - _RUN + 1))
    }
    return sorted(runs)[:_SKETCH]
