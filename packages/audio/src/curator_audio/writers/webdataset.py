"""Shards: WebDataset tar files, in which the files of a sample are consecutive."""

import io
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import orjson
import pyarrow as pa
from curator_core import AnyStage, DropSink, WorkerInfo
from curator_core.io.writers import DroppedFiles, FileWriter

from curator_audio.audio_batch import AUDIO, PATH, TEXT
from curator_audio.writers.encoder import AudioEncoder
from curator_audio.writers.manifest import ManifestWriter
from curator_audio.writers.segments import SegmentWriter


@dataclass
class ShardFiles(FileWriter):
    """Write encoded rows as members of a tar file: the recording, its metadata, and its text."""

    @property
    def ending(self) -> str:
        return ".tar"

    def inputs(self) -> Sequence[str]:
        return (PATH, AUDIO, *super().inputs())

    def drop_sink(self, worker: WorkerInfo) -> DropSink | None:
        """Write dropped rows to manifests, since they were never encoded."""
        if self.dropped_path is None:
            return None
        keeper = ManifestWriter(
            self.path, dropped_path=self.dropped_path, storage_options=self.storage_options
        )
        return DroppedFiles(keeper, worker)

    def write(self, tables: Sequence[pa.Table], file: BinaryIO) -> None:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for table in tables:
                for row in table.to_pylist():
                    for name, data in _members(row):
                        member = tarfile.TarInfo(name)
                        member.size = len(data)
                        archive.addfile(member, io.BytesIO(data))


def _members(row: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    name, data = row.pop(PATH), row.pop(AUDIO)
    key = name.rpartition(".")[0]
    yield name, data
    yield f"{key}.json", orjson.dumps(row, option=orjson.OPT_NON_STR_KEYS)
    if row.get(TEXT):
        yield f"{key}.txt", str(row[TEXT]).encode()


@dataclass
class ShardWriter(SegmentWriter):
    """Write rows as WebDataset tar files: .flac, .json and, if there is text, .txt."""

    def decompose(self) -> Sequence[AnyStage]:
        encoder = AudioEncoder(
            self.format, self.sample_rate, self.channels, self.quality, self.storage_options
        )
        files = ShardFiles(
            self.path,
            self.mode,
            dropped_path=self.dropped_path,
            storage_options=self.storage_options,
        )
        return [encoder.with_(name=f"{self.name}_encoder"), files.with_(name=self.name)]
