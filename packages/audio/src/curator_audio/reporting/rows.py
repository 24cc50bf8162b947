"""Rows in the output of a run, kept or dropped, each with its audio."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from math import isfinite
from typing import Any, ClassVar

from curator_core import DocumentBatch, FileGroup, FilePart
from curator_core.errors import CuratorError, InputError
from curator_core.io.listing import Wanted, find_files
from curator_core.io.readers.base import ReadingStage
from curator_core.io.readers.parquet import ParquetReading
from curator_core.io.writers.dropped import REASON_COLUMN, STAGE_COLUMN

from curator_audio.batches import AUDIO, DURATION, OFFSET, PATH, AudioBatch
from curator_audio.reading.manifests import ManifestReading
from curator_audio.reading.parquet import AudioParquetReading
from curator_audio.reading.shards import ShardReading
from curator_audio.writing.encoders import SOURCE, SOURCE_OFFSET

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
    def place(self) -> tuple[float, float] | None:
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
        name = f"{self.source}\n{self.place}".encode("utf-8", "surrogatepass")
        return blake2b(name, digest_size=8).digest()

    def number(self, name: str) -> float | None:
        value = self.facts.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return float(value) if isfinite(value) else None

    def spans(self) -> list[tuple[float, float]]:
        """Return the spans of speech, if the row still has them."""
        told = self.facts.get("speech")
        entries = json.loads(told) if isinstance(told, str) else told
        return [(float(one["start"]), float(one["end"])) for one in entries or ()]

    def batch(self) -> AudioBatch:
        heard = {name: self.facts.get(name) for name in (PATH, OFFSET, DURATION)}
        return AudioBatch.from_pylist([{**heard, AUDIO: self.audio}])


def rows_in(folder: str, most: int) -> Iterator[Row]:
    """Yield the rows that a writer put in a folder, up to `most`."""
    given = 0
    for file in _files(folder):
        for row in _rows_of(file):
            yield row
            given += 1
            if given >= most:
                return


def _files(folder: str) -> list[FilePart]:
    """List files in pseudo-random order, so that any first few are a sample."""
    try:
        found = [file for file in find_files([folder], Wanted()) if _reading(file.path)]
    except InputError:
        return []
    return sorted(found, key=lambda file: blake2b(file.path.encode()).digest())


def _reading(path: str) -> ReadingStage[Any] | None:
    name = path.rpartition("/")[2]
    if ".jsonl" in name:
        return ManifestReading()
    if name.endswith(".tar"):
        return ShardReading(max_file_bytes=_LARGEST)
    if name.endswith(".parquet"):
        return AudioParquetReading() if AUDIO in _Rows().sample(FilePart(path)) else _Rows()
    return None


class _Rows(ParquetReading):
    """Read rows without audio, which were dropped before encoding."""

    batch: ClassVar[type[DocumentBatch]] = AudioBatch


def _rows_of(file: FilePart) -> Iterator[Row]:
    stage = _reading(file.path)
    if stage is None:
        return
    try:
        for batch in stage.process(FileGroup([file])):
            if isinstance(batch, AudioBatch):
                for facts in batch.to_pylist():
                    yield Row(facts, facts.pop(AUDIO, None))
    except CuratorError:
        return
