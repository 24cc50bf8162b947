"""Loudness according to ITU-R BS.1770-4 and EBU R 128, and normalization to a target loudness."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import ceil, log2, pi, tan
from typing import TYPE_CHECKING

import pyarrow as pa
from curator_core import ProcessingStage, Rejected
from curator_core.io.filesystems import StorageOptions

from curator_audio.audio_batch import GAIN, PATH, AudioBatch
from curator_audio.measures.levels import Peak
from curator_audio.spans import AccumulatorGroup
from curator_audio.waveform import NATIVE, Waveform

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from curator_audio.waveform import Samples

    Energies = NDArray[np.float64]
    Spectrum = NDArray[np.complexfloating]


SILENT_LUFS = -70.0
"""Absolute gate, and the loudness reported for anything quieter."""

_OFFSET = -0.691

_RELATIVE_GATE_LU = -10.0

_LOWEST_RATE = 4_000
"""The shelf filter does not fit below this sample rate."""

_HOPS = 4
"""A block of 400 ms is four hops of 100 ms."""

_WEIGHTS = {5: (1.0, 1.0, 1.0, 1.41, 1.41), 6: (1.0, 1.0, 1.0, 0.0, 1.41, 1.41)}
"""Channel weights: surround channels count more, the LFE channel does not count."""


class IntegratedLoudness:
    """Measure LUFS; None for less than 400 ms, and for sample rates below 4,000."""

    def __init__(self) -> None:
        self._waiting: Samples | None = None
        self._energies: list[Energies] = []
        self._filtered: Samples | None = None
        self._rate = 0

    def add(self, block: Waveform) -> None:
        import numpy as np

        self._rate = block.sample_rate
        if self._rate < _LOWEST_RATE:
            return
        fresh = block.samples
        if self._waiting is None:  # silence precedes the recording
            self._waiting = np.zeros((fresh.shape[0], self._memory), np.float32)
        self._waiting = np.concatenate([self._waiting, fresh], axis=1)
        step = _length(self._rate) - 2 * self._memory
        while self._waiting.shape[1] >= self._memory + step:
            self._take(self._waiting[:, : self._memory + step])
            self._waiting = self._waiting[:, step:]

    def result(self) -> float | None:
        import numpy as np

        if self._waiting is not None and self._waiting.shape[1] > self._memory:
            self._take(self._waiting)
        hops = np.concatenate(self._energies, axis=1) if self._energies else np.zeros((1, 0))
        if hops.shape[1] < _HOPS:
            return None
        blocks = np.lib.stride_tricks.sliding_window_view(hops, _HOPS, axis=1).mean(axis=2)
        weights = np.array(_WEIGHTS.get(hops.shape[0], (1.0,) * hops.shape[0]))
        return _gated_loudness(weights @ blocks)

    @property
    def _memory(self) -> int:
        """Number of samples after which the response of the filters has decayed."""
        return self._rate // 2 + 1

    def _take(self, samples: "Samples") -> None:
        """Filter a block, with the samples before it as context, and store the energies of its
        hops.
        """
        import numpy as np

        count = _length(self._rate)
        spectrum = np.fft.rfft(samples, count) * _response(self._rate)
        whole = np.asarray(np.fft.irfft(spectrum, count), np.float32)
        current = whole[:, self._memory : samples.shape[1]]
        if self._filtered is not None:
            current = np.concatenate([self._filtered, current], axis=1)
        hop = max(1, round(self._rate / 10))
        hops = current.shape[1] // hop
        parts = current[:, : hops * hop].reshape(current.shape[0], hops, hop)
        self._energies.append(np.square(parts).mean(axis=2, dtype=np.float64))
        self._filtered = current[:, hops * hop :]


def _gated_loudness(power: "Energies") -> float:
    """Return the loudness of the blocks that pass the absolute and the relative gate."""
    import numpy as np

    loudness = _OFFSET + 10 * np.log10(np.maximum(power, 1e-20))
    loud = loudness > SILENT_LUFS
    if not loud.any():
        return SILENT_LUFS
    gate = _OFFSET + 10 * np.log10(power[loud].mean()) + _RELATIVE_GATE_LU
    chosen = power[loud & (loudness > gate)].mean()
    return float(_OFFSET + 10 * np.log10(chosen))


def _length(rate: int) -> int:
    return 1 << max(12, ceil(log2(rate * 4)))


@cache
def _response(rate: int) -> "Spectrum":
    """Return the K-weighting for this rate: a high shelf and a high-pass."""
    import numpy as np

    count = _length(rate)
    turn = np.exp(-2j * pi * np.arange(count // 2 + 1) / count)
    shelf, high_pass = _shelf(rate), _high_pass(rate)
    whole: Spectrum = np.ones_like(turn)
    for above, below in (shelf, high_pass):
        whole = whole * _polynomial(above, turn) / _polynomial(below, turn)
    return np.asarray(whole, np.complex64)


def _polynomial(factors: tuple[float, float, float], turn: "Spectrum") -> "Spectrum":
    return factors[0] + factors[1] * turn + factors[2] * turn * turn


_Factors = tuple[tuple[float, float, float], tuple[float, float, float]]


def _shelf(rate: int) -> _Factors:
    k, quality = tan(pi * 1681.974450955533 / rate), 0.7071752369554196
    high = 10 ** (3.999843853973347 / 20)
    band = high**0.4996667741545416
    below = 1 + k / quality + k * k
    above = (
        (high + band * k / quality + k * k) / below,
        2 * (k * k - high) / below,
        (high - band * k / quality + k * k) / below,
    )
    return above, (1.0, 2 * (k * k - 1) / below, (1 - k / quality + k * k) / below)


def _high_pass(rate: int) -> _Factors:
    k, quality = tan(pi * 38.13547087602444 / rate), 0.5003270373238773
    below = 1 + k / quality + k * k
    return (1.0, -2.0, 1.0), (1.0, 2 * (k * k - 1) / below, (1 - k / quality + k * k) / below)


@dataclass
class LoudnessNormalizer(ProcessingStage[AudioBatch, AudioBatch]):
    """Write to `gain_db` the gain that brings each row to a target loudness.

    Later stages apply the gain when they decode. Rows that are silent, or too short to have a
    loudness, keep their gain.
    """

    target_lufs: float = -23.0
    """Target loudness; EBU R 128 uses -23."""

    highest_peak_db: float = -1.0
    """Limit for the largest sample after the gain, even if the target loudness is missed."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def check(self) -> Iterator[str]:
        if self.highest_peak_db > 0:
            yield f"highest_peak_db is {self.highest_peak_db:g}, but above 0 everything is clipped"
        if not -70 < self.target_lufs <= 0:
            yield f"target_lufs is {self.target_lufs:g}, but must be between -70 and 0"

    def inputs(self) -> Sequence[str]:
        return (PATH,)

    def outputs(self) -> Sequence[str]:
        return (GAIN,)

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Rejected]:
        decoded = task.decode_into(
            NATIVE, lambda: AccumulatorGroup([IntegratedLoudness(), Peak()]), self.storage_options
        )
        before = decoded.batch.gains()
        gains = [
            old + self._gain(*values) for old, values in zip(before, decoded.values, strict=True)
        ]
        yield decoded.batch.with_columns({GAIN: pa.array(gains, pa.float64())})
        yield from decoded.rejected

    def _gain(self, loudness: float | None, peak: float | None) -> float:
        if loudness is None or loudness <= SILENT_LUFS or peak is None:
            return 0.0
        return min(self.target_lufs - loudness, self.highest_peak_db - peak)
