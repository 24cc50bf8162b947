"""Rules over the characters of a text."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias, get_args

from curator_text.document_text import DocumentText
from curator_text.filters.base import TextFilter, percent
from curator_text.word_lists import characters_in

_DIGITS = b"0123456789"
_PLAIN = _DIGITS + b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz\n?!,."
_SPACES = b"\t\n\r\b "
_BRACKETS = b"{}[]()"
_ANGLES = "\u27e8\u27e9"


@dataclass
class NonAlphaNumericFilter(TextFilter):
    """Drops texts with too few letters and digits.

    For English: only a to z count as letters. Spaces count against a text, so ordinary prose scores
    about 0.17.
    """

    cost: ClassVar[float] = 5.0
    kernel: ClassVar[str | None] = "non_alpha_numeric"

    max_non_alpha_numeric_to_text_ratio: float = 0.25
    """Maximum share of characters other than a-z, A-Z, 0-9, line breaks and `? ! , .`."""

    @property
    def reason(self) -> str:
        return f"over {percent(self.max_non_alpha_numeric_to_text_ratio)} symbols and spaces"

    def score(self, text: DocumentText) -> float:
        characters = len(text)
        return (characters - text.count_ascii(_PLAIN)) / characters

    def keeps(self, score: float) -> bool:
        return score <= self.max_non_alpha_numeric_to_text_ratio


@dataclass
class NumbersFilter(TextFilter):
    """Drops texts with too many digits: price lists, tables, logs."""

    cost: ClassVar[float] = 4.0
    kernel: ClassVar[str | None] = "digits"

    max_number_to_text_ratio: float = 0.15
    """Maximum share of the digits 0 to 9 among the characters."""

    @property
    def reason(self) -> str:
        return f"over {percent(self.max_number_to_text_ratio)} digits"

    def score(self, text: DocumentText) -> float:
        return text.count_ascii(_DIGITS) / len(text)

    def keeps(self, score: float) -> bool:
        return score <= self.max_number_to_text_ratio


@dataclass
class WhiteSpaceFilter(TextFilter):
    """Drops texts with too much white space: tables and drawings in plain text."""

    cost: ClassVar[float] = 4.0
    kernel: ClassVar[str | None] = "white_space"

    max_white_space_ratio: float = 0.25
    """Maximum share of spaces, tabs, line ends and backspaces."""

    @property
    def reason(self) -> str:
        return f"over {percent(self.max_white_space_ratio)} white space"

    def score(self, text: DocumentText) -> float:
        return text.count_ascii(_SPACES) / len(text)

    def keeps(self, score: float) -> bool:
        return score <= self.max_white_space_ratio


@dataclass
class ParenthesesFilter(TextFilter):
    """Drops texts with too many brackets: code, formulas, lists of references."""

    cost: ClassVar[float] = 5.0
    kernel: ClassVar[str | None] = "brackets"

    max_parentheses_ratio: float = 0.1
    """Maximum share of round, square, curly and mathematical angle brackets."""

    @property
    def reason(self) -> str:
        return f"over {percent(self.max_parentheses_ratio)} brackets"

    def score(self, text: DocumentText) -> float:
        found = text.count_ascii(_BRACKETS)
        if not text.isascii():
            found += sum(map(text.count, _ANGLES))
        return found / len(text)

    def keeps(self, score: float) -> bool:
        return score <= self.max_parentheses_ratio


@dataclass
class HistogramFilter(TextFilter):
    """Drops texts with too many characters that are unusual in their language.

    It is a cheap test for another script or language, from the NLLB project, which published
    character histograms per language (dl.fbaipublicfiles.com/m2m_100/histograms.tar.gz).
    """

    cost: ClassVar[float] = 100.0

    histogram: str
    """A file with one usual character at the start of each line, most frequent first."""

    threshold: float = 0.8
    """The share of usual characters must be above this."""

    threshold_char: str = field(default="]", kw_only=True)
    """The list of usual characters ends at the first line that begins with this."""

    @property
    def reason(self) -> str:
        return f"at most {percent(self.threshold)} usual characters"

    def check(self) -> Iterable[str]:
        yield from super().check()
        if not Path(self.histogram).is_file():
            yield f"histogram: no file {self.histogram}"

    def score(self, text: DocumentText) -> float:
        """Return the share of usual characters; white space around the text counts as unusual."""
        usual = characters_in(self.histogram, self.threshold_char)
        return sum(map(usual.__contains__, text.strip())) / len(text)

    def keeps(self, score: float) -> bool:
        return score > self.threshold


Position: TypeAlias = Literal["prefix", "suffix", "any"]


@dataclass
class SubstringFilter(TextFilter):
    """Keeps texts that contain a string at a given place."""

    cost: ClassVar[float] = 1.0

    substring: str
    """The string, matched exactly."""

    position: Position
    """Where the string must be: `prefix`, `suffix`, or `any` for anywhere."""

    @property
    def reason(self) -> str:
        where = {"prefix": "does not begin with", "suffix": "does not end with"}
        return f"{where.get(self.position, 'does not contain')} {self.substring!r}"

    def check(self) -> Iterable[str]:
        yield from super().check()
        if self.position not in get_args(Position):
            yield f"position is {self.position!r}, but must be one of prefix, suffix, any"

    def score(self, text: DocumentText) -> float:
        """Return 1 if the string is found, otherwise 0."""
        if self.position == "prefix":
            return float(text.startswith(self.substring))
        if self.position == "suffix":
            return float(text.endswith(self.substring))
        return float(self.substring in text)

    def keeps(self, score: float) -> bool:
        return score == 1
