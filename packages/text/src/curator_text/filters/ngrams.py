"""Rules over runs of words that a text repeats. All of them share one search for such runs."""

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
    """How many words make a run."""

    def __post_init__(self) -> None:
        if self.name == type(self).name:  # or those of several lengths would bear one name
            self.name = type(self).name.replace("_n_grams", f"_{self.n}_grams")

    def check(self) -> Iterable[str]:
        yield from super().check()
        if self.n < 1:
            yield f"n is {self.n}, but must be 1 or more"

    def score(self, text: Text) -> float:
        """How much of the text is in such runs; 1 where it has too few words for a single one."""
        wording = self.wording(text)
        if len(wording.words) < self.n:
            return 1.0
        return self.in_runs(text, wording, wording.repeats.of(self.n))

    @abstractmethod
    def in_runs(self, text: Text, wording: Wording, runs: Level) -> float:
        """The share of characters that the rule counts, given the runs that repeat."""


@dataclass
class RepeatingTopNGramsFilter(_NGramRule):
    """Drops texts of which the commonest run of n words makes up too much.

    Among runs that are equally common, the one that comes first counts.
    """

    cost: ClassVar[float] = 60.0

    max_repeating_ngram_ratio: float = 0.2
    """The largest share of characters in occurrences of that run. Usual: 0.2 for n = 2, 0.18 for
    3, 0.16 for 4."""

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
        # Such words may stand side by side, so they are counted where they were found.
        return min(1.0, runs.times * sum(map(len, run)) / len(text))

    def keeps(self, score: float) -> bool:
        return score <= self.max_repeating_ngram_ratio


@dataclass
class RepeatingDuplicateNGramsFilter(_NGramRule):
    """Drops texts of which too much is in runs of n words that stood in it before."""

    cost: ClassVar[float] = 65.0

    max_repeating_duplicate_ngram_ratio: float = 0.2
    """The largest share of characters in such runs, each counted once, where they overlap too.
    Usual: 0.15 for n = 5, 0.14 for 6, 0.13 for 7, 0.12 for 8, 0.11 for 9, 0.1 for 10."""

    @property
    def reason(self) -> str:
        most = share(self.max_repeating_duplicate_ngram_ratio)
        return f"over {most} in repeated runs of {self.n} words"

    def in_runs(self, text: Text, wording: Wording, runs: Level) -> float:
        if not runs.positions:
            return 0.0
        n, lengths = self.n, wording.lengths
        characters, behind = 0, 0  # where what is counted already ends
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
