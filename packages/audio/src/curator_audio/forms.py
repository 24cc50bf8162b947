"""Forms: sample rate and channels in which a stage wants audio."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Channels: TypeAlias = Literal["mono", "all"] | int
"""The mean of all channels, all channels, or one channel by number, from 0."""

Quality: TypeAlias = Literal["fast", "best"]
"""Resampling method: FFmpeg's filter, or a long window, which takes six times as long."""

HIGHEST_RATE = 768_000


@dataclass(frozen=True)
class Form:
    """The form in which a stage wants audio. Stages with equal forms share one decoding."""

    sample_rate: int | None = None
    """In Hz; None keeps the original rate."""

    channels: Channels = "mono"
    quality: Quality = "fast"

    def problems(self) -> Iterator[str]:
        """Yield the errors of the form, in terms of the options of a stage."""
        rate, channels = self.sample_rate, self.channels
        if rate is not None and not 1 <= rate <= HIGHEST_RATE:
            yield f"sample_rate is {rate}, but must be between 1 and {HIGHEST_RATE}"
        is_number = isinstance(channels, int) and not isinstance(channels, bool) and channels >= 0
        if not is_number and channels not in ("mono", "all"):
            yield f"channels is {channels!r}, but must be mono, all, or a number from 0"
        if self.quality not in get_args(Quality):
            yield f"quality is {self.quality!r}, but must be one of {', '.join(get_args(Quality))}"


NATIVE = Form(None, "all")
"""As recorded, for measures of the recording itself."""

SPEECH = Form(16_000)
"""Input of speech models."""
