"""Gathering: all rows of a bucket, from whichever batches they came, in the order of their keys."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
from curator_core import DocumentBatch, Empty, FileGroup, FilePart, ProcessingStage
from curator_core.filesystems import StorageOptions, base_name, open_input, parent_of
from curator_core.finding import find_files
from curator_core.matching import Wanted

from curator_text.mixing.scattering import sorted_by_key

_BATCH_BYTES = 32 * 1024 * 1024


@dataclass
class BucketListing(ProcessingStage[Empty, FileGroup]):
    """Lists the buckets below a folder: each is one source, whatever number of files it has."""

    folder: str
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: Empty) -> Iterator[FileGroup]:
        buckets: dict[int, list[FilePart]] = defaultdict(list)
        for part in find_files([self.folder], Wanted((".parquet",)), self.storage_options):
            buckets[int(base_name(parent_of(part.path)))].append(part)
        for bucket in sorted(buckets):
            yield FileGroup(buckets[bucket])


@dataclass
class BucketReading(ProcessingStage[FileGroup, DocumentBatch]):
    """Reads a bucket whole, sorts it, and gives it on in batches."""

    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch]:
        tables = [self._read(path) for path in task.paths]
        table = sorted_by_key(pa.concat_tables(tables, promote_options="permissive"))
        del tables
        rows = max(1, _BATCH_BYTES * table.num_rows // max(1, table.nbytes))
        for start in range(0, table.num_rows, rows):
            yield DocumentBatch(table.slice(start, rows))

    def _read(self, path: str) -> pa.Table:
        import pyarrow.parquet as pq

        with open_input(path, self.storage_options) as file:
            return pq.ParquetFile(file).read()
