"""The measures by name, and the stage that adds them as columns."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from curator_core import ProcessingStage, Rejected
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
            name: pa.array([values[index] for values in decoded.values], pa.float64())
            for index, name in enumerate(self.measures)
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
