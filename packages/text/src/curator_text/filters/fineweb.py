"""The FineWeb rules on lines (Penedo et al. 2024)."""

from collections.abc import Sequence
from dataclasses import dataclass

from curator_text.character_classes import SENTENCE_ENDS
from curator_text.document_text import DocumentText
from curator_text.filters.base import WordRuleSet
from curator_text.filters.gopher import duplicates


@dataclass
class FineWebQualityFilter(WordRuleSet):
    """Drops texts that are mostly lists, short lines or repeated lines.

    Reasons: `line_punct_ratio`, `short_line_ratio`, `char_dup_ratio`, `list_ratio`; a blank text is
    `empty`. Blank lines do not count.
    """

    line_punct_thr: float = 0.12
    """Minimum share of lines that end with an end mark."""

    line_punct_exclude_zero: bool = False
    """Keep texts in which no line ends with an end mark."""

    stop_chars: Sequence[str] | None = None
    """The end marks; by default those of all scripts."""

    short_line_thr: float = 0.67
    """Maximum share of short lines."""

    short_line_length: int = 30
    """Maximum length of a short line, in characters."""

    char_duplicates_ratio: float = 0.01
    """Maximum share of characters in repeated lines, not counting their first occurrence."""

    new_line_ratio: float = 0.3
    """Maximum number of line breaks per word."""

    blank_reason = "empty"

    def __post_init__(self) -> None:
        self._ends = SENTENCE_ENDS if self.stop_chars is None else tuple(self.stop_chars)

    def broken_rule(self, text: DocumentText) -> str | None:
        lines = text.lines
        share = self._ending_well(lines) / len(lines)
        if share < self.line_punct_thr and (share or not self.line_punct_exclude_zero):
            return "line_punct_ratio"
        short = sum(len(line) <= self.short_line_length for line in lines)
        if short / len(lines) > self.short_line_thr:
            return "short_line_ratio"
        breaks = text.count("\n")
        if duplicates(lines)[1] / (len(text) - breaks) > self.char_duplicates_ratio:
            return "char_dup_ratio"
        return "list_ratio" if self._is_list(text, breaks) else None

    def _ending_well(self, lines: list[str]) -> int:
        ends = self._ends
        if isinstance(ends, frozenset):
            return sum(line[-1] in ends for line in lines)
        return sum(line.endswith(ends) for line in lines)

    def _is_list(self, text: DocumentText, breaks: int) -> bool:
        most = self.new_line_ratio
        if self.words == "whitespace" and most > 0:
            # More words than this cannot change the result.
            enough = int(breaks / most) + 2
            words = len(text.split(None, enough - 1))
        else:
            words = len(text.split_words(self.words).words)
        return breaks / words > most
