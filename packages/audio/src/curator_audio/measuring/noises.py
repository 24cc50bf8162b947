"""Noise: how far speech stands out of what is heard in its pauses."""

from curator_audio.measuring.levels import QUIETEST, FrameEnergies
from curator_audio.waveforms import Waveform

_PAUSES = 0.1
"""The share of frames that are taken for pauses: the quietest ones."""

_HIGHEST_DB = 100.0


class SignalToNoise:
    """Decibels between all of it and its quietest tenth: for speech, which has pauses.

    What never pauses (a tone, music, nothing but noise) has about 0 dB.
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
