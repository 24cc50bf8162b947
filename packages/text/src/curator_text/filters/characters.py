"""Rules over the characters of a text."""

from dataclasses import dataclass
from typing import ClassVar

from curator_text.filtering import TextFilter, share
from curator_text.texts import Text

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

    max_non_alpha_numeric_to_text_ratio: float = 0.25
    """Maximum share of characters other than a-z, A-Z, 0-9, line breaks and `? ! , .`."""

    @property
    def reason(self) -> str:
        return f"over {share(self.max_non_alpha_numeric_to_text_ratio)} symbols and spaces"

    def score(self, text: Text) -> float:
        characters = len(text)
        return (characters - text.count_ascii(_PLAIN)) / characters

    def keeps(self, score: float) -> bool:
        return score <= self.max_non_alpha_numeric_to_text_ratio


@dataclass
class NumbersFilter(TextFilter):
    """Drops texts with too many digits: price lists, tables, logs."""

    cost: ClassVar[float] = 4.0

    max_number_to_text_ratio: float = 0.15
    """Maximum share of the digits 0 to 9 among the characters."""

    @property
    def reason(self) -> str:
        return f"over {share(self.max_number_to_text_ratio)} digits"

    def score(self, text: Text) -> float:
        return text.count_ascii(_DIGITS) / len(text)

    def keeps(self, score: float) -> bool:
        return score <= self.max_number_to_text_ratio


@dataclass
class WhiteSpaceFilter(TextFilter):
    """Drops texts with too much white space: tables and drawings in plain text."""

    cost: ClassVar[float] = 4.0

    max_white_space_ratio: float = 0.25
    """Maximum share of spaces, tabs, line ends and backspaces."""

    @property
    def reason(self) -> str:
        return f"over {share(self.max_white_space_ratio)} white space"

    def score(self, text: Text) -> float:
        return text.count_ascii(_SPACES) / len(text)

    def keeps(self, score: float) -> bool:
        return score <= self.max_white_space_ratio


@dataclass
class ParenthesesFilter(TextFilter):
    """Drops texts with too many brackets: code, formulas, lists of references."""

    cost: ClassVar[float] = 5.0

    max_parentheses_ratio: float = 0.1
    """Maximum share of round, square, curly and mathematical angle brackets."""

    @property
    def reason(self) -> str:
        return f"over {share(self.max_parentheses_ratio)} brackets"

    def score(self, text: Text) -> float:
        found = text.count_ascii(_BRACKETS)
        if not text.isascii():
            found += sum(map(text.count, _ANGLES))
        return found / len(text)

    def keeps(self, score: float) -> bool:
        return score <= self.max_parentheses_ratio
