"""Encoder: turn rows into encoded files in a column, with names made from their source."""

import hashlib
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import get_args

import pyarrow as pa
from curator_core import ProcessingStage, Rejected
from curator_core.errors import is_damaged_input
from curator_core.io.filesystems import StorageOptions, base_name

from curator_audio.audio_batch import (
    AUDIO,
    DURATION,
    GAIN,
    OFFSET,
    PARTS,
    PATH,
    SOURCE,
    SOURCE_OFFSET,
    AudioBatch,
)
from curator_audio.container import UndecodableError
from curator_audio.encoding import OPUS_RATES, BlockEncoder, FileFormat
from curator_audio.waveform import AudioFormat, Channels, Quality, Waveform

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")

_MAX_STEM = 80


def segment_name(path: str, start: float | None, seconds: float | None) -> str:
    """Return a name like `interview-000012500-3f2a9c01`: source, start in milliseconds, digest."""
    stem = _UNSAFE.sub("_", base_name(path).rpartition(".")[0] or base_name(path))[:_MAX_STEM]
    digest = hashlib.blake2b(repr((path, start, seconds)).encode(), digest_size=6).hexdigest()
    return f"{stem or 'audio'}-{round((start or 0.0) * 1000):09d}-{digest}"


BATCH_BYTES = 32 * 1024 * 1024
"""Size at which a batch of encoded recordings is emitted."""


@dataclass(frozen=True)
class EncodedFile:
    """Properties of an encoded row."""

    seconds: float
    sample_rate: int


@dataclass(frozen=True)
class _EncodedBytes(EncodedFile):
    data: bytes


class _BytesEncoder:
    """Encode a row block by block in memory, keeping only the encoded bytes."""

    def __init__(self, kind: FileFormat) -> None:
        self._file = io.BytesIO()
        self._encoder = BlockEncoder(self._file, kind)

    def add(self, block: Waveform) -> None:
        self._encoder.write(block)

    def result(self) -> _EncodedBytes:
        self._encoder.close()
        encoder = self._encoder
        return _EncodedBytes(encoder.seconds, encoder.sample_rate, self._file.getvalue())


def file_name(task: AudioBatch, row: int, kind: FileFormat) -> str:
    """Return the name for the file of a row."""
    try:
        seconds = task.duration(row)
    except UndecodableError:  # invalid: the name is made without it
        seconds = None
    path = str(task.data.column(PATH)[row].as_py() or "audio")
    return f"{segment_name(path, task.offset(row), seconds)}.{kind}"


def describe_rows(
    task: AudioBatch, rows: Sequence[int], encoded: Sequence[EncodedFile], names: Sequence[str]
) -> AudioBatch:
    """Update rows to describe their new files and where they came from."""
    taken = task.with_data(task.data.take(pa.array(rows, pa.int64())))
    paths = [str(path or "audio") for path in taken.data.column(PATH).to_pylist()]
    starts = [taken.offset(index) for index in range(len(rows))]
    concatenated = {PARTS, SOURCE} <= set(taken.columns())
    sources = taken.data.column(SOURCE) if concatenated else None
    described = taken.with_columns(
        {
            PATH: pa.array(names, pa.string()),
            DURATION: pa.array([one.seconds for one in encoded], pa.float64()),
            "sample_rate": pa.array([float(one.sample_rate) for one in encoded], pa.float64()),
            SOURCE: pa.array(paths, pa.string()) if sources is None else sources,
            SOURCE_OFFSET: pa.array(starts, pa.float64()),
        }
    )
    obsolete = [name for name in (OFFSET, GAIN) if name in described.columns()]
    return described.with_data(described.data.drop_columns(obsolete))


@dataclass
class AudioEncoder(ProcessingStage[AudioBatch, AudioBatch]):
    """Encode each row as a file in the column `audio`, applying cuts and gains.

    `audio_filepath` becomes the name of the file; `source_filepath` and `source_offset` hold the
    original path and offset. Parquet writers can write the result.
    """

    format: FileFormat = "flac"
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
        if self.format not in get_args(FileFormat):
            yield f"format is {self.format!r}, but must be one of {', '.join(get_args(FileFormat))}"
        yield from self.audio_format.problems()
        if self.format == "opus" and self.sample_rate not in OPUS_RATES:
            rates = ", ".join(map(str, OPUS_RATES))
            yield f"sample_rate is {self.sample_rate}, but opus supports {rates}"

    @property
    def audio_format(self) -> AudioFormat:
        return AudioFormat(self.sample_rate, self.channels, self.quality)

    def inputs(self) -> Sequence[str]:
        return (PATH,)

    def outputs(self) -> Sequence[str]:
        return (AUDIO, DURATION, "sample_rate", SOURCE, SOURCE_OFFSET)

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        if before is None:
            return None
        return (before - {OFFSET, GAIN}) | set(self.outputs())

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Rejected]:
        done: dict[int, _EncodedBytes] = {}
        size = 0
        results = task.iter_decoded(
            self.audio_format, lambda _: _BytesEncoder(self.format), self.storage_options
        )
        for row, result in results:
            if isinstance(result, UndecodableError):
                damaged = is_damaged_input(result)
                yield Rejected(str(result), task.describe_row(row), row=row, damaged=damaged)
                continue
            done[row] = result
            size += len(result.data)
            if size >= BATCH_BYTES:
                yield self._batch(task, done)
                size = 0
        if done:
            yield self._batch(task, done)

    def _batch(self, task: AudioBatch, done: dict[int, _EncodedBytes]) -> AudioBatch:
        """Return a batch of the finished rows, and free them."""
        rows = sorted(done)
        encoded = [done[row] for row in rows]
        names = [file_name(task, row, self.format) for row in rows]
        described = describe_rows(task, rows, encoded, names)
        data = pa.array([one.data for one in encoded], pa.binary())
        done.clear()
        return described.with_columns({AUDIO: data})
