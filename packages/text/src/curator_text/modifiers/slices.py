"""Modifiers that keep one part of a text."""

from dataclasses import dataclass

from curator_text.modifying import TextRewriter


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
