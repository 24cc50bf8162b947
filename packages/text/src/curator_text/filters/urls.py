"""Rules over the URLs in a text."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from curator_text.document_text import DocumentText
from curator_text.filters.base import TextFilter, percent

# Letters, digits, URL punctuation and whole escapes. Possessive, so that a URL of millions of
# characters is read once.
_URLS = re.compile(r"https?://(?:[A-Za-z0-9$\-_@.&+/:=?#~!*(),]++|%[0-9A-Fa-f]{2})++")


@cache
def _pattern(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


def _problem(expression: str | None) -> Iterable[str]:
    try:
        re.compile(expression or "")
    except re.error as error:
        yield f"url_regex is not a regular expression: {error}"


def _urls_in(text: DocumentText, expression: str | None) -> list[str]:
    if expression is None:
        return _URLS.findall(text) if "http" in text else []
    return [found[0] for found in _pattern(expression).finditer(text)]


@dataclass
class UrlsFilter(TextFilter):
    """Drops texts that are mostly links."""

    cost: ClassVar[float] = 2.0

    max_url_to_text_ratio: float = 0.2
    """Maximum share of characters in URLs."""

    url_regex: str | None = None
    """A regular expression that replaces the default for URLs, such as `https?://[^\\s]+`."""

    def check(self) -> Iterable[str]:
        yield from super().check()
        yield from _problem(self.url_regex)

    @property
    def reason(self) -> str:
        return f"over {percent(self.max_url_to_text_ratio)} URLs"

    def score(self, text: DocumentText) -> float:
        return sum(map(len, _urls_in(text, self.url_regex))) / len(text)

    def keeps(self, score: float) -> bool:
        return score <= self.max_url_to_text_ratio


@dataclass
class PornographicUrlsFilter(TextFilter):
    """Drops texts with a URL that contains `porn`."""

    cost: ClassVar[float] = 2.0
    reason = "a pornographic URL"

    url_regex: str | None = None
    """A regular expression that replaces the default for URLs, such as `https?://[^\\s]+`."""

    def check(self) -> Iterable[str]:
        yield from super().check()
        yield from _problem(self.url_regex)

    def score(self, text: DocumentText) -> float:
        """Return 1 if there is such a URL, otherwise 0."""
        return float(any("porn" in url for url in _urls_in(text, self.url_regex)))

    def keeps(self, score: float) -> bool:
        return score != 1
