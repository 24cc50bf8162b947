"""Bandwidth: the highest frequency with signal, whatever the sample rate."""

from functools import cache
from typing import TYPE_CHECKING

from curator_audio.waveform import Waveform

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.floating]


_POINTS = 512

_FLOOR_DB = -50.0
"""Frequencies this far below the strongest one count as empty."""


class Bandwidth:
    """Measure the highest frequency, in Hz, where the mean spectrum is within 50 dB of its peak."""

    def __init__(self) -> None:
        self._power: Numbers | float = 0.0
        self._frames = 0
        self._rest: Numbers | None = None
        self._rate = 0

    def add(self, block: Waveform) -> None:
        import numpy as np

        mono = block.samples.mean(axis=0)
        if self._rest is not None:
            mono = np.concatenate([self._rest, mono])
        self._rate = block.sample_rate
        frames = mono.shape[0] // _POINTS
        self._add(mono[: frames * _POINTS].reshape(-1, _POINTS))
        self._rest = mono[frames * _POINTS :]

    def _add(self, frames: "Numbers") -> None:
        import numpy as np

        if frames.shape[0]:
            spectra = np.fft.rfft(frames * _taper())
            power = np.square(spectra.real) + np.square(spectra.imag)
            self._power = self._power + power.sum(axis=0, dtype=np.float64)
            self._frames += frames.shape[0]

    def result(self) -> float:
        import numpy as np

        if not self._frames and self._rest is not None:
            self._add(np.pad(self._rest, (0, _POINTS - self._rest.shape[0]))[None])
        power = np.atleast_1d(self._power)
        peak = float(power.max())
        if peak <= 0:
            return 0.0
        audible = np.flatnonzero(power >= peak * 10 ** (_FLOOR_DB / 10))
        return float(audible.max()) * self._rate / _POINTS


@cache
def _taper() -> "Numbers":
    import numpy as np

    return np.hanning(_POINTS + 1)[:-1].astype(np.float32)
