"""Matching: find the n-grams of benchmarks in a text."""

from collections import Counter
from dataclasses import dataclass

from curator_text.contamination.indexes import Gram, Index
from curator_text.contamination.wording import composed, spans_of, words_of


@dataclass(frozen=True)
class Match:
    """The benchmark text found in a document."""

    text: str
    """The normalized text, to which positions refer."""
    words: int
    stretches: tuple[tuple[int, int], ...]
    """First word of each stretch and the word after its last. Stretches never touch."""
    grams: tuple[Gram, ...]
    benchmark: str
    """The benchmark with the most matching n-grams."""

    @property
    def share(self) -> float:
        """Return the share of words that are benchmark text."""
        return sum(end - start for start, end in self.stretches) / self.words

    def spans(self) -> list[tuple[int, int]]:
        """Return the stretches as character ranges."""
        places = spans_of(self.text)
        return [(places[start][0], places[end - 1][1]) for start, end in self.stretches]


def match(text: str, index: Index, most_grams: int) -> Match | None:
    """Return what a text shares with benchmarks, with up to `most_grams` n-grams as evidence."""
    whole = composed(text)
    words = words_of(whole)
    if len(words) < index.size:
        return None
    found = list(index.found_in(words))
    if not found:
        return None
    stretches: list[tuple[int, int]] = []
    for start, end, _ in found:
        if stretches and start <= stretches[-1][1]:
            first, last = stretches[-1]
            stretches[-1] = (first, max(last, end))
        else:
            stretches.append((start, end))
    votes = Counter(index.benchmark_of(number) for _, _, number in found)
    grams = tuple(index.gram(number) for _, _, number in found[:most_grams])
    [(benchmark, _)] = votes.most_common(1)
    return Match(whole, len(words), tuple(stretches), grams, benchmark)
