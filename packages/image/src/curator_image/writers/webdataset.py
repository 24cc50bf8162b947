"""Writer of WebDataset shards: batches of pictures as tar files."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from tarfile import GNU_FORMAT, TarInfo
from typing import BinaryIO, ClassVar, cast
from urllib.parse import quote

import pyarrow as pa
from curator_core import DocumentBatch, FileGroup, Mixed, StageResult
from curator_core.io.compression import COMPRESSIONS, Compression, open_compressed
from curator_core.model.ids import mixed_id

from curator_image.image_batch import KEY
from curator_image.readers.tar import BLOCK
from curator_image.writers.base import SampleWriter, path_problem, split_repeated_keys

_RECORD = 20 * BLOCK


@dataclass
class WebDatasetWriter(SampleWriter):
    """Write WebDataset shards (.tar) with unchanged images, keys and sidecars.

    Each batch becomes a shard; a larger `batch_size` combines several batches. Rows with a key that
    is already in a shard go to an additional one.
    """

    compressions: ClassVar[tuple[str, ...]] = COMPRESSIONS

    @property
    def ending(self) -> str:
        return f".tar.{self.compression}" if self.compression else ".tar"

    def process_batch(
        self, tasks: Sequence[DocumentBatch]
    ) -> Sequence[StageResult[FileGroup]] | Mixed[FileGroup]:
        if len(tasks) == 1:
            return [self.process(tasks[0])]
        tables = [task.data for task in tasks]
        together = tasks[0].with_data(pa.concat_tables(tables, promote_options="permissive"))
        together.task_id = mixed_id([task.task_id for task in tasks])
        return Mixed(cast("list[FileGroup]", self.process(together)))  # includes rejections

    def write_samples(self, written: FileGroup, target: str, table: pa.Table) -> None:
        self._write_part(written, f"{target}{self.ending}", table)

    def name_problem(self, target: str, key: str, extension: str) -> str | None:
        return path_problem(key, extension)

    def write(self, tables: Sequence[pa.Table], file: BinaryIO) -> None:
        kind: Compression | None = self.compression  # type: ignore[assignment]  # checked before
        with open_compressed(file, kind) as out:
            size = 0
            for table in tables:
                for key, files in self.sample_files(table):
                    for extension, data in files:
                        size += _write_member(out, _member_name(key, extension), data)
            out.write(bytes(2 * BLOCK + -(size + 2 * BLOCK) % _RECORD))

    def shared(self, tables: Sequence[pa.Table]) -> Iterable[list[pa.Table]]:
        """Group dropped records of several batches so that keys are unique in each group."""
        groups: list[tuple[set[str], list[pa.Table]]] = []
        for part in (part for table in tables for part in split_repeated_keys(table)):
            keys = set(part.column(KEY).to_pylist())
            group = next((one for one in groups if one[0].isdisjoint(keys)), None)
            if group is None:
                groups.append((keys, [part]))
            else:
                group[0].update(keys)
                group[1].append(part)
        return [together for _, together in groups]


def _member_name(key: str, extension: str) -> str:
    """Return the member name. Dropped pictures may have unsafe keys, which are quoted."""
    name = f"{key}.{extension}"
    return quote(name, safe="") if path_problem(key, extension) else name


def _write_member(file: BinaryIO, name: str, data: bytes) -> int:
    """Write one file without owner and date, so that shards are reproducible."""
    info = TarInfo(name)
    info.size = len(data)
    head = info.tobuf(GNU_FORMAT, "utf-8", "strict")
    padding = bytes(-len(data) % BLOCK)
    file.write(head)
    file.write(data)
    file.write(padding)
    return len(head) + len(data) + len(padding)
