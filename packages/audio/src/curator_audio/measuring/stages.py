"""Stages that measure recordings: several numbers in one go, or one that decides."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa
from curator_core import Dropped, ProcessingStage, Rejected
from curator_core.errors import hint
from curator_core.io.filesystems import StorageOptions

from curator_audio.batches import DURATION, PATH, AudioBatch
from curator_audio.forms import NATIVE
from curator_audio.measuring.measures import MEASURES, Answer, Together
from curator_audio.settling import settled


@dataclass
class AudioMeasurer(ProcessingStage[AudioBatch, AudioBatch]):
    """Adds measures as columns, all of them heard in one go, and drops nothing.

    A `duration` that the manifest gave wrongly is corrected; what it said goes to
    `duration_given`, which is null in the other rows. Rows that cannot be heard are set aside.
    """

    measures: list[str] = field(default_factory=lambda: list(MEASURES))
    """Which: duration, sample_rate, channels, bandwidth_hz, peak_db, clipping, dc_offset, silence,
    snr_db, loudness_lufs. All of them unless given."""

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
        heard = task.listen(
            NATIVE,
            lambda: Together([MEASURES[name]() for name in self.measures]),
            self.storage_options,
        )
        columns = {
            name: pa.array([values[place] for values in heard.values], pa.float64())
            for place, name in enumerate(self.measures)
        }
        if DURATION in columns:
            columns[DURATION_GIVEN] = _misstated(heard.batch, columns[DURATION])
        yield heard.batch.with_columns(columns)
        yield from heard.rejected


DURATION_GIVEN = "duration_given"

_ROUNDING = 0.05
"""Seconds: manifests round durations, and codecs pad."""


def _misstated(batch: AudioBatch, measured: pa.Array) -> pa.Array:
    """What the manifest said, where that is wrong."""
    said = [None] * batch.num_items
    if DURATION in batch.columns():
        said = batch.data.column(DURATION).to_pylist()
    wrong = [
        given if given is not None and abs(float(given) - true) > _ROUNDING else None
        for given, true in zip(said, measured.to_pylist(), strict=True)
    ]
    return pa.array(wrong, pa.float64())


@dataclass
class MeasureFilter(ProcessingStage[AudioBatch, AudioBatch]):
    """Keeps the recordings whose measure lies between two bounds, both of which may be left out."""

    measure: ClassVar[str] = ""
    words: ClassVar[str] = ""
    """What is measured, and its unit: for the reasons."""

    unit: ClassVar[str] = ""

    at_least: float | None = None
    """The lowest value that stays; no lower bound unless given."""

    at_most: float | None = None
    """The highest value that stays; no upper bound unless given."""

    score_field: str | None = field(default=None, kw_only=True)
    """A column for the value, if it is to be kept."""

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
        heard = task.listen(NATIVE, MEASURES[self.measure], self.storage_options)
        batch = heard.batch
        if self.score_field is not None:
            scores = pa.array(heard.values, pa.float64())
            batch = batch.with_columns({self.score_field: scores})
        faults = [self._fault(value) for value in heard.values]
        yield from settled(batch, faults, {self.measure: heard.values})
        yield from heard.rejected

    def _fault(self, value: Answer) -> str | None:
        """Why a recording with this value goes, or None where it stays."""
        if self.at_least is None and self.at_most is None:
            return None
        said = self.words
        if value is None:
            return f"{said} unknown: too short"
        if self.at_least is not None and value < self.at_least:
            return f"{said} below {self.at_least:g}{self.unit}"
        if self.at_most is not None and value > self.at_most:
            return f"{said} above {self.at_most:g}{self.unit}"
        return None


class DurationFilter(MeasureFilter):
    """Keeps recordings of some length in seconds, as they are and not as a manifest says."""

    measure, words, unit = "duration", "duration", " s"


class SampleRateFilter(MeasureFilter):
    """Keeps recordings of some sample rate in Hz."""

    measure, words, unit = "sample_rate", "sample rate", " Hz"


class BandwidthFilter(MeasureFilter):
    """Keeps recordings that hold something up to some frequency in Hz: others were upsampled."""

    measure, words, unit = "bandwidth_hz", "bandwidth", " Hz"


class ClippingFilter(MeasureFilter):
    """Keeps recordings by the share of samples that are at the limit."""

    measure, words = "clipping", "clipping"


class DcOffsetFilter(MeasureFilter):
    """Keeps recordings by how far the mean of their samples lies from zero."""

    measure, words = "dc_offset", "DC offset"


class SilenceFilter(MeasureFilter):
    """Keeps recordings by the share of frames below -50 dB."""

    measure, words = "silence", "silence"


class SnrFilter(MeasureFilter):
    """Keeps recordings of speech by how far it stands out of its pauses, in decibels."""

    measure, words, unit = "snr_db", "signal-to-noise ratio", " dB"


class LoudnessFilter(MeasureFilter):
    """Keeps recordings of some loudness in LUFS (BS.1770)."""

    measure, words, unit = "loudness_lufs", "loudness", " LUFS"
