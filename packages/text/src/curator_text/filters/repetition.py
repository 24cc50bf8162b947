"""Rules over what a text says more than once."""

from dataclasses import dataclass
from typing import ClassVar

from curator_text.filtering import TextFilter, share
from curator_text.texts import Text


@dataclass
class RepeatedLinesFilter(TextFilter):
    """Drops texts that would lose too many of their lines if each were kept once."""

    cost: ClassVar[float] = 8.0

    max_repeated_line_fraction: float = 0.7
    """Against its name: the least number of different lines for each line."""

    @property
    def reason(self) -> str:
        return f"over {share(1 - self.max_repeated_line_fraction)} of lines are repeated"

    def score(self, text: Text) -> float:
        lines = text.lines
        return len(text.different_lines) / len(lines)

    def keeps(self, score: float) -> bool:
        return score >= self.max_repeated_line_fraction


@dataclass
class RepeatedParagraphsFilter(TextFilter):
    """Drops texts that would lose too many of their paragraphs if each were kept once."""

    cost: ClassVar[float] = 4.0

    max_repeated_paragraphs_ratio: float = 0.7
    """Against its name: the least number of different paragraphs for each paragraph."""

    @property
    def reason(self) -> str:
        return f"over {share(1 - self.max_repeated_paragraphs_ratio)} of paragraphs are repeated"

    def score(self, text: Text) -> float:
        return len(text.different_paragraphs) / len(text.paragraphs)

    def keeps(self, score: float) -> bool:
        return score >= self.max_repeated_paragraphs_ratio


@dataclass
class RepeatedLinesByCharFilter(TextFilter):
    """Drops texts that would lose too many characters if each line were kept once."""

    cost: ClassVar[float] = 8.0

    max_repeated_lines_char_ratio: float = 0.8
    """Against its name: the least share of characters in lines that are left."""

    @property
    def reason(self) -> str:
        return f"over {share(1 - self.max_repeated_lines_char_ratio)} in repeated lines"

    def score(self, text: Text) -> float:
        lines, different = text.lines, text.different_lines
        if len(lines) == len(different):
            return 1.0
        return sum(map(len, different)) / sum(map(len, lines))

    def keeps(self, score: float) -> bool:
        return score >= self.max_repeated_lines_char_ratio


@dataclass
class RepeatedParagraphsByCharFilter(TextFilter):
    """Drops texts that would lose too many characters if each paragraph were kept once."""

    cost: ClassVar[float] = 4.0

    max_repeated_paragraphs_char_ratio: float = 0.8
    """Against its name: the least share of characters in paragraphs that are left."""

    @property
    def reason(self) -> str:
        return f"over {share(1 - self.max_repeated_paragraphs_char_ratio)} in repeated paragraphs"

    def score(self, text: Text) -> float:
        paragraphs, different = text.paragraphs, text.different_paragraphs
        if len(paragraphs) == len(different):
            return 1.0
        return sum(map(len, different)) / sum(map(len, paragraphs))

    def keeps(self, score: float) -> bool:
        return score >= self.max_repeated_paragraphs_char_ratio
