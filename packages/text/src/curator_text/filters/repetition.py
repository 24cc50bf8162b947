"""Rules over repeated lines, paragraphs and word n-grams."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from curator_text.document_text import DocumentText, RepeatedNGrams, Words
from curator_text.filters.base import TextFilter, WordFilter, percent


@dataclass
class RepeatedLinesFilter(TextFilter):
    """Drops texts with too many repeated lines."""

    cost: ClassVar[float] = 8.0
    kernel: ClassVar[str | None] = "different_lines"

    max_repeated_line_fraction: float = 0.7
    """Despite its name, the minimum ratio of different lines to all lines."""

    @property
    def reason(self) -> str:
        return f"over {percent(1 - self.max_repeated_line_fraction)} of lines are repeated"

    def score(self, text: DocumentText) -> float:
        lines = text.lines
        return len(text.different_lines) / len(lines)

    def keeps(self, score: float) -> bool:
        return score >= self.max_repeated_line_fraction


@dataclass
class RepeatedParagraphsFilter(TextFilter):
    """Drops texts with too many repeated paragraphs."""

    cost: ClassVar[float] = 4.0
    kernel: ClassVar[str | None] = "different_paragraphs"

    max_repeated_paragraphs_ratio: float = 0.7
    """Despite its name, the minimum ratio of different paragraphs to all paragraphs."""

    @property
    def reason(self) -> str:
        return f"over {percent(1 - self.max_repeated_paragraphs_ratio)} of paragraphs are repeated"

    def score(self, text: DocumentText) -> float:
        return len(text.different_paragraphs) / len(text.paragraphs)

    def keeps(self, score: float) -> bool:
        return score >= self.max_repeated_paragraphs_ratio


@dataclass
class RepeatedLinesByCharFilter(TextFilter):
    """Drops texts with too many characters in repeated lines."""

    cost: ClassVar[float] = 8.0
    kernel: ClassVar[str | None] = "characters_in_different_lines"

    max_repeated_lines_char_ratio: float = 0.8
    """Despite its name, the minimum share of characters left if each line is kept once."""

    @property
    def reason(self) -> str:
        return f"over {percent(1 - self.max_repeated_lines_char_ratio)} in repeated lines"

    def score(self, text: DocumentText) -> float:
        lines, different = text.lines, text.different_lines
        if len(lines) == len(different):
            return 1.0
        return sum(map(len, different)) / sum(map(len, lines))

    def keeps(self, score: float) -> bool:
        return score >= self.max_repeated_lines_char_ratio


@dataclass
class RepeatedParagraphsByCharFilter(TextFilter):
    """Drops texts with too many characters in repeated paragraphs."""

    cost: ClassVar[float] = 4.0
    kernel: ClassVar[str | None] = "characters_in_different_paragraphs"

    max_repeated_paragraphs_char_ratio: float = 0.8
    """Despite its name, the minimum share of characters left if each paragraph is kept once."""

    @property
    def reason(self) -> str:
        return f"over {percent(1 - self.max_repeated_paragraphs_char_ratio)} in repeated paragraphs"

    def score(self, text: DocumentText) -> float:
        paragraphs, different = text.paragraphs, text.different_paragraphs
        if len(paragraphs) == len(different):
            return 1.0
        return sum(map(len, different)) / sum(map(len, paragraphs))

    def keeps(self, score: float) -> bool:
        return score >= self.max_repeated_paragraphs_char_ratio


@dataclass
class _NGramRule(WordFilter):
    n: int = 2
    """The number of words in an n-gram."""

    def __post_init__(self) -> None:
        if self.name == type(self).name:  # distinguishes rules with different lengths
            self.name = type(self).name.replace("_n_grams", f"_{self.n}_grams")

    def has_kernel(self) -> bool:
        return super().has_kernel() and self.n >= 1

    def check(self) -> Iterable[str]:
        yield from super().check()
        if self.n < 1:
            yield f"n is {self.n}, but must be 1 or more"

    def score(self, text: DocumentText) -> float:
        """Return the share of the text in such n-grams, or 1 if it has fewer than n words."""
        words = self.words_of(text)
        if len(words.words) < self.n:
            return 1.0
        return self.share_in(text, words, words.repeated_ngrams.of_length(self.n))

    @abstractmethod
    def share_in(self, text: DocumentText, words: Words, repeated: RepeatedNGrams) -> float:
        """Return the share of characters that the rule counts, given the repeated n-grams."""


@dataclass
class RepeatingTopNGramsFilter(_NGramRule):
    """Drops texts of which the most frequent n-gram makes up too much.

    Ties go to the earliest n-gram.
    """

    cost: ClassVar[float] = 60.0
    kernel: ClassVar[str | None] = "top_ngram"

    max_repeating_ngram_ratio: float = 0.2
    """Maximum share of characters in occurrences of that n-gram. Usual: 0.2 for n = 2, 0.18 for 3,
    0.16 for 4."""

    @property
    def reason(self) -> str:
        most = percent(self.max_repeating_ngram_ratio)
        return f"over {most} is one run of {self.n} words"

    def share_in(self, text: DocumentText, words: Words, repeated: RepeatedNGrams) -> float:
        start = repeated.top or 0
        run = words.words[start : start + self.n]
        if words.is_spaced:
            phrase = " ".join(run)
            return text.count(phrase) * len(phrase) / len(text)
        # Such words may be adjacent without spaces, so use the count from the search.
        return min(1.0, repeated.times * sum(map(len, run)) / len(text))

    def keeps(self, score: float) -> bool:
        return score <= self.max_repeating_ngram_ratio


@dataclass
class RepeatingDuplicateNGramsFilter(_NGramRule):
    """Drops texts with too many n-grams that repeat earlier ones."""

    cost: ClassVar[float] = 65.0
    kernel: ClassVar[str | None] = "repeated_ngrams"

    max_repeating_duplicate_ngram_ratio: float = 0.2
    """Maximum share of characters in such n-grams; characters in overlaps count once. Usual: 0.15
    for n = 5, 0.14 for 6, 0.13 for 7, 0.12 for 8, 0.11 for 9, 0.1 for 10."""

    @property
    def reason(self) -> str:
        most = percent(self.max_repeating_duplicate_ngram_ratio)
        return f"over {most} in repeated runs of {self.n} words"

    def share_in(self, text: DocumentText, words: Words, repeated: RepeatedNGrams) -> float:
        if not repeated.positions:
            return 0.0
        n, lengths = self.n, words.lengths
        characters, counted = 0, 0  # end of the words already counted
        for position, first in zip(repeated.positions, repeated.firsts, strict=True):
            if position == first:
                continue
            fresh = max(position, counted)
            counted = position + n
            characters += sum(lengths[fresh:counted])
            if words.is_spaced:
                characters += min(counted - fresh, n - 1)
        return characters / len(text)

    def keeps(self, score: float) -> bool:
        return score <= self.max_repeating_duplicate_ngram_ratio
