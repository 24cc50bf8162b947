"""Audio measurer, and filters by a single measure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa
from curator_core import Dropped, ProcessingStage, Rejected
from curator_core.errors import hint
from curator_core.io.filesystems import StorageOptions

from curator_audio.audio_batch import DURATION, PATH, AudioBatch
from curator_audio.measures.bandwidth import Bandwidth
from curator_audio.measures.levels import (
    ChannelCount,
    Clipping,
    DcOffset,
    Duration,
    Peak,
    SampleRate,
)
from curator_audio.measures.loudness import IntegratedLoudness
from curator_audio.measures.snr import SignalToNoise, SilenceShare
from curator_audio.row_selection import apply_drop_reasons
from curator_audio.spans import Accumulator, AccumulatorGroup
from curator_audio.waveform import NATIVE

MEASURES: dict[str, Callable[[], Accumulator[float | None]]] = {
    "duration": Duration,
    "sample_rate": SampleRate,
    "channels": ChannelCount,
    "bandwidth_hz": Bandwidth,
    "peak_db": Peak,
    "clipping": Clipping,
    "dc_offset": DcOffset,
    "silence": SilenceShare,
    "snr_db": SignalToNoise,
    "loudness_lufs": IntegratedLoudness,
}


@dataclass
class AudioMeasurer(ProcessingStage[AudioBatch, AudioBatch]):
    """Add measures as columns, computed in one pass, and drop nothing.

    A wrong `duration` from the manifest is corrected; `duration_given` then holds the original
    value and is null in the other rows. Rows that cannot be decoded are quarantined.
    """

    measures: list[str] = field(default_factory=lambda: list(MEASURES))
    """Measures to add: duration, sample_rate, channels, bandwidth_hz, peak_db, clipping, dc_offset,
    silence, snr_db, loudness_lufs.
    """

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def check(self) -> Iterator[str]:
        for name in self.measures:
            if name not in MEASURES:
                yield f"measures names {name!r}{hint(name, list(MEASURES))}"

    def outputs(self) -> Sequence[str]:
        given = (DURATION_GIVEN,) if DURATION in self.measures else ()
        return (*self.measures, *given)

    def inputs(self) -> Sequence[str]:
        return (PATH,)

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Rejected]:
        decoded = task.decode_into(
            NATIVE,
            lambda: AccumulatorGroup([MEASURES[name]() for name in self.measures]),
            self.storage_options,
        )
        columns = {
            name: pa.array([values[place] for values in decoded.values], pa.float64())
            for place, name in enumerate(self.measures)
        }
        if DURATION in columns:
            columns[DURATION_GIVEN] = _wrong_durations(decoded.batch, columns[DURATION])
        yield decoded.batch.with_columns(columns)
        yield from decoded.rejected


DURATION_GIVEN = "duration_given"

_ROUNDING = 0.05
"""Seconds; manifests round durations, and codecs pad."""


def _wrong_durations(batch: AudioBatch, measured: pa.Array) -> pa.Array:
    """Return the durations of the manifest that are wrong, and null for the others."""
    given = [None] * batch.num_items
    if DURATION in batch.columns():
        given = batch.data.column(DURATION).to_pylist()
    wrong = [
        seconds if seconds is not None and abs(float(seconds) - actual) > _ROUNDING else None
        for seconds, actual in zip(given, measured.to_pylist(), strict=True)
    ]
    return pa.array(wrong, pa.float64())


@dataclass
class MeasureFilter(ProcessingStage[AudioBatch, AudioBatch]):
    """Keep recordings whose measure is between two bounds, each of which is optional."""

    measure: ClassVar[str] = ""
    label: ClassVar[str] = ""
    """Name of the measure as used in reasons for a drop."""

    unit: ClassVar[str] = ""

    at_least: float | None = None
    """Lowest value to keep. No lower bound by default."""

    at_most: float | None = None
    """Highest value to keep. No upper bound by default."""

    score_field: str | None = field(default=None, kw_only=True)
    """Column to write the value to. Not written by default."""

    storage_options: StorageOptions | None = field(default=None, repr=False, kw_only=True)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def check(self) -> Iterator[str]:
        low, high = self.at_least, self.at_most
        if low is None and high is None and self.score_field is None:
            yield "it keeps everything: give at_least, at_most or score_field"
        if low is not None and high is not None and low > high:
            yield f"at_least is {low:g}, which is more than at_most, {high:g}"

    def outputs(self) -> Sequence[str]:
        return () if self.score_field is None else (self.score_field,)

    def inputs(self) -> Sequence[str]:
        return (PATH,)

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Dropped | Rejected]:
        decoded = task.decode_into(NATIVE, MEASURES[self.measure], self.storage_options)
        batch = decoded.batch
        if self.score_field is not None:
            scores = pa.array(decoded.values, pa.float64())
            batch = batch.with_columns({self.score_field: scores})
        reasons = [self._drop_reason(value) for value in decoded.values]
        yield from apply_drop_reasons(batch, reasons, {self.measure: decoded.values})
        yield from decoded.rejected

    def _drop_reason(self, value: float | None) -> str | None:
        """Return why a recording with this value is dropped, or None to keep it."""
        if self.at_least is None and self.at_most is None:
            return None
        if value is None:
            return f"{self.label} unknown: too short"
        if self.at_least is not None and value < self.at_least:
            return f"{self.label} below {self.at_least:g}{self.unit}"
        if self.at_most is not None and value > self.at_most:
            return f"{self.label} above {self.at_most:g}{self.unit}"
        return None


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
