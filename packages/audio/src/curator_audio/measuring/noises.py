"""Noise: estimate the signal-to-noise ratio of speech from its pauses."""

from curator_audio.measuring.levels import QUIETEST, FrameEnergies
from curator_audio.waveforms import Waveform

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

    def hear(self, piece: Waveform) -> None:
        self._frames.hear(piece)

    def answer(self) -> float:
        import numpy as np

        energies = np.sort(self._frames.answer())
        pauses = max(1, round(energies.size * _PAUSES))
        noise = max(QUIETEST, float(energies[:pauses].mean()))
        signal = max(QUIETEST, float(energies.mean()) - noise)
        return float(np.clip(10 * np.log10(signal / noise), -_HIGHEST_DB, _HIGHEST_DB))
