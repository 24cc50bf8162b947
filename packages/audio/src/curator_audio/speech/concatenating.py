"""Concatenation: join segments of a recording, without the sound between them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from curator_core import Dropped, ProcessingStage, Rejected
from curator_core.io.filesystems import StorageOptions

from curator_audio.batches import AUDIO, DURATION, GAIN, OFFSET, PATH, AudioBatch
from curator_audio.encoding import encode
from curator_audio.forms import Form
from curator_audio.speech.joining import JOINED, PARTS
from curator_audio.waveforms import Waveform
from curator_audio.writing.naming import name_of

if TYPE_CHECKING:
    from curator_audio.waveforms import Samples

_PARTS = pa.list_(
    pa.struct([("start", pa.float64()), ("end", pa.float64()), ("offset", pa.float64())])
)
"""Start and end of each part within the row, and the offset of its start in the source."""


@dataclass
class SegmentConcatenator(ProcessingStage[AudioBatch, AudioBatch]):
    """Concatenate the segments of a recording in order, with silence between them.

    The result is stored in `audio` as FLAC. `parts` maps it to places in the source, for
    TimestampMapper. Other columns are those of the first segment. All segments of a recording must
    be in one batch, as for SegmentJoiner.
    """

    gap: float = 0.5
    """Seconds of silence between segments."""

    max_duration: float = 30.0
    """Maximum duration of a result, in seconds. A longer single segment is kept whole."""

    sample_rate: int = 16_000
    """Sample rate of the result, in Hz."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def check(self) -> Iterator[str]:
        if self.gap < 0:
            yield f"gap is {self.gap:g}, but must be 0 or more"
        if self.max_duration <= 0:
            yield f"max_duration is {self.max_duration:g}, but must be more than 0"
        yield from self.form.problems()

    @property
    def form(self) -> Form:
        return Form(self.sample_rate, "mono", "best")

    def inputs(self) -> Sequence[str]:
        return (PATH, OFFSET, DURATION)

    def outputs(self) -> Sequence[str]:
        return (AUDIO, PARTS, "source_filepath")

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        return None if before is None else (before - {OFFSET, GAIN}) | set(self.outputs())

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Dropped | Rejected]:
        task.refuse_scattered()
        heard = task.waveforms(self.form, self.storage_options)
        batch = heard.batch
        groups = list(self._groups(batch, heard.values))
        if groups:
            yield self._joined(batch, heard.values, groups)
        if gone := batch.num_items - len(groups):
            yield Dropped(JOINED, gone)
        yield from heard.rejected

    def _groups(self, batch: AudioBatch, waves: Sequence[Waveform]) -> Iterator[list[int]]:
        """Yield groups of rows of one source that fit into the maximum duration."""
        order = sorted(range(batch.num_items), key=lambda r: (batch.source_key(r), batch.start(r)))
        for _, rows in groupby(order, key=batch.source_key):
            group: list[int] = []
            length = 0.0
            for row in rows:
                seconds = waves[row].seconds
                if group and length + self.gap + seconds > self.max_duration:
                    yield group
                    group, length = [], 0.0
                length += seconds + (self.gap if group else 0.0)
                group.append(row)
            yield group

    def _joined(
        self, batch: AudioBatch, waves: Sequence[Waveform], groups: Sequence[Sequence[int]]
    ) -> AudioBatch:
        made = [self._concatenated(batch, waves, group) for group in groups]
        firsts = [group[0] for group in groups]
        taken = batch.with_data(batch.data.take(pa.array(firsts, pa.int64())))
        paths = taken.data.column(PATH).to_pylist()
        names = [
            f"{name_of(str(path), parts[0]['offset'], wave.seconds)}.flac"
            for path, (wave, parts) in zip(paths, made, strict=True)
        ]
        columns: dict[str, Any] = {
            PATH: pa.array(names, pa.string()),
            AUDIO: pa.array([encode(wave, "flac") for wave, _ in made], pa.binary()),
            DURATION: pa.array([wave.seconds for wave, _ in made], pa.float64()),
            "source_filepath": pa.array(paths, pa.string()),
            PARTS: pa.array([parts for _, parts in made], _PARTS),
        }
        known = taken.with_columns(columns)
        gone = [name for name in (OFFSET, GAIN) if name in known.columns()]
        return known.with_data(known.data.drop_columns(gone))

    def _concatenated(
        self, batch: AudioBatch, waves: Sequence[Waveform], group: Sequence[int]
    ) -> tuple[Waveform, list[dict[str, float]]]:
        import numpy as np

        silence = np.zeros((1, round(self.gap * self.sample_rate)), np.float32)
        pieces: list[Samples] = []
        parts: list[dict[str, float]] = []
        position = 0
        for row in group:
            if pieces:
                pieces.append(silence)
                position += silence.shape[1]
            samples = waves[row].samples
            end = position + samples.shape[1]
            parts.append(
                {
                    "start": position / self.sample_rate,
                    "end": end / self.sample_rate,
                    "offset": batch.start(row),
                }
            )
            pieces.append(samples)
            position = end
        return Waveform(np.hstack(pieces), self.sample_rate), parts
