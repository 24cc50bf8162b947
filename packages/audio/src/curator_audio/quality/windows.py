"""Windows of DNSMOS: 9.01 seconds long, one beginning at every second.

Shorter recordings are repeated until they are long enough. Overlapping windows stay together in one
piece, so that shared work is done once.
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
"""Windows per piece, which is then 24 seconds long."""

_LOOK_AHEAD = 9
"""A window begins at each second that is followed by this many whole seconds."""


def counted(piece: Piece) -> list[int]:
    """Return the windows of a piece whose scores count.

    The reference implementation takes the samples up to `int((second + 9.01) * 16000)`. For some
    seconds, such as 7 to 23, rounding makes that one sample too few, and it skips the window. We
    skip the same windows so that scores agree.
    """
    first = piece.start // HOP
    there = range((piece.length - WINDOW) // HOP + 1)
    return [n for n in there if int((first + n + 9.01) * RATE) - (first + n) * HOP == WINDOW]


class MosCut:
    """Cut one recording into pieces of overlapping windows."""

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
