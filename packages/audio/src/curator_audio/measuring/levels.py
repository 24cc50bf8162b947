"""Levels: duration, sample rate, channels, peak, clipping, DC offset and silence."""

from typing import TYPE_CHECKING

from curator_audio.waveforms import Waveform

if TYPE_CHECKING:
    import numpy as np

FULL_SCALE = 0.999
"""Samples from this value on count as clipped: rounding may keep them just below the limit."""

SILENCE_DB = -50.0
"""Frames below this level, relative to full scale, are silent."""

FRAME_SECONDS = 0.02
QUIETEST = 1e-10
"""Smallest energy: -100 dB."""


class Duration:
    """Measure the duration in seconds."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._count, self._rate = 0, 1

    def hear(self, piece: Waveform) -> None:
        self._count += piece.samples.shape[1]
        self._rate = piece.sample_rate

    def answer(self) -> float:
        return self._count / self._rate


class SampleRate:
    """Report the samples per second."""

    def __init__(self) -> None:
        self._rate = 0

    def hear(self, piece: Waveform) -> None:
        self._rate = piece.sample_rate

    def answer(self) -> float:
        return float(self._rate)


class ChannelCount:
    def __init__(self) -> None:
        self._channels = 0

    def hear(self, piece: Waveform) -> None:
        self._channels = piece.samples.shape[0]

    def answer(self) -> float:
        return float(self._channels)


class Peak:
    """Measure the largest sample in decibels relative to full scale; -100 for digital silence."""

    def __init__(self) -> None:
        self._peak = 0.0

    def hear(self, piece: Waveform) -> None:
        self._peak = max(self._peak, float(piece.samples.max()), -float(piece.samples.min()))

    def answer(self) -> float:
        from math import log10

        return 20 * log10(max(self._peak, QUIETEST**0.5))


class Clipping:
    """Measure the share of clipped samples."""

    def __init__(self) -> None:
        self._clipped = self._count = 0

    def hear(self, piece: Waveform) -> None:
        self._clipped += int((abs(piece.samples) >= FULL_SCALE).sum())
        self._count += piece.samples.size

    def answer(self) -> float:
        return self._clipped / self._count


class DcOffset:
    """Measure how far the mean is from zero, in the channel where it is farthest."""

    def __init__(self) -> None:
        self._sums: np.ndarray | float = 0.0
        self._count = 0

    def hear(self, piece: Waveform) -> None:
        self._sums = self._sums + piece.samples.sum(axis=1, dtype=float)
        self._count += piece.samples.shape[1]

    def answer(self) -> float:
        import numpy as np

        return float(np.abs(self._sums).max() / self._count)


class FrameEnergies:
    """Compute the mean squares of frames of 20 ms, averaged over all channels."""

    def __init__(self) -> None:
        self._energies: list[np.ndarray] = []
        self._rest: np.ndarray | None = None

    def hear(self, piece: Waveform) -> None:
        import numpy as np

        squares = np.square(piece.samples).mean(axis=0)
        if self._rest is not None:
            squares = np.concatenate([self._rest, squares])
        length = max(1, round(piece.sample_rate * FRAME_SECONDS))
        whole = squares.shape[0] // length * length
        self._energies.append(squares[:whole].reshape(-1, length).mean(axis=1))
        self._rest = squares[whole:]

    def answer(self) -> "np.ndarray":
        """Return the energies; sound shorter than one frame counts as one frame."""
        import numpy as np

        found = np.concatenate(self._energies)
        if not found.size and self._rest is not None:
            found = self._rest.mean(keepdims=True)
        return found


class SilenceShare:
    """Measure the share of frames below -50 dB."""

    def __init__(self) -> None:
        self._frames = FrameEnergies()

    def hear(self, piece: Waveform) -> None:
        self._frames.hear(piece)

    def answer(self) -> float:
        return float((self._frames.answer() < 10 ** (SILENCE_DB / 10)).mean())
