"""Partitions: the rows of an exchange, which may be empty."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from curator_core import DocumentBatch, Dropped, Empty, FileGroup, ProcessingStage
from curator_core.io.filesystems import StorageOptions
from curator_core.io.shuffle.reader import partition_of, read_partition, united

from curator_dedup.folders import files_in
from curator_dedup.notes import marker


@dataclass
class PartitionListing(ProcessingStage[Empty, FileGroup]):
    """List partitions of exchanges, including those without any file."""

    paths: Sequence[str]
    partitions: int
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: Empty) -> Iterator[FileGroup]:
        files = [file for path in self.paths for file in files_in(path, self.storage_options)]
        for number in range(self.partitions):
            parts = [partition_of(file, number, self.partitions) for file in files]
            yield FileGroup([marker(f"{self.paths[0]}#{number}"), *parts])


@dataclass
class PartitionReading(ProcessingStage[FileGroup, DocumentBatch]):
    """Read one partition."""

    fans_out = False

    partitions: int
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> DocumentBatch | Dropped:
        tables = [
            read_partition(part, self.partitions, storage_options=self.storage_options)
            for part in task.data[1:]
        ]
        table = united(tables) if tables else None
        if table is None or not table.num_rows:
            return Dropped("nothing in this partition", 1)
        return DocumentBatch(table)
