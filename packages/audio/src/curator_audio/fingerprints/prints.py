"""Prints: a fingerprint of 32 bits for each 16 ms of sound, robust against encoding.

Each bit compares the levels of two neighbouring frequency bands: whether their difference has grown
in the last eighth of a second. This does not depend on volume and hardly on filters. Windows last a
quarter of a second, so the alignment of frames matters little.
"""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from curator_audio.cutting import Sound

    Prints = NDArray[np.uint32]

RATE, STEP = 8_000, 128
"""Samples per second, and samples from one frame to the next."""

_WINDOW = 2048
_BANDS = 33
_LOWEST, _HIGHEST = 250.0, 3_300.0
"""Hertz: the passband of a narrowband telephone."""

_BEFORE = 8
"""Distance in frames between the levels that are compared."""

_FLOOR = 1e-4
"""Energy below this share of a frame's mean counts as silence, which codecs fill arbitrarily."""

_LEAST = 1e-9
"""Energy of a band in digital silence, for samples up to 1."""


@dataclass(frozen=True)
class Frames:
    """Prints, and for each frame how much the spectrum changes."""

    prints: "Prints"
    strengths: "NDArray[np.float32]"


class Printing:
    """Compute the prints of one recording block by block, independent of the block sizes."""

    def __init__(self) -> None:
        import numpy as np

        self._held: list[Sound] = []
        self._size = 0
        self._levels = np.zeros((0, _BANDS), np.float32)
        self._found: list[Frames] = []

    def hear(self, samples: "Sound") -> None:
        self._held.append(samples)
        self._size += len(samples)
        if self._size >= 64 * _WINDOW:
            self._reckon()

    def frames(self) -> Frames:
        """Return all frames; none if shorter than a window plus the comparison distance."""
        import numpy as np

        self._reckon()
        none = Frames(np.zeros(0, np.uint32), np.zeros(0, np.float32))
        found = [none, *self._found]
        return Frames(
            np.concatenate([one.prints for one in found]),
            np.concatenate([one.strengths for one in found]),
        )

    def _reckon(self) -> None:
        import numpy as np

        held = np.concatenate([np.zeros(0, np.float32), *self._held])
        count = (len(held) - _WINDOW) // STEP + 1
        if count < 1:
            self._held = [held]
            return
        levels = np.concatenate((self._levels, _levels(held, count)))
        self._held, self._size = [held[count * STEP :]], len(held) - count * STEP
        self._levels = levels[-_BEFORE:]
        if len(levels) > _BEFORE:
            self._found.append(_compared(levels))


def _levels(held: "Sound", count: int) -> "NDArray[np.float32]":
    """Return the log energy of each band in each frame."""
    import numpy as np
    from numpy.lib.stride_tricks import sliding_window_view

    frames = sliding_window_view(held, _WINDOW)[: count * STEP : STEP]
    taper, bands = _tables()
    found = []
    for first in range(0, count, 64):
        spectrum = np.fft.rfft(frames[first : first + 64] * taper)
        energy = (spectrum.real**2 + spectrum.imag**2).astype(np.float32) @ bands
        floor = _FLOOR * energy.mean(axis=1, keepdims=True) + _LEAST
        found.append(np.log(energy + floor))
    return np.concatenate(found)


@cache
def _tables() -> "tuple[NDArray[np.float32], NDArray[np.float32]]":
    import numpy as np

    taper = np.hanning(_WINDOW).astype(np.float32)
    hertz = np.arange(_WINDOW // 2 + 1) * RATE / _WINDOW
    edges = np.geomspace(_LOWEST, _HIGHEST, _BANDS + 1)
    inside = (hertz[:, None] >= edges[:-1]) & (hertz[:, None] < edges[1:])
    return taper, (inside / _WINDOW).astype(np.float32)


def _compared(levels: "NDArray[np.float32]") -> Frames:
    import numpy as np

    steps = levels[:, 1:] - levels[:, :-1]
    change = steps[_BEFORE:] - steps[:-_BEFORE]
    bits = np.packbits(change > 0, axis=1, bitorder="little")
    strengths = np.abs(change).mean(axis=1, dtype=np.float32)
    return Frames(np.ascontiguousarray(bits).view("<u4")[:, 0], strengths)


def differing(ones: "Prints", others: "Prints") -> Any:
    """Return how many bits differ in each frame."""
    import numpy as np

    return np.bitwise_count(ones ^ others)
