"""Differences: two texts side by side, with what only one of them has marked."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape

LONGEST = 4000
"""So many characters of a text are compared and shown."""

_PIECES = re.compile(r"\s+|\S+\s*")
"""Words with the spaces behind them: by themselves, spaces would be compared each with each."""


def marked(left: str, right: str) -> tuple[str, str]:
    """Both texts as HTML, escaped, with differing words in `<mark>`."""
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
