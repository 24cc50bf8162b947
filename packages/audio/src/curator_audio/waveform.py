"""Waveforms: decoded samples, and the format (sample rate and channels) to decode to."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples: TypeAlias = NDArray[np.float32]
    """Samples with a row per channel."""

    MonoSamples: TypeAlias = NDArray[np.float32]
    """Samples of one channel."""


@dataclass(frozen=True)
class Waveform:
    """Samples between -1 and 1, with a row per channel."""

    samples: "Samples"
    sample_rate: int

    @property
    def seconds(self) -> float:
        return float(self.samples.shape[1] / self.sample_rate)

    def __reduce__(self) -> str:
        raise TypeError(
            "a waveform stays in the process that decoded it; send the row of the manifest instead"
        )


Channels: TypeAlias = Literal["mono", "all"] | int
"""The mean of all channels, all channels, or one channel by number, from 0."""

Quality: TypeAlias = Literal["fast", "best"]
"""Resampling method: FFmpeg's filter, or a long window, which takes six times as long."""

HIGHEST_RATE = 768_000


@dataclass(frozen=True)
class AudioFormat:
    """The format that a stage needs. Stages with equal formats share one decoding."""

    sample_rate: int | None = None
    """In Hz; None keeps the original rate."""

    channels: Channels = "mono"
    quality: Quality = "fast"

    def problems(self) -> Iterator[str]:
        """Yield invalid values, named like the options of a stage."""
        rate, channels = self.sample_rate, self.channels
        if rate is not None and not 1 <= rate <= HIGHEST_RATE:
            yield f"sample_rate is {rate}, but must be between 1 and {HIGHEST_RATE}"
        is_number = isinstance(channels, int) and not isinstance(channels, bool) and channels >= 0
        if not is_number and channels not in ("mono", "all"):
            yield f"channels is {channels!r}, but must be mono, all, or a number from 0"
        if self.quality not in get_args(Quality):
            yield f"quality is {self.quality!r}, but must be one of {', '.join(get_args(Quality))}"


NATIVE = AudioFormat(None, "all")
"""As recorded, for measures of the recording itself."""

SPEECH = AudioFormat(16_000)
"""Input of speech models."""
