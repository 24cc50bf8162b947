"""Windows: recordings cut as DNSMOS hears them, 9.01 seconds at a time, from every second on.

What is shorter is repeated until it is long enough. Windows that overlap stay together in one
piece, so that what they share is reckoned once.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from curator_audio.cutting import Piece, piece_of

if TYPE_CHECKING:
    from curator_audio.cutting import Sound

RATE = 16_000
WINDOW = 144_160
HOP = RATE

_TOGETHER = 16
"""Windows in a piece, which is 24 seconds then."""

_LOOK_AHEAD = 9
"""There is a window for each second that has this many whole ones behind it."""


def counted(piece: Piece) -> list[int]:
    """The windows of a piece whose scores count.

    The reference takes the samples up to `int((second + 9.01) * 16000)`, which rounding makes one
    too few for some seconds, such as 7 to 23; these it leaves out. Scores agree only if we do so.
    """
    first = piece.start // HOP
    there = range((piece.length - WINDOW) // HOP + 1)
    return [n for n in there if int((first + n + 9.01) * RATE) - (first + n) * HOP == WINDOW]


class MosCut:
    """The cut of one recording."""

    def __init__(self) -> None:
        self._position = 0

    def ready(self, held: "Sound") -> tuple[list[Piece], "Sound"]:
        pieces = []
        while len(held) >= (_TOGETHER + _LOOK_AHEAD) * HOP:
            pieces.append(_piece(held, _TOGETHER, self._position))
            held = held[_TOGETHER * HOP :]
            self._position += _TOGETHER * HOP
        return pieces, held

    def rest(self, held: "Sound") -> list[Piece]:
        import numpy as np

        if self._position and len(held) < (_LOOK_AHEAD + 1) * HOP:
            return []
        while len(held) < WINDOW:
            held = np.concatenate((held, held))
        count = max(1, len(held) // HOP - _LOOK_AHEAD)
        return [
            _piece(held[n * HOP :], min(_TOGETHER, count - n), self._position + n * HOP)
            for n in range(0, count, _TOGETHER)
        ]


def _piece(held: "Sound", windows: int, start: int) -> Piece:
    piece = piece_of(held[: WINDOW + (windows - 1) * HOP], start)
    return replace(piece, weight=len(counted(piece)))
