"""Blocks: units of input, split the same way by every pass, for JSON Lines and Parquet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import Empty, FileGroup, FilePart, FilePartitioning, ProcessingStage
from curator_core.errors import NothingFoundError
from curator_core.io.filesystems import StorageOptions
from curator_core.io.listing import Wanted, find_files
from curator_core.io.partitioning import DEFAULT_PART_BYTES, Split, grouped, parsed_size
from curator_core.io.readers.jsonl import JSONL_ENDINGS
from curator_core.io.shuffle.partition import partition_column
from curator_core.io.shuffle.reader import partition_of, read_partition, united
from curator_core.model.lineage import fingerprint

PARQUET_ENDINGS = (".parquet", ".pq")

_BLOCKS = 64
"""Number of blocks to aim for. Fewer, larger blocks would leave some workers idle."""

_INPUTS = "inputs"


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

    With `decisions`, the folder of an exchange by `block`, a block also lists the files that hold
    decisions on it, so that it runs again when they change.
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
        decided = self._decision_files()
        for parts in self.blocks():
            more = [partition_of(file, self._place(parts), self.partitions) for file in decided]
            yield FileGroup([*parts, *more], metadata={_INPUTS: len(parts)})

    def files(self) -> list[FilePart]:
        """Return all files; an empty list if there are none."""
        try:
            return list(self.listing.files())
        except NothingFoundError:
            return []

    def blocks(self) -> Iterator[list[FilePart]]:
        files = self.files()
        limit = parsed_size(self.blocksize) or DEFAULT_PART_BYTES
        size = _block_size(sum(file.size for file in files), limit)
        lines = [file for file in files if not is_parquet(file.path)]
        tables = [file for file in files if is_parquet(file.path)]
        yield from grouped(lines, size, lambda file: self._divided(file, size, "lines"))
        yield from grouped(tables, size, lambda file: self._divided(file, size, "row_groups"))

    def _divided(self, file: FilePart, size: int, split: Split) -> Iterator[list[FilePart]]:
        options = self.storage_options
        parts = FilePartitioning(file.path, blocksize=size, split=split, storage_options=options)
        yield from (group.data for group in parts.process(Empty(None)))

    def _decision_files(self) -> list[FilePart]:
        if self.decisions is None:
            return []
        try:
            return list(find_files([self.decisions], Wanted((".parquet",)), self.storage_options))
        except NothingFoundError:  # no duplicates were found
            return []

    def _place(self, parts: Sequence[FilePart]) -> int:
        table = pa.table({"block": [block_id(parts)]})
        return int(partition_column(table, ["block"], self.partitions)[0].as_py())


def inputs_of(task: FileGroup) -> list[FilePart]:
    """Return the file parts of a block."""
    return task.data[: task.metadata.get(_INPUTS, len(task.data))]


def decisions_of(task: FileGroup) -> list[FilePart]:
    """Return the file parts that hold decisions on a block."""
    return task.data[len(inputs_of(task)) :]


def rows_of_block(
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
        here = table.filter(pc.equal(table["block"], block))
        if here.num_rows:
            found.append(here)
    return united(found) if found else None


def _block_size(total: int, limit: int) -> int:
    """Return a block size for a corpus. It doubles as a corpus grows, so it rarely changes."""
    size = DEFAULT_PART_BYTES
    while size * _BLOCKS < total:
        size *= 2
    return min(size, limit)
