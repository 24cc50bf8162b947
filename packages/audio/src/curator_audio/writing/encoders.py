"""Encoders: turn rows into encoded files, as bytes in a column."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import get_args

import pyarrow as pa
from curator_core import ProcessingStage, Rejected
from curator_core.errors import is_damage
from curator_core.io.filesystems import StorageOptions

from curator_audio.batches import AUDIO, DURATION, GAIN, OFFSET, PATH, AudioBatch
from curator_audio.encoding import OPUS_RATES, Encoder, Format
from curator_audio.forms import Channels, Form, Quality
from curator_audio.opening import UndecodableError
from curator_audio.speech.joining import PARTS
from curator_audio.waveforms import Waveform
from curator_audio.writing.naming import name_of

SOURCE, SOURCE_OFFSET = "source_filepath", "source_offset"

BATCH_BYTES = 32 * 1024 * 1024
"""Size at which a batch of encoded recordings is emitted."""


@dataclass(frozen=True)
class Encoded:
    """Properties of an encoded row."""

    seconds: float
    sample_rate: int


@dataclass(frozen=True)
class _InMemory(Encoded):
    data: bytes


class _Encoding:
    """Encode a row block by block in memory, keeping only the encoded bytes."""

    def __init__(self, kind: Format) -> None:
        self._file = io.BytesIO()
        self._encoder = Encoder(self._file, kind)

    def hear(self, piece: Waveform) -> None:
        self._encoder.write(piece)

    def answer(self) -> _InMemory:
        self._encoder.close()
        encoder = self._encoder
        return _InMemory(encoder.seconds, encoder.sample_rate, self._file.getvalue())


def file_name(task: AudioBatch, row: int, kind: Format) -> str:
    """Return the name for the file of a row."""
    try:
        seconds = task.given_duration(row)
    except UndecodableError:  # invalid: the name is made without it
        seconds = None
    path = str(task.data.column(PATH)[row].as_py() or "audio")
    return f"{name_of(path, task.given_offset(row), seconds)}.{kind}"


def describe_rows(
    task: AudioBatch, rows: Sequence[int], encoded: Sequence[Encoded], names: Sequence[str]
) -> AudioBatch:
    """Update rows to describe their new files and where they came from."""
    taken = task.with_data(task.data.take(pa.array(rows, pa.int64())))
    paths = [str(path or "audio") for path in taken.data.column(PATH).to_pylist()]
    starts = [taken.given_offset(place) for place in range(len(rows))]
    concatenated = {PARTS, SOURCE} <= set(taken.columns())
    sources = taken.data.column(SOURCE) if concatenated else None
    known = taken.with_columns(
        {
            PATH: pa.array(names, pa.string()),
            DURATION: pa.array([one.seconds for one in encoded], pa.float64()),
            "sample_rate": pa.array([float(one.sample_rate) for one in encoded], pa.float64()),
            SOURCE: pa.array(paths, pa.string()) if sources is None else sources,
            SOURCE_OFFSET: pa.array(starts, pa.float64()),
        }
    )
    gone = [name for name in (OFFSET, GAIN) if name in known.columns()]
    return known.with_data(known.data.drop_columns(gone))


@dataclass
class AudioEncoder(ProcessingStage[AudioBatch, AudioBatch]):
    """Encode each row as a file in the column `audio`, applying cuts and gains.

    `audio_filepath` becomes the name of the file; `source_filepath` and `source_offset` hold the
    original place. Parquet writers can write the result.
    """

    format: Format = "flac"
    """flac, wav (both with 16 bits) or opus."""

    sample_rate: int | None = 16_000
    """Sample rate of the output, in Hz; null keeps the original rate."""

    channels: Channels = "mono"
    """mono (the mean), all, or the number of one channel, from 0."""

    quality: Quality = "best"
    """Resampling method: best (a long window) or fast (FFmpeg's filter)."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def check(self) -> Iterator[str]:
        if self.format not in get_args(Format):
            yield f"format is {self.format!r}, but must be one of {', '.join(get_args(Format))}"
        yield from self.form.problems()
        if self.format == "opus" and self.sample_rate not in OPUS_RATES:
            rates = ", ".join(map(str, OPUS_RATES))
            yield f"sample_rate is {self.sample_rate}, but opus takes {rates}"

    @property
    def form(self) -> Form:
        return Form(self.sample_rate, self.channels, self.quality)

    def inputs(self) -> Sequence[str]:
        return (PATH,)

    def outputs(self) -> Sequence[str]:
        return (AUDIO, DURATION, "sample_rate", SOURCE, SOURCE_OFFSET)

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        if before is None:
            return None
        return (before - {OFFSET, GAIN}) | set(self.outputs())

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Rejected]:
        done: dict[int, _InMemory] = {}
        size = 0
        heard = task.answers(self.form, lambda: _Encoding(self.format), self.storage_options)
        for row, answer in heard:
            if isinstance(answer, UndecodableError):
                damaged = is_damage(answer)
                yield Rejected(str(answer), task.place(row), row=row, damaged=damaged)
                continue
            done[row] = answer
            size += len(answer.data)
            if size >= BATCH_BYTES:
                yield self._batch(task, done)
                size = 0
        if done:
            yield self._batch(task, done)

    def _batch(self, task: AudioBatch, done: dict[int, _InMemory]) -> AudioBatch:
        """Return a batch of the finished rows, and free them."""
        rows = sorted(done)
        encoded = [done[row] for row in rows]
        names = [file_name(task, row, self.format) for row in rows]
        described = describe_rows(task, rows, encoded, names)
        data = pa.array([one.data for one in encoded], pa.binary())
        done.clear()
        return described.with_columns({AUDIO: data})
