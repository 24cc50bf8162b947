"""Levels: duration, sample rate, channels, peak, clipping and DC offset."""

from typing import TYPE_CHECKING

from curator_audio.waveform import Waveform

if TYPE_CHECKING:
    import numpy as np


FULL_SCALE = 0.999
"""Samples from this value on count as clipped: rounding may keep them just below the limit."""

QUIETEST = 1e-10
"""Smallest energy: -100 dB."""


class Duration:
    """Measure the duration in seconds."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._count, self._rate = 0, 1

    def add(self, block: Waveform) -> None:
        self._count += block.samples.shape[1]
        self._rate = block.sample_rate

    def result(self) -> float:
        return self._count / self._rate


class SampleRate:
    """Report the samples per second."""

    def __init__(self) -> None:
        self._rate = 0

    def add(self, block: Waveform) -> None:
        self._rate = block.sample_rate

    def result(self) -> float:
        return float(self._rate)


class ChannelCount:
    def __init__(self) -> None:
        self._channels = 0

    def add(self, block: Waveform) -> None:
        self._channels = block.samples.shape[0]

    def result(self) -> float:
        return float(self._channels)


class Peak:
    """Measure the largest sample in decibels relative to full scale; -100 for digital silence."""

    def __init__(self) -> None:
        self._peak = 0.0

    def add(self, block: Waveform) -> None:
        self._peak = max(self._peak, float(block.samples.max()), -float(block.samples.min()))

    def result(self) -> float:
        from math import log10

        return 20 * log10(max(self._peak, QUIETEST**0.5))


class Clipping:
    """Measure the share of clipped samples."""

    def __init__(self) -> None:
        self._clipped = self._count = 0

    def add(self, block: Waveform) -> None:
        self._clipped += int((abs(block.samples) >= FULL_SCALE).sum())
        self._count += block.samples.size

    def result(self) -> float:
        return self._clipped / self._count


class DcOffset:
    """Measure how far the mean is from zero, in the channel where it is farthest."""

    def __init__(self) -> None:
        self._sums: np.ndarray | float = 0.0
        self._count = 0

    def add(self, block: Waveform) -> None:
        self._sums = self._sums + block.samples.sum(axis=1, dtype=float)
        self._count += block.samples.shape[1]

    def result(self) -> float:
        import numpy as np

        return float(np.abs(self._sums).max() / self._count)
