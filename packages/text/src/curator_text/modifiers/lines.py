"""Modifiers of lines and paragraphs, and of the beginning and end of a text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from curator_text.filters.lines import FILLER, POLICY
from curator_text.modifiers.base import TextRewriter


@dataclass
class LineRemover(TextRewriter):
    """Removes lines that equal one of the given texts, including white space."""

    patterns: Sequence[str]
    """The lines to remove, exactly as in the text."""

    def check(self) -> Iterable[str]:
        if isinstance(self.patterns, str):
            yield f"patterns is the text {self.patterns!r}, but must be a list: [{self.patterns}]"

    def rewrite(self, text: str) -> str:
        unwanted = frozenset(self.patterns)
        return "\n".join(line for line in text.split("\n") if line not in unwanted)


@dataclass
class RepeatedLinesRemover(TextRewriter):
    """Removes lines that repeat an earlier line of the same text. Blank lines stay."""

    min_characters: int = 1
    """Shorter lines, such as a lone bracket, may repeat. White space around them does not count."""

    def rewrite(self, text: str) -> str:
        return "\n".join(_first_ones(text.split("\n"), self.min_characters))


@dataclass
class RepeatedParagraphsRemover(TextRewriter):
    """Removes paragraphs that repeat an earlier one of the same text.

    Blank lines separate paragraphs.
    """

    min_characters: int = 1
    """Shorter paragraphs may repeat. White space around them does not count."""

    def rewrite(self, text: str) -> str:
        return "\n\n".join(_first_ones(text.split("\n\n"), self.min_characters))


def _first_ones(parts: Iterable[str], shortest: int) -> Iterator[str]:
    seen: set[str] = set()
    for part in parts:
        bare = part.strip()
        if len(bare) >= max(1, shortest):
            if bare in seen:
                continue
            seen.add(bare)
        yield part


@dataclass
class BoilerPlateStringModifier(TextRewriter):
    """Removes paragraphs about cookies and terms at the top or bottom of a text.

    If there are such paragraphs elsewhere too, or the whole text consists of them, the text does
    not change. A text with lorem ipsum becomes empty, and any later text filter drops it.
    """

    remove_if_at_top_or_bottom: bool = True
    """If off, any such paragraph empties the whole text."""

    def rewrite(self, text: str) -> str:
        lowered = text.lower()
        if FILLER in lowered:
            return ""
        paragraphs = text.split("\n\n")
        found = [i for i, one in enumerate(paragraphs) if POLICY.search(one.lower())]
        if not found:
            return text
        if not self.remove_if_at_top_or_bottom:
            return ""
        if not _at_one_end(found, len(paragraphs)):
            return text
        removed = frozenset(found)
        return "\n\n".join(one for i, one in enumerate(paragraphs) if i not in removed)


def _at_one_end(found: Sequence[int], paragraphs: int) -> bool:
    """Whether the paragraphs are adjacent, touch the start or end, and are not the whole text."""
    in_a_row = found[-1] - found[0] == len(found) - 1
    touches = found[0] == 0 or found[-1] == paragraphs - 1
    return in_a_row and touches and len(found) < paragraphs


@dataclass
class Slicer(TextRewriter):
    """Keeps the part of a text between two places.

    If one of them is not found, the text becomes empty.
    """

    left: int | str | None = 0
    """Where the part begins: a position, or a text, whose first occurrence counts."""

    right: int | str | None = None
    """Where the part ends: a position, a text, whose last occurrence counts, or None for the
    end."""

    include_left: bool = True
    """Whether the part includes the text that `left` names."""

    include_right: bool = True
    """Whether the part includes the text that `right` names."""

    strip: bool = True
    """Remove white space around the part."""

    def rewrite(self, text: str) -> str:
        begin, end = self._begin(text), self._end(text)
        if begin is None or end is None:
            return ""
        part = text[begin:end]
        return part.strip() if self.strip else part

    def _begin(self, text: str) -> int | None:
        if not isinstance(self.left, str):
            return self.left or 0
        place = text.find(self.left)
        if place < 0:
            return None
        return place if self.include_left else place + len(self.left)

    def _end(self, text: str) -> int | None:
        if not isinstance(self.right, str):
            return len(text) if self.right is None else self.right
        place = text.rfind(self.right)
        if place < 0:
            return None
        return place + len(self.right) if self.include_right else place
