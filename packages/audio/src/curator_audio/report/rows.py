"""Rows in the output of a run, kept or dropped, each with its audio."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from math import isfinite
from typing import Any, ClassVar

from curator_core import DocumentBatch, FileGroup, FilePart
from curator_core.errors import CuratorError, InputError
from curator_core.io.listing import FileFilter, find_files
from curator_core.io.readers import ParquetReading, ReadingStage
from curator_core.io.writers import REASON_COLUMN, STAGE_COLUMN

from curator_audio.audio_batch import (
    AUDIO,
    DURATION,
    OFFSET,
    PATH,
    SOURCE,
    SOURCE_OFFSET,
    SPEECH_COLUMN,
    AudioBatch,
)
from curator_audio.readers.manifest import ManifestReading
from curator_audio.readers.parquet import AudioParquetReading
from curator_audio.readers.webdataset import ShardReading

_LARGEST = 1 << 28


@dataclass(frozen=True)
class Row:
    """One recording or segment."""

    facts: Mapping[str, Any]
    audio: bytes | None

    @property
    def source(self) -> str:
        """The recording that this row is a part of."""
        return str(self.facts.get(SOURCE) or self.facts.get(PATH) or "")

    @property
    def seconds(self) -> float | None:
        return self.number(DURATION)

    @property
    def span(self) -> tuple[float, float] | None:
        """Start and end within the source; None for a whole recording."""
        start = self.number(SOURCE_OFFSET if self.facts.get(SOURCE) else OFFSET)
        return None if start is None or self.seconds is None else (start, start + self.seconds)

    @property
    def dropped_by(self) -> str:
        return str(self.facts.get(STAGE_COLUMN) or "")

    @property
    def reason(self) -> str:
        return str(self.facts.get(REASON_COLUMN) or "")

    @property
    def rank(self) -> bytes:
        """A pseudo-random, reproducible rank: the lowest ranks are a fair sample."""
        name = f"{self.source}\n{self.span}".encode("utf-8", "surrogatepass")
        return blake2b(name, digest_size=8).digest()

    def number(self, name: str) -> float | None:
        value = self.facts.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return float(value) if isfinite(value) else None

    def spans(self) -> list[tuple[float, float]]:
        """Return the spans of speech, if the row still has them."""
        speech = self.facts.get(SPEECH_COLUMN)
        entries = json.loads(speech) if isinstance(speech, str) else speech
        return [(float(one["start"]), float(one["end"])) for one in entries or ()]

    def batch(self) -> AudioBatch:
        fields = {name: self.facts.get(name) for name in (PATH, OFFSET, DURATION)}
        return AudioBatch.from_pylist([{**fields, AUDIO: self.audio}])


def read_rows(folder: str, limit: int) -> Iterator[Row]:
    """Yield the rows that a writer put in a folder, up to `limit`."""
    count = 0
    for file in _files(folder):
        for row in _rows_of(file):
            yield row
            count += 1
            if count >= limit:
                return


def _files(folder: str) -> list[FilePart]:
    """List files in pseudo-random order, so that any first few are a sample."""
    try:
        found = [file for file in find_files([folder], FileFilter()) if _find_reader(file.path)]
    except InputError:
        return []
    return sorted(found, key=lambda file: blake2b(file.path.encode()).digest())


def _find_reader(path: str) -> ReadingStage[Any] | None:
    name = path.rpartition("/")[2]
    if ".jsonl" in name:
        return ManifestReading()
    if name.endswith(".tar"):
        return ShardReading(max_file_bytes=_LARGEST)
    if name.endswith(".parquet"):
        return (
            AudioParquetReading() if AUDIO in _PlainRows().sample(FilePart(path)) else _PlainRows()
        )
    return None


class _PlainRows(ParquetReading):
    """Read rows without audio, which were dropped before encoding."""

    batch: ClassVar[type[DocumentBatch]] = AudioBatch


def _rows_of(file: FilePart) -> Iterator[Row]:
    stage = _find_reader(file.path)
    if stage is None:
        return
    try:
        for batch in stage.process(FileGroup([file])):
            if isinstance(batch, AudioBatch):
                for facts in batch.to_pylist():
                    yield Row(facts, facts.pop(AUDIO, None))
    except CuratorError:
        return
