"""Matching: where a text holds n-grams of benchmarks."""

from collections import Counter
from dataclasses import dataclass

from curator_text.contamination.indexes import Gram, Index
from curator_text.contamination.wording import composed, spans_of, words_of


@dataclass(frozen=True)
class Match:
    """What of a text is benchmark text."""

    text: str
    """The text in the form that places are counted in."""
    words: int
    stretches: tuple[tuple[int, int], ...]
    """The first word of each stretch and the one behind it; no two touch."""
    grams: tuple[Gram, ...]
    benchmark: str
    """The one that most of the n-grams are of."""

    @property
    def share(self) -> float:
        """How much of the text is benchmark text, in words."""
        return sum(end - start for start, end in self.stretches) / self.words

    def spans(self) -> list[tuple[int, int]]:
        """The stretches in characters."""
        places = spans_of(self.text)
        return [(places[start][0], places[end - 1][1]) for start, end in self.stretches]


def match(text: str, index: Index, most_grams: int) -> Match | None:
    """What benchmarks have in common with a text, and some of the n-grams that tell."""
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
