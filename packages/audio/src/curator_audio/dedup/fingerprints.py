"""Fingerprints of recordings: bits that survive encoding, resampling, and changes of volume.

A recording has a print of 32 bits for each 16 ms. Each bit compares the levels of two neighbouring
frequency bands: whether their difference has grown in the last eighth of a second. This does not
depend on volume and hardly on filters. Windows last a quarter of a second, so the alignment of
frames matters little.

Anchors are moments that are used to look up copies. They are placed where the spectrum changes
most, so copies share most anchors wherever they begin. Each anchor has eight keys: for its own
print and for one a little later, each combination of three of the four bytes. Two copies share a
key if the bits that differ are within one byte of either print.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import TYPE_CHECKING, Any

from curator_dedup.hashing import mixed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from curator_audio.waveform import MonoSamples

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

_MIN_ENERGY = 1e-9
"""Energy of a band in digital silence, for samples up to 1."""


@dataclass(frozen=True)
class FingerprintFrames:
    """Prints, and for each frame how much the spectrum changes."""

    prints: "Prints"
    strengths: "NDArray[np.float32]"


class FingerprintBuilder:
    """Compute the prints of one recording block by block, independent of the block sizes."""

    def __init__(self) -> None:
        import numpy as np

        self._held: list[MonoSamples] = []
        self._size = 0
        self._levels = np.zeros((0, _BANDS), np.float32)
        self._found: list[FingerprintFrames] = []

    def add(self, samples: "MonoSamples") -> None:
        self._held.append(samples)
        self._size += len(samples)
        if self._size >= 64 * _WINDOW:
            self._compute()

    def frames(self) -> FingerprintFrames:
        """Return all frames; none if shorter than a window plus the comparison distance."""
        import numpy as np

        self._compute()
        none = FingerprintFrames(np.zeros(0, np.uint32), np.zeros(0, np.float32))
        found = [none, *self._found]
        return FingerprintFrames(
            np.concatenate([one.prints for one in found]),
            np.concatenate([one.strengths for one in found]),
        )

    def _compute(self) -> None:
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
            self._found.append(_compare_levels(levels))


def _levels(held: "MonoSamples", count: int) -> "NDArray[np.float32]":
    """Return the log energy of each band in each frame."""
    import numpy as np
    from numpy.lib.stride_tricks import sliding_window_view

    frames = sliding_window_view(held, _WINDOW)[: count * STEP : STEP]
    taper, bands = _tables()
    found = []
    for first in range(0, count, 64):
        spectrum = np.fft.rfft(frames[first : first + 64] * taper)
        energy = (spectrum.real**2 + spectrum.imag**2).astype(np.float32) @ bands
        floor = _FLOOR * energy.mean(axis=1, keepdims=True) + _MIN_ENERGY
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


def _compare_levels(levels: "NDArray[np.float32]") -> FingerprintFrames:
    import numpy as np

    steps = levels[:, 1:] - levels[:, :-1]
    change = steps[_BEFORE:] - steps[:-_BEFORE]
    bits = np.packbits(change > 0, axis=1, bitorder="little")
    strengths = np.abs(change).mean(axis=1, dtype=np.float32)
    return FingerprintFrames(np.ascontiguousarray(bits).view("<u4")[:, 0], strengths)


def count_differing_bits(ones: "Prints", others: "Prints") -> Any:
    """Return how many bits differ in each frame."""
    import numpy as np

    return np.bitwise_count(ones ^ others)


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
class FingerprintAnchors:
    """Keys, shaped (anchors, KEYS), and for each anchor 16 bytes of prints from it on."""

    keys: "NDArray[np.uint64]"
    contexts: "NDArray[np.uint8]"


def find_anchors(frames: FingerprintFrames) -> FingerprintAnchors:
    """Return the anchors of a recording: none if it is too short or never changes."""
    import numpy as np

    peaks = _find_peaks(frames.strengths)
    steps = np.arange(_WORDS) * _SPACING
    words = frames.prints[peaks[:, None] + steps] if len(peaks) else _no_words()
    contexts = np.ascontiguousarray(words).view(np.uint8).reshape(-1, 4 * _WORDS)
    return FingerprintAnchors(_keys(words[:, _KEYED]), contexts)


def _no_words() -> "NDArray[np.uint32]":
    import numpy as np

    return np.zeros((0, _WORDS), np.uint32)


def _find_peaks(strengths: "NDArray[np.float32]") -> "NDArray[np.int64]":
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


_MAX_EXHAUSTIVE = 4_000
"""Number of frames up to which all alignments are tried: about a minute."""

_SAMPLES = 4_000
"""Number of frames of a longer recording that are looked up in the other."""

_NUM_LIKELY = 8
"""Likely alignments to try for longer recordings, with `_NEIGHBOURS` frames to either side."""

_NEIGHBOURS = 2


def fingerprint_distance(
    ones: "Prints", others: "Prints", overlap: float, *, excerpts: bool = False
) -> float:
    """Return the smallest share of bits that differ, or 1.0 if the overlap is too short.

    The overlap must cover the share `overlap` of the longer recording; of the shorter one for
    excerpts.
    """
    sizes = len(ones), len(others)
    need = max(1, ceil(overlap * (min(sizes) if excerpts else max(sizes))))
    if min(sizes) < need:
        return 1.0
    low, high = need - len(others), len(ones) - need
    shifts: Iterable[int] = range(low, high + 1)
    if max(sizes) > _MAX_EXHAUSTIVE:
        shifts = _likely_alignments(ones, others, low, high)
    return min((_distance_at(ones, others, shift) for shift in shifts), default=1.0)


def _distance_at(ones: "Prints", others: "Prints", shift: int) -> float:
    """Compare with the second recording beginning at frame `shift` (or before) of the first."""
    start, end = max(0, shift), min(len(ones), shift + len(others))
    bits = count_differing_bits(ones[start:end], others[start - shift : end - shift])
    return float(bits.mean()) / 32


def _likely_alignments(ones: "Prints", others: "Prints", low: int, high: int) -> list[int]:
    """Return the alignments at which most prints are equal, and their neighbours."""
    import numpy as np

    order = np.argsort(others, kind="stable")
    ordered = others[order]
    sampled = np.linspace(0, len(ones) - 1, min(_SAMPLES, len(ones))).astype(np.int64)
    firsts = np.searchsorted(ordered, ones[sampled])
    lasts = np.searchsorted(ordered, ones[sampled], side="right")
    single = lasts - firsts == 1  # repeated prints, such as silence, do not locate anything
    found = sampled[single] - order[firsts[single]]
    found = found[(found >= low) & (found <= high)]
    return _with_neighbours(found, low, high)


def _with_neighbours(found: "NDArray[np.int64]", low: int, high: int) -> list[int]:
    import numpy as np

    values, counts = np.unique(found, return_counts=True)
    best = values[np.argsort(-counts, kind="stable")[:_NUM_LIKELY]].tolist()
    near = {shift + step for shift in best for step in range(-_NEIGHBOURS, _NEIGHBOURS + 1)}
    return sorted(shift for shift in near if low <= shift <= high)
