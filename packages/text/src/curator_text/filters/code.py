"""Rules over source code: those of the StarCoder data, with its limits."""

from collections.abc import Iterable
from dataclasses import dataclass

from curator_text.filtering import TextFilter, share
from curator_text.filters.code_comments import (
    LANGUAGES,
    UnreadableError,
    comment_ratio,
    python_comment_ratio,
)
from curator_text.filters.visible_text import visible_length
from curator_text.texts import Text

_XML = "<?xml version="


class _CommentLimits:
    """The decision by the share of comments."""

    min_comment_to_code_ratio: float
    max_comment_to_code_ratio: float

    @property
    def reason(self) -> str:
        least, most = self.min_comment_to_code_ratio, self.max_comment_to_code_ratio
        return f"comments are not {share(least)} to {share(most)} of the code"

    def keeps(self, score: float) -> bool:
        return self.min_comment_to_code_ratio <= score <= self.max_comment_to_code_ratio


@dataclass
class PythonCommentToCodeFilter(_CommentLimits, TextFilter):
    """Drops Python with too few or too many comments. Docstrings are comments, with their marks
    left out; code that does not parse, or has over four million characters, has none."""

    min_comment_to_code_ratio: float = 0.01
    """The least share of characters that belong to comments."""

    max_comment_to_code_ratio: float = 0.85
    """The largest share of characters that belong to comments."""

    def score(self, text: Text) -> float:
        try:
            return python_comment_ratio(text)
        except UnreadableError:
            return 0.0


@dataclass
class GeneralCommentToCodeFilter(_CommentLimits, TextFilter):
    """Drops code with too few or too many comments, without the marks around them.

    Code that ends within a comment cannot be read: it has the score 9999, and is dropped.
    """

    language: str
    """What the code is, by its MIME type, such as `text/x-c`, `text/x-java` or `text/html`."""

    min_comment_to_code_ratio: float = 0.01
    """The least share of characters that belong to comments."""

    max_comment_to_code_ratio: float = 0.85
    """The largest share of characters that belong to comments."""

    def check(self) -> Iterable[str]:
        yield from super().check()
        if self.language not in LANGUAGES:
            known = ", ".join(sorted(LANGUAGES))
            yield f"the comments of {self.language!r} are not known (known: {known})"

    def score(self, text: Text) -> float:
        try:
            return comment_ratio(text, self.language)
        except UnreadableError:
            return 9999.0


@dataclass
class NumberOfLinesOfCodeFilter(TextFilter):
    """Drops files of code that are too short or too long."""

    min_lines: int = 10
    """The fewest lines a file may have, 10 unless given. Blank ones count."""

    max_lines: int = 20000
    """The most lines a file may have."""

    @property
    def reason(self) -> str:
        return f"not {self.min_lines} to {self.max_lines} lines"

    def score(self, text: Text) -> float:
        return text.count("\n") + 1

    def keeps(self, score: float) -> bool:
        return self.min_lines <= score <= self.max_lines


@dataclass
class XMLHeaderFilter(TextFilter):
    """Drops XML that has the name of something else."""

    char_prefix_search_length: int = 100
    """How many characters at the beginning may hold the header."""

    reason = "begins like XML"

    def score(self, text: Text) -> float:
        return float(_XML in text[: self.char_prefix_search_length])

    def keeps(self, score: float) -> bool:
        return score != 1


@dataclass
class AlphaFilter(TextFilter):
    """Drops files with too few letters: tables, tensors, other data that is no code."""

    min_alpha_ratio: float = 0.25
    """The least share of letters among the characters."""

    @property
    def reason(self) -> str:
        return f"under {share(self.min_alpha_ratio)} letters"

    def score(self, text: Text) -> float:
        return sum(map(str.isalpha, text)) / len(text)

    def keeps(self, score: float) -> bool:
        return score >= self.min_alpha_ratio


@dataclass
class HTMLBoilerplateFilter(TextFilter):
    """Drops HTML that shows little text: markup, scripts and styles."""

    min_lang_content_ratio: float = 0.2
    """The least share of characters that a reader would see."""

    min_lang_content_num_chars: int = 100
    """The fewest characters that a reader would see."""

    @property
    def reason(self) -> str:
        most = share(self.min_lang_content_ratio)
        return f"under {most} or {self.min_lang_content_num_chars} characters of HTML are text"

    def score(self, text: Text) -> float:
        """The share, or 0 where there are too few of them."""
        seen = visible_length(text)
        return seen / len(text) if seen >= self.min_lang_content_num_chars else 0.0

    def keeps(self, score: float) -> bool:
        return score >= self.min_lang_content_ratio
