"""Shuffle reader: one partition at a time, from all files that have rows of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from curator_core.errors import CuratorError, InputError, PipelineError
from curator_core.io.filesystems import StorageOptions, open_input
from curator_core.io.listing import Wanted, find_files
from curator_core.io.partitioning import parsed_size
from curator_core.io.shuffle.partition import MOST_PARTITIONS
from curator_core.model.documents import DocumentBatch
from curator_core.model.files import FileGroup, FilePart
from curator_core.model.stages import AnyStage, CompositeStage, ProcessingStage
from curator_core.model.tasks import Empty


@dataclass
class ExchangeReader(CompositeStage[Empty, DocumentBatch]):
    """Read the partitions that an `ExchangeWriter` wrote, one task each.

    All records of a key are in one partition. Each partition is a source, so that a run resumes by
    partition.
    """

    path: str
    """Folder that the writer wrote to."""

    partitions: int = 16
    """Number of partitions that the writer used."""

    fields: list[str] | None = None
    """Columns to read; all columns if not set."""

    batch_size_bytes: int | str | None = None
    """Approximate size of a batch (64MB). The records of a key may then be in several batches of
    its partition. One batch per partition if not set.
    """

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def decompose(self) -> Sequence[AnyStage]:
        listing = ExchangeListing(self.path, self.partitions, self.storage_options)
        reading = ExchangeReading(
            self.partitions, self.fields, self.batch_size_bytes, self.storage_options
        )
        return [listing.with_(name=f"{self.name}_files"), reading.with_(name=self.name)]


@dataclass
class ExchangeListing(ProcessingStage[Empty, FileGroup]):
    """List partitions: the same row group of every file."""

    path: str
    partitions: int
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def check(self) -> Iterator[str]:
        if not 1 <= self.partitions <= MOST_PARTITIONS:
            yield f"partitions is {self.partitions}, but must be from 1 to {MOST_PARTITIONS}"

    def process(self, task: Empty) -> Iterator[FileGroup]:
        files = list(find_files([self.path], Wanted((".parquet",)), self.storage_options))
        for number in range(self.partitions):
            yield FileGroup([partition_of(file, number, self.partitions) for file in files])


def partition_of(file: FilePart, number: int, partitions: int) -> FilePart:
    """Return one partition of a file of an exchange."""
    return FilePart(file.path, file.size // partitions, file.version, number, number + 1)


@dataclass
class ExchangeReading(ProcessingStage[FileGroup, DocumentBatch]):
    """Read one partition, in one batch or several."""

    fans_out = True

    partitions: int
    fields: list[str] | None = None
    batch_size_bytes: int | str | None = None
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def check(self) -> Iterator[str]:
        try:
            parsed_size(self.batch_size_bytes)
        except PipelineError as error:
            yield str(error).replace("blocksize", "batch_size_bytes")

    def process(self, task: FileGroup) -> Iterator[DocumentBatch]:
        limit = parsed_size(self.batch_size_bytes)
        held: list[pa.Table] = []
        size = 0
        for part in task.data:
            for table in self._pieces(part, limit):
                if held and limit is not None and size + table.nbytes > limit:
                    yield DocumentBatch(united(held))
                    held, size = [], 0
                held.append(table)
                size += table.nbytes
        if held:
            yield DocumentBatch(united(held))

    def _pieces(self, part: FilePart, limit: int | None) -> Iterator[pa.Table]:
        table = read_partition(part, self.partitions, self.fields, self.storage_options)
        rows = table.num_rows
        if limit is not None and rows:
            rows = max(1, limit * rows // max(1, table.nbytes))
        for start in range(0, table.num_rows, max(1, rows)):
            yield table.slice(start, rows)


def read_partition(
    part: FilePart,
    partitions: int,
    fields: Sequence[str] | None = None,
    storage_options: StorageOptions | None = None,
) -> pa.Table:
    """Return the rows of one partition in a file of an exchange."""
    import pyarrow.parquet as pq

    with open_input(part.path, storage_options) as source:
        try:
            file = pq.ParquetFile(source, page_checksum_verification=True)
            if file.num_row_groups != partitions:
                raise InputError(
                    f"{part.path} was written for {file.num_row_groups} partitions, not for "
                    f"{partitions}; give reader and writer the same number"
                )
            return file.read_row_group(part.start, columns=fields and list(fields))
        except (pa.ArrowException, OSError) as error:
            raise InputError(
                f"cannot read {part.path}: damaged Parquet: {str(error).splitlines()[0]}; "
                "remove it and write the exchange anew"
            ) from None


def united(tables: Sequence[pa.Table]) -> pa.Table:
    """Join tables of one exchange; columns may be missing in some files."""
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise CuratorError(
            f"the files of an exchange do not fit together: {str(error).splitlines()[0]}; "
            "give a column the same type in all batches"
        ) from None
