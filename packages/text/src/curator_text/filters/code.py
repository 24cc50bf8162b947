"""Rules over source code: the StarCoder filters, with their default limits."""

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass

from curator_text.document_text import DocumentText
from curator_text.filters.base import TextFilter, percent
from curator_text.filters.code_comments import (
    LANGUAGES,
    UnreadableError,
    comment_ratio,
    python_comment_ratio,
)

_XML = "<?xml version="


class _CommentLimits:
    """Decides by the share of comments."""

    min_comment_to_code_ratio: float
    max_comment_to_code_ratio: float

    @property
    def reason(self) -> str:
        least, most = self.min_comment_to_code_ratio, self.max_comment_to_code_ratio
        return f"comments are not {percent(least)} to {percent(most)} of the code"

    def keeps(self, score: float) -> bool:
        return self.min_comment_to_code_ratio <= score <= self.max_comment_to_code_ratio


@dataclass
class PythonCommentToCodeFilter(_CommentLimits, TextFilter):
    """Drops Python code with too few or too many comments.

    Docstrings count as comments, without their quotes. Code that does not parse, or is longer than
    four million characters, counts as having none.
    """

    min_comment_to_code_ratio: float = 0.01
    """Minimum share of characters in comments."""

    max_comment_to_code_ratio: float = 0.85
    """Maximum share of characters in comments."""

    def score(self, text: DocumentText) -> float:
        try:
            return python_comment_ratio(text)
        except UnreadableError:
            return 0.0


@dataclass
class GeneralCommentToCodeFilter(_CommentLimits, TextFilter):
    """Drops code with too few or too many comments, not counting comment marks.

    Code that ends inside a comment scores 9999 and is dropped.
    """

    language: str
    """The MIME type of the code, such as `text/x-c`, `text/x-java` or `text/html`."""

    min_comment_to_code_ratio: float = 0.01
    """Minimum share of characters in comments."""

    max_comment_to_code_ratio: float = 0.85
    """Maximum share of characters in comments."""

    def check(self) -> Iterable[str]:
        yield from super().check()
        if self.language not in LANGUAGES:
            known = ", ".join(sorted(LANGUAGES))
            yield f"the comments of {self.language!r} are not known (known: {known})"

    def score(self, text: DocumentText) -> float:
        try:
            return comment_ratio(text, self.language)
        except UnreadableError:
            return 9999.0


@dataclass
class NumberOfLinesOfCodeFilter(TextFilter):
    """Drops code files that are too short or too long."""

    min_lines: int = 10
    """Minimum number of lines, including blank ones."""

    max_lines: int = 20000
    """Maximum number of lines, including blank ones."""

    @property
    def reason(self) -> str:
        return f"fewer than {self.min_lines:,} or more than {self.max_lines:,} lines"

    def score(self, text: DocumentText) -> float:
        return text.count("\n") + 1

    def keeps(self, score: float) -> bool:
        return self.min_lines <= score <= self.max_lines


@dataclass
class XMLHeaderFilter(TextFilter):
    """Drops XML files that are labeled as another language."""

    char_prefix_search_length: int = 100
    """How many characters at the start to search for the XML header."""

    reason = "begins like XML"

    def score(self, text: DocumentText) -> float:
        return float(_XML in text[: self.char_prefix_search_length])

    def keeps(self, score: float) -> bool:
        return score != 1


@dataclass
class AlphaFilter(TextFilter):
    """Drops files with too few letters: tables, tensors and other non-code data."""

    min_alpha_ratio: float = 0.25
    """Minimum share of letters among the characters."""

    @property
    def reason(self) -> str:
        return f"under {percent(self.min_alpha_ratio)} letters"

    def score(self, text: DocumentText) -> float:
        return sum(map(str.isalpha, text)) / len(text)

    def keeps(self, score: float) -> bool:
        return score >= self.min_alpha_ratio


@dataclass
class HTMLBoilerplateFilter(TextFilter):
    """Drops HTML with little visible text: mostly markup, scripts and styles."""

    min_lang_content_ratio: float = 0.2
    """Minimum share of characters that a reader would see."""

    min_lang_content_num_chars: int = 100
    """Minimum number of characters that a reader would see."""

    @property
    def reason(self) -> str:
        most = percent(self.min_lang_content_ratio)
        return f"under {most} or {self.min_lang_content_num_chars} characters of HTML are text"

    def score(self, text: DocumentText) -> float:
        """Return the share of visible text, or 0 if there is too little of it."""
        seen = visible_length(text)
        return seen / len(text) if seen >= self.min_lang_content_num_chars else 0.0

    def keeps(self, score: float) -> bool:
        return score >= self.min_lang_content_ratio


# Anything unclosed extends to the end, so that each character is read once.
_UNSEEN = re.compile(
    r"<(?P<raw>script|style)(?=[\s/>])(?:.*?</(?P=raw)\s*>|.*)"
    r"|<!--(?:.*?-->|.*)"
    r"|<(?P<close>/)?(?:(?P<kept>pre|textarea)(?=[\s/>])|[a-z])"
    r"(?:[^>\"']++|\"[^\"]*+\"|'[^']*+'|[\"'])*+>?"
    r"|<[!?][^>]*+>?",
    re.DOTALL | re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});", re.IGNORECASE)
_HTML_SPACES = " \t\n\f\r"


def visible_length(source: str) -> int:
    """Count the characters outside of tags, comments, scripts and styles.

    An entity counts as the character that it represents. White space alone between two tags, such
    as indentation, counts as one character, except in `pre` and `textarea`.
    """
    length = end = kept = 0
    for found in _UNSEEN.finditer(source):
        if found.start() > end:
            length += _visible_part(source[end : found.start()], kept > 0)
        end = found.end()
        if found["kept"]:
            kept = max(0, kept - 1) if found["close"] else kept + 1
    return length + _visible_part(source[end:], kept > 0)


def _visible_part(text: str, is_kept: bool) -> int:
    if "&" in text:
        text = _ENTITY.sub(lambda found: html.unescape(found[0]), text)
    if not is_kept and text and not text.strip(_HTML_SPACES):
        return 1
    return len(text)
