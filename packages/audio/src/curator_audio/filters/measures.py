"""Filters that compare one measure of a recording with limits."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from curator_audio.filters.base import AudioFilter
from curator_audio.measures.measurer import MEASURES
from curator_audio.spans import Accumulator


@dataclass
class MeasureFilter(AudioFilter):
    """Keep recordings whose measure is between two bounds, each of which is optional."""

    measure: ClassVar[str] = ""
    label: ClassVar[str] = ""
    """Name of the measure as used in reasons for a drop."""

    unit: ClassVar[str] = ""

    at_least: float | None = None
    """Lowest value to keep. No lower bound by default."""

    at_most: float | None = None
    """Highest value to keep. No upper bound by default."""

    def check(self) -> Iterator[str]:
        low, high = self.at_least, self.at_most
        if low is None and high is None and self.score_field is None:
            yield "it keeps everything: give at_least, at_most or score_field"
        if low is None and high is None and self.invert:
            yield "it drops everything: invert needs at_least or at_most"
        if low is not None and high is not None and low > high:
            yield f"at_least is {low:g}, which is more than at_most, {high:g}"

    @property
    def score_name(self) -> str:
        return self.measure

    @property
    def accumulator(self) -> Callable[[], Accumulator[float | None]]:
        return MEASURES[self.measure]

    def keeps(self, score: float | None) -> bool:
        low, high = self.at_least, self.at_most
        if low is None and high is None:
            return True
        if score is None:
            return False
        return (low is None or score >= low) and (high is None or score <= high)

    @property
    def reason(self) -> str:
        bounds = [f"below {self.at_least:g}{self.unit}"] if self.at_least is not None else []
        bounds += [f"above {self.at_most:g}{self.unit}"] if self.at_most is not None else []
        return f"{self.label} {' or '.join(bounds)}"

    def reason_for(self, score: float | None) -> str:
        if score is None:
            return f"{self.label} unknown: too short"
        if self.at_least is not None and score < self.at_least:
            return f"{self.label} below {self.at_least:g}{self.unit}"
        return f"{self.label} above {self.at_most:g}{self.unit}"


class DurationFilter(MeasureFilter):
    """Keep recordings by their measured duration in seconds, not the manifest's."""

    measure, label, unit = "duration", "duration", " s"


class SampleRateFilter(MeasureFilter):
    """Keep recordings by their sample rate in Hz."""

    measure, label, unit = "sample_rate", "sample rate", " Hz"


class BandwidthFilter(MeasureFilter):
    """Keep recordings by their bandwidth in Hz, for example to drop upsampled ones."""

    measure, label, unit = "bandwidth_hz", "bandwidth", " Hz"


class ClippingFilter(MeasureFilter):
    """Keep recordings by their share of clipped samples."""

    measure, label = "clipping", "clipping"


class DcOffsetFilter(MeasureFilter):
    """Keep recordings by how far the mean of their samples is from zero."""

    measure, label = "dc_offset", "DC offset"


class SilenceFilter(MeasureFilter):
    """Keep recordings by the share of frames below -50 dB."""

    measure, label = "silence", "silence"


class SnrFilter(MeasureFilter):
    """Keep recordings of speech by their signal-to-noise ratio in decibels."""

    measure, label, unit = "snr_db", "signal-to-noise ratio", " dB"


class LoudnessFilter(MeasureFilter):
    """Keep recordings by their loudness in LUFS (BS.1770)."""

    measure, label, unit = "loudness_lufs", "loudness", " LUFS"
