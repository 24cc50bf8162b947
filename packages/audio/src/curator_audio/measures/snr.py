"""Silence and signal-to-noise ratio, both measured from the energies of short frames."""

from typing import TYPE_CHECKING

from curator_audio.measures.levels import QUIETEST
from curator_audio.waveform import Waveform

if TYPE_CHECKING:
    import numpy as np


SILENCE_DB = -50.0
"""Frames below this level, relative to full scale, are silent."""

FRAME_SECONDS = 0.02


class FrameEnergies:
    """Compute the mean squares of frames of 20 ms, averaged over all channels."""

    def __init__(self) -> None:
        self._energies: list[np.ndarray] = []
        self._rest: np.ndarray | None = None

    def add(self, block: Waveform) -> None:
        import numpy as np

        squares = np.square(block.samples).mean(axis=0)
        if self._rest is not None:
            squares = np.concatenate([self._rest, squares])
        length = max(1, round(block.sample_rate * FRAME_SECONDS))
        whole = squares.shape[0] // length * length
        self._energies.append(squares[:whole].reshape(-1, length).mean(axis=1))
        self._rest = squares[whole:]

    def result(self) -> "np.ndarray":
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

    def add(self, block: Waveform) -> None:
        self._frames.add(block)

    def result(self) -> float:
        return float((self._frames.result() < 10 ** (SILENCE_DB / 10)).mean())


_PAUSES = 0.1
"""Share of frames that are taken for pauses: the quietest ones."""

_HIGHEST_DB = 100.0


class SignalToNoise:
    """Compare the whole recording to its quietest tenth, in decibels.

    For speech, which has pauses. Sound without pauses (a tone, music, or noise alone) has about
    0 dB.
    """

    def __init__(self) -> None:
        self._frames = FrameEnergies()

    def add(self, block: Waveform) -> None:
        self._frames.add(block)

    def result(self) -> float:
        import numpy as np

        energies = np.sort(self._frames.result())
        pauses = max(1, round(energies.size * _PAUSES))
        noise = max(QUIETEST, float(energies[:pauses].mean()))
        signal = max(QUIETEST, float(energies.mean()) - noise)
        return float(np.clip(10 * np.log10(signal / noise), -_HIGHEST_DB, _HIGHEST_DB))
