"""Rules over the lines and paragraphs of a text. Blank lines do not count as lines."""

import re
from dataclasses import dataclass, field
from typing import ClassVar

from curator_text.document_text import DocumentText
from curator_text.filters.base import TextFilter, percent

FILLER = "lorem ipsum"

# For a whole notice, its beginning is enough.
NOTICES = (
    "terms of use",
    "privacy policy",
    "cookie policy",
    "uses cookies",
    "privacy overview",
    "use of cookies",
    "use cookies",
    "privacy & cookies policy",
    "privacy and cookies policy",
    "necessary cookies are absolutely essential",
    "any cookies that may not be particularly necessary",
    "if you continue to browse this site without changing your cookie",
)
POLICY = re.compile("|".join(NOTICES))


_END_MARKS = frozenset(".?!\"'")
_ELLIPSES = ("...", "[...]", "…", "(...)", "[…]", "-»", "read more..", "read more")
_BULLETS = frozenset("•‣⁃⁌⁍∙○●◘◦⦾⦿")  # noqa: RUF001 - a hyphen bullet is meant


@dataclass
class PunctuationFilter(TextFilter):
    """Drops texts whose lines rarely end like sentences: menus, lists of keywords."""

    cost: ClassVar[float] = 7.0
    kernel: ClassVar[str | None] = "lines_without_end_mark"

    max_num_sentences_without_endmark_ratio: float = 0.85
    """Maximum share of lines that do not end with a full stop, `?`, `!` or a quotation mark."""

    @property
    def reason(self) -> str:
        most = percent(self.max_num_sentences_without_endmark_ratio)
        return f"over {most} of lines lack an end mark"

    def score(self, text: DocumentText) -> float:
        lines = text.stripped_lines
        return sum([line[-1] not in _END_MARKS for line in lines]) / len(lines)

    def keeps(self, score: float) -> bool:
        return score <= self.max_num_sentences_without_endmark_ratio


@dataclass
class BulletsFilter(TextFilter):
    """Drops texts that consist almost only of bullet points."""

    cost: ClassVar[float] = 7.0
    kernel: ClassVar[str | None] = "bullet_lines"

    max_bullet_lines_ratio: float = 0.9
    """Maximum share of lines that begin with a bullet such as `•`. Hyphens do not count."""

    @property
    def reason(self) -> str:
        return f"over {percent(self.max_bullet_lines_ratio)} of lines are bullet points"

    def score(self, text: DocumentText) -> float:
        if text.isascii():
            return 0.0
        lines = text.stripped_lines
        return sum([line[0] in _BULLETS for line in lines]) / len(lines)

    def keeps(self, score: float) -> bool:
        return score <= self.max_bullet_lines_ratio


@dataclass
class EllipsisFilter(TextFilter):
    """Drops texts with too many truncated lines: teasers, excerpts."""

    cost: ClassVar[float] = 6.0
    kernel: ClassVar[str | None] = "ellipsis_lines"

    max_num_lines_ending_with_ellipsis_ratio: float = 0.3
    """Maximum share of lines that end with an ellipsis or `read more`."""

    @property
    def reason(self) -> str:
        return f"over {percent(self.max_num_lines_ending_with_ellipsis_ratio)} of lines break off"

    def score(self, text: DocumentText) -> float:
        if not _may_break_off(text):
            return 0.0
        lines = text.stripped_lines
        return sum([line.lower().endswith(_ELLIPSES) for line in lines]) / len(lines)

    def keeps(self, score: float) -> bool:
        return score <= self.max_num_lines_ending_with_ellipsis_ratio


def _may_break_off(text: DocumentText) -> bool:
    return "..." in text or "…" in text or "-»" in text or "read more" in text.lowered


@dataclass
class BoilerPlateStringFilter(TextFilter):
    """Drops texts with lorem ipsum or too many paragraphs about cookies or terms."""

    cost: ClassVar[float] = 12.0
    kernel: ClassVar[str | None] = "boilerplate"
    phrases: ClassVar[tuple[tuple[str, ...], ...]] = ((FILLER,), NOTICES)

    max_boilerplate_string_ratio: float = field(default=0.4, kw_only=True)
    """Maximum share of paragraphs with a phrase such as `privacy policy` or `uses cookies`."""

    @property
    def reason(self) -> str:
        return f"lorem ipsum, or over {percent(self.max_boilerplate_string_ratio)} boilerplate"

    def score(self, text: DocumentText) -> float:
        lowered = text.lowered
        if FILLER in lowered:
            return 1.0
        if "cookie" not in lowered and "privacy" not in lowered and "terms of use" not in lowered:
            return 0.0
        paragraphs = lowered.split("\n\n")
        return sum(POLICY.search(one) is not None for one in paragraphs) / len(paragraphs)

    def keeps(self, score: float) -> bool:
        return score <= self.max_boilerplate_string_ratio
