"""Rules over repeated lines and paragraphs."""

from dataclasses import dataclass
from typing import ClassVar

from curator_text.filtering import TextFilter, share
from curator_text.texts import Text


@dataclass
class RepeatedLinesFilter(TextFilter):
    """Drops texts with too many repeated lines."""

    cost: ClassVar[float] = 8.0

    max_repeated_line_fraction: float = 0.7
    """Despite its name, the minimum ratio of different lines to all lines."""

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
    """Drops texts with too many repeated paragraphs."""

    cost: ClassVar[float] = 4.0

    max_repeated_paragraphs_ratio: float = 0.7
    """Despite its name, the minimum ratio of different paragraphs to all paragraphs."""

    @property
    def reason(self) -> str:
        return f"over {share(1 - self.max_repeated_paragraphs_ratio)} of paragraphs are repeated"

    def score(self, text: Text) -> float:
        return len(text.different_paragraphs) / len(text.paragraphs)

    def keeps(self, score: float) -> bool:
        return score >= self.max_repeated_paragraphs_ratio


@dataclass
class RepeatedLinesByCharFilter(TextFilter):
    """Drops texts with too many characters in repeated lines."""

    cost: ClassVar[float] = 8.0

    max_repeated_lines_char_ratio: float = 0.8
    """Despite its name, the minimum share of characters left if each line is kept once."""

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
    """Drops texts with too many characters in repeated paragraphs."""

    cost: ClassVar[float] = 4.0

    max_repeated_paragraphs_char_ratio: float = 0.8
    """Despite its name, the minimum share of characters left if each paragraph is kept once."""

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
