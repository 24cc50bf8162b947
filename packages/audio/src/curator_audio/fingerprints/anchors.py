"""Anchors: moments of a recording that are used to look up its copies.

They are placed where the spectrum changes most, so copies share most anchors wherever they begin.
Each anchor has eight keys: for its own print and for one a little later, each combination of three
of the four bytes. Two copies share a key if the bits that differ are within one byte of either
print.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from curator_dedup.mixing import mixed

from curator_audio.fingerprints.prints import Frames

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEYS = 8

_SPACING = 4
"""Frames between the prints of a context."""

_WORDS = 4
_KEYED = [0, 2]
"""Indices of the prints in a context that have keys."""

_SPAN = _SPACING * (_WORDS - 1)

_AROUND = 8
"""An anchor is the strongest frame within this many frames to either side."""

_SMOOTH = 5


@dataclass(frozen=True)
class Anchors:
    """Keys, shaped (anchors, KEYS), and for each anchor 16 bytes of prints from it on."""

    keys: "NDArray[np.uint64]"
    contexts: "NDArray[np.uint8]"


def anchors_of(frames: Frames) -> Anchors:
    """Return the anchors of a recording: none if it is too short or never changes."""
    import numpy as np

    places = _places(frames.strengths)
    steps = np.arange(_WORDS) * _SPACING
    words = frames.prints[places[:, None] + steps] if len(places) else _no_words()
    contexts = np.ascontiguousarray(words).view(np.uint8).reshape(-1, 4 * _WORDS)
    return Anchors(_keys(words[:, _KEYED]), contexts)


def _no_words() -> "NDArray[np.uint32]":
    import numpy as np

    return np.zeros((0, _WORDS), np.uint32)


def _places(strengths: "NDArray[np.float32]") -> "NDArray[np.int64]":
    import numpy as np
    from numpy.lib.stride_tricks import sliding_window_view

    usable = len(strengths) - _SPAN
    if usable < 1:
        return np.zeros(0, np.int64)
    padded = np.pad(strengths, _SMOOTH // 2, mode="edge")
    smooth = np.convolve(padded, np.full(_SMOOTH, 1 / _SMOOTH), "valid")[:usable]
    around = sliding_window_view(np.pad(smooth, _AROUND), 2 * _AROUND + 1).max(axis=1)
    return np.flatnonzero((smooth >= around) & (smooth > 0))


def _keys(words: "NDArray[np.uint32]") -> "NDArray[np.uint64]":
    import numpy as np

    bytes_left_out = np.array([~(0xFF << (8 * n)) & 0xFFFFFFFF for n in range(4)], np.uint64)
    parts = words[:, :, None].astype(np.uint64) & bytes_left_out
    numbers = parts.reshape(len(words), KEYS) << np.uint64(3)
    return mixed(numbers | np.arange(KEYS, dtype=np.uint64))
