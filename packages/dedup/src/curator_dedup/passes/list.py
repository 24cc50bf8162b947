"""List the input of a pass: blocks of the corpus, or partitions of intermediate files.

A block is a unit of input, split the same way by every pass, of JSON Lines or Parquet. A task that
is listed here has main files and sometimes extra ones: decisions on a block, or the same partition
of an index.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import (
    DocumentBatch,
    Dropped,
    Empty,
    FileGroup,
    FilePart,
    FilePartitioning,
    ProcessingStage,
)
from curator_core.errors import NothingFoundError
from curator_core.io.filesystems import StorageOptions, join
from curator_core.io.partitioning import DEFAULT_PART_BYTES, Split, group_files, parse_size
from curator_core.io.readers import JSONL_ENDINGS
from curator_core.io.shuffle import concat_tables, partition_column, partition_of, read_partition
from curator_core.model.ids import fingerprint

from curator_dedup.intermediate_files import files_in, read_note

PARQUET_ENDINGS = (".parquet", ".pq")

_TARGET_BLOCKS = 64
"""Number of blocks to aim for. Fewer, larger blocks would leave some workers idle."""

_MAIN, _EXTRA = "main_files", "extra_files"
"""Metadata keys of the numbers of main and extra files in a task."""

PARTITION = "partition"
"""Metadata key of the number of a partition."""


def is_parquet(path: str) -> bool:
    return path.lower().endswith(PARQUET_ENDINGS)


def block_id(parts: Sequence[FilePart]) -> str:
    """Return an id that identifies the block and changes when one of its files changes."""
    return fingerprint(
        *(f"{part.path}\n{part.version}\n{part.start}\n{part.end}" for part in parts)
    )


@dataclass
class BlockListing(ProcessingStage[Empty, FileGroup]):
    """List files as blocks of one format each: merge small files, split large ones.

    With `decisions`, the folder of an exchange by `block`, the extra files of a block hold the
    decisions on it, so that the block runs again when they change.
    """

    input_path: str | list[str]
    blocksize: int | str = "1GB"
    decisions: str | None = None
    partitions: int = 1
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def check(self) -> Iterator[str]:
        for problem in self.listing.check():
            yield problem.replace("file_paths", "input_path").replace(
                "blocksize", "input_blocksize"
            )

    def check_sources(self) -> Iterator[str]:
        for problem in self.listing.check_sources():
            yield problem.removesuffix(": set file_extensions?")

    def would_read(self, path: str) -> bool:
        return self.listing.would_read(path)

    @property
    def listing(self) -> FilePartitioning:
        endings = [*JSONL_ENDINGS, *PARQUET_ENDINGS]
        return FilePartitioning(
            self.input_path,
            blocksize=self.blocksize,
            file_extensions=endings,
            storage_options=self.storage_options,
        )

    def process(self, task: Empty) -> Iterator[FileGroup]:
        decisions = [] if self.decisions is None else files_in(self.decisions, self.storage_options)
        for parts in self.blocks():
            number = self._decision_partition(parts)
            extra = [partition_of(file, number, self.partitions) for file in decisions]
            yield file_task(parts, extra)

    def files(self) -> list[FilePart]:
        """Return all files; an empty list if there are none."""
        try:
            return list(self.listing.files())
        except NothingFoundError:
            return []

    def blocks(self) -> Iterator[list[FilePart]]:
        files = self.files()
        limit = parse_size(self.blocksize) or DEFAULT_PART_BYTES
        size = _block_size(sum(file.size for file in files), limit)
        lines = [file for file in files if not is_parquet(file.path)]
        tables = [file for file in files if is_parquet(file.path)]
        yield from group_files(lines, size, lambda file: self._split(file, size, "lines"))
        yield from group_files(tables, size, lambda file: self._split(file, size, "row_groups"))

    def _split(self, file: FilePart, size: int, split: Split) -> Iterator[list[FilePart]]:
        options = self.storage_options
        parts = FilePartitioning(file.path, blocksize=size, split=split, storage_options=options)
        yield from (group.data for group in parts.process(Empty(None)))

    def _decision_partition(self, parts: Sequence[FilePart]) -> int:
        table = pa.table({"block": [block_id(parts)]})
        return int(partition_column(table, ["block"], self.partitions)[0].as_py())


def _block_size(total: int, limit: int) -> int:
    """Return a block size for a corpus. It doubles as a corpus grows, so it rarely changes."""
    size = DEFAULT_PART_BYTES
    while size * _TARGET_BLOCKS < total:
        size *= 2
    return min(size, limit)


def file_task(
    main: Sequence[FilePart],
    extra: Sequence[FilePart] = (),
    *,
    marker: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> FileGroup:
    """Return a task with main and extra files.

    A task of intermediate files needs a `marker`, a path that is never read: without any file, the
    listing would look like an unmounted disk, and earlier results would stay.
    """
    markers = [] if marker is None else [FilePart(marker)]
    counts = {_MAIN: len(main), _EXTRA: len(extra)}
    return FileGroup([*main, *extra, *markers], metadata={**counts, **(metadata or {})})


def main_files(task: FileGroup) -> list[FilePart]:
    """Return the files that a task is about: all files if it was listed elsewhere."""
    return task.data[: task.metadata.get(_MAIN, len(task.data))]


def extra_files(task: FileGroup) -> list[FilePart]:
    """Return the files that come with the main ones."""
    start = len(main_files(task))
    return task.data[start : start + task.metadata.get(_EXTRA, 0)]


@dataclass
class PartitionListing(ProcessingStage[Empty, FileGroup]):
    """List partitions of intermediate folders, including those without any file.

    Extra files are the same partition of earlier crawls.
    """

    folders: Sequence[str]
    partitions: int
    earlier: str | None = None
    """Path of a note that names the folders of earlier crawls in the index."""

    subfolder: str = ""
    """The folder in that of a crawl."""

    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: Empty) -> Iterator[FileGroup]:
        main = [file for folder in self.folders for file in files_in(folder, self.storage_options)]
        note = self.earlier and read_note(self.earlier, self.storage_options)
        crawls = [join(crawl, self.subfolder) for crawl in note["earlier"]] if note else []
        extra = [file for crawl in crawls for file in files_in(crawl, self.storage_options)]
        for number in range(self.partitions):
            yield file_task(
                [partition_of(file, number, self.partitions) for file in main],
                [part for file in extra for part in self.partition_of_crawl(file, number)],
                marker=f"{self.folders[0]}#{number}",
                metadata={PARTITION: number},
            )

    def partition_of_crawl(self, file: FilePart, number: int) -> Iterable[FilePart]:
        """Yield what a file of an earlier crawl has of a partition."""
        yield partition_of(file, number, self.partitions)


@dataclass
class PartitionReading(ProcessingStage[FileGroup, DocumentBatch]):
    """Read one partition."""

    fans_out = False

    partitions: int
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> DocumentBatch | Dropped:
        table = read_parts(main_files(task), self.partitions, None, self.storage_options)
        if table is None or not table.num_rows:
            return Dropped("nothing in this partition", 1)
        return DocumentBatch(table)


def read_parts(
    parts: Sequence[FilePart],
    partitions: int,
    fields: Sequence[str] | None = None,
    storage_options: StorageOptions | None = None,
) -> pa.Table | None:
    """Return the rows of several parts of one partition; None if there are no parts."""
    tables = [read_partition(part, partitions, fields, storage_options) for part in parts]
    return concat_tables(tables) if tables else None


def read_columns(
    parts: Sequence[FilePart],
    schema: pa.Schema,
    partitions: int,
    storage_options: StorageOptions | None = None,
) -> pa.Table:
    """Return the columns of a schema from several parts of one partition; no parts, no rows."""
    tables = [
        read_partition(part, partitions, schema.names, storage_options).cast(schema)
        for part in parts
    ]
    return pa.concat_tables([schema.empty_table(), *tables])


def read_block_rows(
    block: str,
    parts: Sequence[FilePart],
    partitions: int,
    fields: Sequence[str] | None = None,
    storage_options: StorageOptions | None = None,
) -> pa.Table | None:
    """Return the rows of a block from several partitions; None if there are none."""
    found = []
    for part in parts:
        table = read_partition(part, partitions, fields, storage_options)
        rows = table.filter(pc.equal(table["block"], block))
        if rows.num_rows:
            found.append(rows)
    return concat_tables(found) if found else None
