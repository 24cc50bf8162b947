"""Cutting: remove spans from a text, with a margin around each."""

from collections.abc import Iterable


def without_spans(text: str, spans: Iterable[tuple[int, int]], margin: int, shortest: int) -> str:
    """Return the rest as paragraphs.

    Words are kept whole; pieces that are too short are removed.
    """
    pieces = []
    at = 0
    for start, end in spans:
        pieces.append(text[at : max(at, _before(text, start - margin))])
        at = max(at, _behind(text, end + margin))
    pieces.append(text[at:])
    stripped = (piece.strip() for piece in pieces)
    return "\n\n".join(piece for piece in stripped if piece and len(piece) >= shortest)


def _before(text: str, place: int) -> int:
    """Return the position itself, or the start of the word around it."""
    if place <= 0:
        return 0
    while place > 0 and not text[place - 1].isspace():
        place -= 1
    return place


def _behind(text: str, place: int) -> int:
    while place < len(text) and not text[place].isspace():
        place += 1
    return place
