"""Rules over the characters of a text."""

import re
from dataclasses import dataclass

from curator_text.filtering import TextFilter, share
from curator_text.texts import Text

_PLAIN = re.compile(r"[a-zA-Z0-9\n?!,.]+")
_DIGITS = re.compile(r"\d+")
_URLS = re.compile(r"https?://[!$-_a-z]+")


def _share_in(pattern: re.Pattern[str], text: str) -> float:
    return sum(map(len, pattern.findall(text))) / len(text)


@dataclass
class NonAlphaNumericFilter(TextFilter):
    """Drops texts with too few letters and digits. For English: it knows a to z only.

    Spaces count as neither, so ordinary prose scores about 0.17.
    """

    max_non_alpha_numeric_to_text_ratio: float = 0.25
    """The largest share of characters besides a-z, A-Z, 0-9, new lines and `? ! , .`."""

    @property
    def reason(self) -> str:
        return f"over {share(self.max_non_alpha_numeric_to_text_ratio)} symbols and spaces"

    def score(self, text: Text) -> float:
        return 1 - _share_in(_PLAIN, text)

    def keeps(self, score: float) -> bool:
        return score <= self.max_non_alpha_numeric_to_text_ratio


@dataclass
class NumbersFilter(TextFilter):
    """Drops texts that are mostly figures: price lists, tables, logs."""

    max_number_to_text_ratio: float = 0.15
    """The largest share of digits among the characters."""

    @property
    def reason(self) -> str:
        return f"over {share(self.max_number_to_text_ratio)} digits"

    def score(self, text: Text) -> float:
        return _share_in(_DIGITS, text)

    def keeps(self, score: float) -> bool:
        return score <= self.max_number_to_text_ratio


@dataclass
class UrlsFilter(TextFilter):
    """Drops texts that are mostly links."""

    max_url_to_text_ratio: float = 0.2
    """The largest share of characters that belong to URLs."""

    @property
    def reason(self) -> str:
        return f"over {share(self.max_url_to_text_ratio)} URLs"

    def score(self, text: Text) -> float:
        return _share_in(_URLS, text)

    def keeps(self, score: float) -> bool:
        return score <= self.max_url_to_text_ratio
