"""Differences between two texts, word by word."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from re import compile as pattern
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["equal", "deleted", "inserted"]

_WORDS = pattern(r"\w+|\s+|[^\w\s]")

_MOST_COMPARED = 250_000
"""Pairs of words: comparing more would take seconds."""


_NOTE = 30
"""Length of the note about what was left out: cutting less would save nothing."""


@dataclass(frozen=True)
class Piece:
    """A part of a text that is equal in both, deleted from the first, or inserted by the second."""

    text: str
    kind: Kind = "equal"


def compare_words(before: str, after: str) -> list[Piece]:
    """Return both texts as one sequence of pieces."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    inner_old, inner_new = old[start : len(old) - end], new[start : len(new) - end]
    pieces = [Piece("".join(old[:start]))]
    if len(inner_old) * len(inner_new) > _MOST_COMPARED:
        pieces += [
            Piece("".join(inner_old), "deleted"),
            Piece("".join(inner_new), "inserted"),
        ]
    else:
        pieces += _compared(inner_old, inner_new)
    pieces.append(Piece("".join(old[len(old) - end :])))
    return [piece for piece in pieces if piece.text]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many words at the beginning are the same."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _compared(old: Sequence[str], new: Sequence[str]) -> Iterator[Piece]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            yield Piece("".join(old[a:b]))
            continue
        yield Piece("".join(old[a:b]), "deleted")
        yield Piece("".join(new[c:d]), "inserted")


def shorten_equal(pieces: Sequence[Piece], context: int) -> list[Piece]:
    """Cut what is equal to some characters around each change, and long changes in the middle."""
    last = len(pieces) - 1
    shown = []
    for place, piece in enumerate(pieces):
        text = piece.text
        if piece.kind != "equal":
            text = middle_shortened(text, 4 * context)
        elif place == 0 and last > 0:
            text = text if len(text) <= context else f"… {text[-context:]}"
        elif place == last and last > 0:
            text = text if len(text) <= context else f"{text[:context]} …"
        else:
            text = middle_shortened(text, 2 * context)
        shown.append(Piece(text, piece.kind))
    return shown


def middle_shortened(text: str, most: int) -> str:
    """Return a text of about `most` characters: its beginning and its end."""
    if len(text) <= most + _NOTE:
        return text
    head, tail = text[: most * 2 // 3], text[len(text) - most // 3 :]
    return f"{head} … {len(text) - len(head) - len(tail):,} more characters … {tail}"
