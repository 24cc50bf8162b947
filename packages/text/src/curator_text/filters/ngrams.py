"""Rules over word n-grams that a text repeats. They all share one search for n-grams."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from curator_text.filtering import WordFilter, share
from curator_text.repeating import Level
from curator_text.texts import Text
from curator_text.wording import Wording


@dataclass
class _NGramRule(WordFilter):
    n: int = 2
    """The number of words in an n-gram."""

    def __post_init__(self) -> None:
        if self.name == type(self).name:  # distinguishes rules with different lengths
            self.name = type(self).name.replace("_n_grams", f"_{self.n}_grams")

    def check(self) -> Iterable[str]:
        yield from super().check()
        if self.n < 1:
            yield f"n is {self.n}, but must be 1 or more"

    def score(self, text: Text) -> float:
        """Return the share of the text in such n-grams, or 1 if it has fewer than n words."""
        wording = self.wording(text)
        if len(wording.words) < self.n:
            return 1.0
        return self.in_runs(text, wording, wording.repeats.of(self.n))

    @abstractmethod
    def in_runs(self, text: Text, wording: Wording, runs: Level) -> float:
        """Return the share of characters that the rule counts, given the repeated n-grams."""


@dataclass
class RepeatingTopNGramsFilter(_NGramRule):
    """Drops texts of which the most frequent n-gram makes up too much.

    Ties go to the earliest n-gram.
    """

    cost: ClassVar[float] = 60.0

    max_repeating_ngram_ratio: float = 0.2
    """Maximum share of characters in occurrences of that n-gram. Usual: 0.2 for n = 2, 0.18 for 3,
    0.16 for 4."""

    @property
    def reason(self) -> str:
        most = share(self.max_repeating_ngram_ratio)
        return f"over {most} is one run of {self.n} words"

    def in_runs(self, text: Text, wording: Wording, runs: Level) -> float:
        start = runs.top or 0
        run = wording.words[start : start + self.n]
        if wording.spaced:
            said = " ".join(run)
            return text.count(said) * len(said) / len(text)
        # Such words may be adjacent without spaces, so use the count from the search.
        return min(1.0, runs.times * sum(map(len, run)) / len(text))

    def keeps(self, score: float) -> bool:
        return score <= self.max_repeating_ngram_ratio


@dataclass
class RepeatingDuplicateNGramsFilter(_NGramRule):
    """Drops texts with too many n-grams that repeat earlier ones."""

    cost: ClassVar[float] = 65.0

    max_repeating_duplicate_ngram_ratio: float = 0.2
    """Maximum share of characters in such n-grams; characters in overlaps count once. Usual: 0.15
    for n = 5, 0.14 for 6, 0.13 for 7, 0.12 for 8, 0.11 for 9, 0.1 for 10."""

    @property
    def reason(self) -> str:
        most = share(self.max_repeating_duplicate_ngram_ratio)
        return f"over {most} in repeated runs of {self.n} words"

    def in_runs(self, text: Text, wording: Wording, runs: Level) -> float:
        if not runs.positions:
            return 0.0
        n, lengths = self.n, wording.lengths
        characters, behind = 0, 0  # end of the words already counted
        for place, first in zip(runs.positions, runs.firsts, strict=True):
            if place == first:
                continue
            fresh = max(place, behind)
            behind = place + n
            characters += sum(lengths[fresh:behind])
            if wording.spaced:
                characters += min(behind - fresh, n - 1)
        return characters / len(text)

    def keeps(self, score: float) -> bool:
        return score <= self.max_repeating_duplicate_ngram_ratio
