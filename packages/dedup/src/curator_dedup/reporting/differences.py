"""Differences: two texts as HTML, with the words marked that only one of them has."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape

LONGEST = 4000
"""Maximum number of characters of a text to compare and show."""

_PIECES = re.compile(r"\s+|\S+\s*")
"""Words with the spaces after them: separate spaces would match all other spaces."""


def marked(left: str, right: str) -> tuple[str, str]:
    """Return both texts as escaped HTML, with differing words in `<mark>`."""
    if left == right:
        return (_whole([escape(left[:LONGEST])], left),) * 2
    ours, theirs = _PIECES.findall(left[:LONGEST]), _PIECES.findall(right[:LONGEST])
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    parts: tuple[list[str], list[str]] = ([], [])
    for tag, a, b, c, d in matcher.get_opcodes():
        parts[0].append(_shown(ours[a:b], tag != "equal"))
        parts[1].append(_shown(theirs[c:d], tag != "equal"))
    return _whole(parts[0], left), _whole(parts[1], right)


def _shown(pieces: Sequence[str], differs: bool) -> str:
    text = escape("".join(pieces))
    return f"<mark>{text}</mark>" if differs and text else text


def _whole(parts: Sequence[str], text: str) -> str:
    more = len(text) - LONGEST
    return "".join(parts) + (f" … <i>{more:,} more characters</i>" if more > 0 else "")
