"""Gathering: read all rows of a bucket, from all batches, in the order of their keys."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from curator_core import DocumentBatch, FileGroup, ProcessingStage
from curator_core.io.filesystems import StorageOptions
from curator_core.io.shuffle.reader import read_partition, united

from curator_text.mixing.keys import sorted_by_key

_BATCH_BYTES = 32 * 1024 * 1024


@dataclass
class BucketReading(ProcessingStage[FileGroup, DocumentBatch]):
    """Reads a whole bucket, sorts it, and emits it in batches."""

    buckets: int
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch]:
        tables = [
            read_partition(part, self.buckets, storage_options=self.storage_options)
            for part in task.data
        ]
        table = sorted_by_key(united(tables))
        del tables
        rows = max(1, _BATCH_BYTES * table.num_rows // max(1, table.nbytes))
        for start in range(0, table.num_rows, rows):
            yield DocumentBatch(table.slice(start, rows))
