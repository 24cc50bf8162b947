"""Remove duplicates: read everything again and leave out what the decisions say."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, ClassVar, Literal, Protocol, Self, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import (
    DocumentBatch,
    Dropped,
    FileGroup,
    FilePart,
    InputError,
    JsonlWriter,
    ParquetWriter,
    ProcessingStage,
    WorkerInfo,
)
from curator_core.io.compression import COMPRESSIONS, Compression, open_compressed
from curator_core.io.filesystems import StorageOptions
from curator_core.io.readers import (
    BATCH_BYTES,
    Columns,
    Lines,
    TooWideError,
    parse_line_by_line,
    parse_lines,
    to_columns,
    to_table,
)
from curator_core.io.writers import FileWriter

from curator_dedup.columns import DIGEST, ID, numbers_in
from curator_dedup.hashing import U64Array
from curator_dedup.intermediate_files import files_in, read_whole_file
from curator_dedup.line_reader import read_lines
from curator_dedup.passes.decide import PLACE
from curator_dedup.passes.group import Indices, Mask
from curator_dedup.passes.list import block_id, extra_files, is_parquet, main_files, read_block_rows
from curator_dedup.text_reader import read_tables

CLUSTER_COLUMNS = ("cluster_id", "cluster_size", "is_duplicate")
"""Columns that may be added to what is kept."""

_ROW_DECISIONS = pa.schema([
    ("doc", ID), ("keep", pa.bool_()), ("is_duplicate", pa.bool_()), ("cluster", ID),
    ("size", pa.int64()),
])  # fmt: skip
"""Columns of the decisions on rows with ids, as far as they are used here."""


class Decisions:
    """Decisions, found by a key: the position of a document in a file, or the id of a row.

    Whatever has no decision is kept.
    """

    def __init__(self, keys: npt.NDArray[Any], table: pa.Table) -> None:
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._table = table.take(pa.array(order))
        self._removed = self._keys[~self._table["keep"].to_numpy()]

    def kept(self, keys: npt.NDArray[Any]) -> Mask | None:
        """Return which keys are kept; None if all are."""
        found = _find(self._removed, keys)
        return None if found.max(initial=-1) < 0 else found < 0

    def cluster_columns(self, keys: npt.NDArray[Any]) -> dict[str, pa.Array]:
        """Return the columns that describe each key's cluster; unique ones form their own."""
        places = _find(self._keys, keys)
        rows = self._table.take(pa.array(places, pa.int64(), mask=places < 0))
        ids = [value and value.hex() for value in rows["cluster_id"].to_pylist()]
        return {
            "cluster_id": pa.array(ids, pa.string()),
            "cluster_size": pc.fill_null(_flat(rows["cluster_size"]), 1),
            "is_duplicate": pc.fill_null(_flat(rows["is_duplicate"]), False),
        }


def _find(known: npt.NDArray[Any], keys: npt.NDArray[Any]) -> Indices:
    """Return the position of each key among the sorted known ones, or -1."""
    if not len(known):
        return np.full(len(keys), -1)
    places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.asarray(np.where(known[places] == keys, places, -1))


def _flat(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole


def no_decisions() -> Decisions:
    schema = pa.schema([("keep", pa.bool_()), ("cluster_id", DIGEST),
                        ("cluster_size", pa.int64()), ("is_duplicate", pa.bool_())])  # fmt: skip
    return Decisions(np.zeros(0, np.int64), schema.empty_table())


def read_block_decisions(
    block: str,
    parts: Sequence[FilePart],
    partitions: int,
    *,
    with_clusters: bool,
    storage_options: StorageOptions | None,
) -> dict[str, Decisions]:
    """Return the decisions on the documents of a block, by file."""
    fields = [*PLACE, "keep", *(CLUSTER_COLUMNS if with_clusters else ())]
    found = read_block_rows(block, parts, partitions, fields, storage_options)
    if found is None:
        return {}
    files = pc.cast(found["file"], pa.string())
    tables = {path: found.filter(pc.equal(files, path)) for path in pc.unique(files).to_pylist()}
    return {path: Decisions(table["row"].to_numpy(), table) for path, table in tables.items()}


def read_row_decisions(
    folder: str, storage_options: StorageOptions | None, *, with_clusters: bool
) -> Decisions:
    """Return the decisions on all rows with ids in a folder."""
    names = _ROW_DECISIONS.names if with_clusters else _ROW_DECISIONS.names[:2]
    tables = [_ROW_DECISIONS.empty_table().select(names)]
    for part in files_in(folder, storage_options):
        tables.append(read_whole_file(part, names, storage_options))
    table = pa.concat_tables(tables).combine_chunks()
    renamed = {"cluster": "cluster_id", "size": "cluster_size"}
    ids = numbers_in(table["doc"])
    return Decisions(ids, table.rename_columns([renamed.get(name, name) for name in names]))


OutputFormat: TypeAlias = Literal["same", "jsonl", "parquet"]
"""Output format: the same as the input, or one format for all."""

LINE = "_curator_line"
"""Column of lines as they were read, including line endings."""

FORMAT = "format"
"""Metadata key of a batch's format."""


@dataclass
class DocumentRemover(ProcessingStage[FileGroup, DocumentBatch]):
    """Return the documents of a block that are kept.

    JSON lines are copied byte by byte, unless the output is Parquet; marks are appended to them.
    """

    fans_out = True

    partitions: int
    text_field: str = "text"
    output_format: OutputFormat = "same"
    clusters: bool = False
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Dropped]:
        inputs = main_files(task)
        decisions = read_block_decisions(
            block_id(inputs),
            extra_files(task),
            self.partitions,
            with_clusters=self.clusters,
            storage_options=self.storage_options,
        )
        batches = Batches(inputs, self.output_format)
        removed = 0
        for part in inputs:
            for rows, table in self._kept(part, decisions.get(part.path) or no_decisions()):
                removed += rows - _num_rows(table)
                yield from batches.add(table)
        yield from batches.rest()
        if removed:
            yield Dropped("duplicate, or not a record", removed)

    def _kept(
        self, part: FilePart, decisions: Decisions
    ) -> Iterator[tuple[int, pa.Table | Columns]]:
        """Yield the kept part of a file, with the number of rows before removal."""
        if is_parquet(part.path):
            return self._from_parquet(part, decisions)
        if self.output_format == "parquet":
            return self._parsed_lines(part, decisions)
        return (
            self._marked_lines(part, decisions)
            if self.clusters
            else self._copied_lines(part, decisions)
        )

    def _copied_lines(self, part: FilePart, decisions: Decisions) -> Iterator[tuple[int, pa.Table]]:
        for batch in read_lines(part, self.storage_options):
            mask = decisions.kept(batch.positions)
            column = batch.column()
            yield len(batch), pa.table({LINE: column if mask is None else column.filter(mask)})

    def _marked_lines(self, part: FilePart, decisions: Decisions) -> Iterator[tuple[int, pa.Table]]:
        for batch in read_lines(part, self.storage_options):
            mask = decisions.kept(batch.positions)
            column, positions = batch.column(), batch.positions
            if mask is not None:
                column, positions = column.filter(mask), positions[mask]
            _refuse_taken_fields(part, column)
            marks = pa.table(decisions.cluster_columns(positions)).to_pylist()
            lines = [_with_marks(*pair) for pair in zip(column.to_pylist(), marks, strict=True)]
            yield len(batch), pa.table({LINE: pa.array(lines, pa.binary())})

    def _parsed_lines(self, part: FilePart, decisions: Decisions) -> Iterator[tuple[int, Columns]]:
        for batch in read_lines(part, self.storage_options):
            mask = decisions.kept(batch.positions)
            column, positions = batch.column(), batch.positions
            if mask is not None:
                column, positions = column.filter(mask), positions[mask]
            columns, unreadable = self._columns(column_bytes(column))
            if self.clusters:
                positions = np.delete(positions, unreadable)
                columns = _with_clusters(part, columns, decisions, positions)
            yield len(batch), columns

    def _columns(self, data: bytes) -> tuple[Columns, list[int]]:
        """Return lines as columns, and the numbers of lines that are nested too deeply."""
        if not data:
            return Columns({}, 0), []
        lines = Lines(data, 1)
        try:
            return to_columns(parse_lines(lines).records, None, self.text_field), []
        except (orjson.JSONEncodeError, TooWideError):
            parsed = parse_line_by_line(lines)
            columns = to_columns(parsed.records, None, self.text_field)
            return columns, [bad.number for bad in parsed.bad]

    def _from_parquet(self, part: FilePart, decisions: Decisions) -> Iterator[tuple[int, pa.Table]]:
        for start, table in read_tables(part, self.storage_options):
            positions = np.arange(start, start + table.num_rows)
            mask = decisions.kept(positions)
            kept = table
            if mask is not None:
                kept, positions = table.filter(pa.array(mask)), positions[mask]
            if self.clusters:
                refuse_taken_columns(part, kept.column_names)
                for name, column in decisions.cluster_columns(positions).items():
                    kept = kept.append_column(name, column)
            yield table.num_rows, kept


def column_bytes(column: pa.Array) -> bytes:
    """Return the bytes of all values of a column, concatenated."""
    return bytes(column_view(column))


def column_view(column: pa.Array) -> memoryview:
    if not len(column):
        return memoryview(b"")
    _, offsets, values = column.buffers()
    edges = np.frombuffer(offsets, np.int32)
    return memoryview(values)[edges[column.offset] : edges[column.offset + len(column)]]


def refuse_taken_columns(part: FilePart, names: list[str]) -> None:
    taken = [name for name in CLUSTER_COLUMNS if name in names]
    if taken:
        raise InputError(
            f"{part.path} has a column {taken[0]!r} already, which would be replaced; "
            "rename it, or leave the columns out (add_clusters=False)"
        )


def _refuse_taken_fields(part: FilePart, lines: pa.Array) -> None:
    """Parse only the lines that may have such a field."""
    for name in CLUSTER_COLUMNS:
        may_have = lines.filter(pc.match_substring(lines, f'"{name}"'))
        for line in may_have.to_pylist():
            refuse_taken_columns(part, list(json.loads(line)))


def _with_marks(line: bytes, marks: dict[str, Any]) -> bytes:
    """Append fields to a line; the existing ones are unchanged, byte by byte."""
    inside = line.rstrip()[:-1].rstrip()
    comma = b"" if inside.endswith(b"{") else b","
    return inside + comma + orjson.dumps(marks)[1:] + b"\n"


def _with_clusters(
    part: FilePart, columns: Columns, decisions: Decisions, positions: npt.NDArray[np.int64]
) -> Columns:
    refuse_taken_columns(part, list(columns.arrays))
    added = decisions.cluster_columns(positions)
    kinds = {"cluster_id": "text", "cluster_size": "int", "is_duplicate": "bool"}
    more = {name: (kinds[name], array) for name, array in added.items()}
    return Columns({**columns.arrays, **more}, columns.rows)


def _num_rows(table: pa.Table | Columns) -> int:
    return table.rows if isinstance(table, Columns) else int(table.num_rows)


def _num_bytes(table: pa.Table | Columns) -> int:
    if isinstance(table, Columns):
        return sum(array.nbytes for _, array in table.arrays.values())
    return int(table.nbytes)


class Batches:
    """Collects kept rows until there are enough for a file."""

    def __init__(self, inputs: Sequence[FilePart], output_format: OutputFormat) -> None:
        own = "parquet" if is_parquet(inputs[0].path) else "jsonl"
        self._format = own if output_format == "same" else output_format
        self._held: list[Any] = []
        self._size = 0

    def add(self, table: pa.Table | Columns) -> Iterator[DocumentBatch]:
        size = _num_bytes(table)
        if self._held and (self._size + size > BATCH_BYTES or not self._fits(table)):
            yield from self.rest()
        if _num_rows(table):
            self._held.append(table)
            self._size += size

    def _fits(self, table: pa.Table | Columns) -> bool:
        last = self._held[-1]
        if isinstance(table, Columns) or isinstance(last, Columns):
            return type(table) is type(last)
        return bool(last.schema.equals(table.schema))

    def rest(self) -> Iterator[DocumentBatch]:
        if not self._held:
            return
        is_parsed = isinstance(self._held[0], Columns)
        table = to_table(self._held) if is_parsed else pa.concat_tables(self._held)
        self._held, self._size = [], 0
        yield DocumentBatch(table, metadata={FORMAT: self._format})


@dataclass
class LineWriter(JsonlWriter):
    """Write lines as they were read."""

    def write(self, tables: Sequence[pa.Table], file: BinaryIO) -> None:
        with open_compressed(file, cast(Compression | None, self.compression)) as stream:
            for table in tables:
                for lines in table.column(LINE).chunks:
                    stream.write(column_view(lines))


@dataclass
class DocumentWriter(FileWriter):
    """Write both JSON Lines and Parquet. `compression` applies to JSON Lines."""

    compressions: ClassVar[tuple[str, ...]] = COMPRESSIONS

    @property
    def ending(self) -> str:
        return self._lines.ending

    def process(self, task: DocumentBatch) -> FileGroup:
        writer = self._writer_of(task)
        writer.setup(self._worker)
        return writer.process(task)

    def write(self, tables: Sequence[pa.Table], file: BinaryIO) -> None:
        self._lines.write(tables, file)

    def _writer_of(self, task: DocumentBatch) -> FileWriter:
        if LINE in task.columns():
            return self._lines
        options = {"mode": self.mode, "storage_options": self.storage_options}
        if task.metadata[FORMAT] == "parquet":
            return ParquetWriter(self.path, **options)  # type: ignore[arg-type]
        return JsonlWriter(self.path, compression=self.compression, **options)  # type: ignore[arg-type]

    @property
    def _lines(self) -> LineWriter:
        return LineWriter(
            self.path,
            self.mode,
            self.compression,
            storage_options=self.storage_options,
        )


class RowBatch(Protocol):
    """The methods of a batch that `DuplicateRemover` uses."""

    def with_columns(self, columns: Mapping[str, Any]) -> Self: ...

    def keep(self, mask: Sequence[bool], reason: str) -> "list[Self | Dropped]": ...


BatchT = TypeVar("BatchT", bound=RowBatch)


@dataclass
class DuplicateRemover:
    """Mixin for stages that drop rows by decisions on their ids. All decisions are held in memory.

    A subclass is also a ProcessingStage; it defines the batches and the ids of their rows.
    """

    decisions: str
    """Folder of the decisions."""

    clusters: bool = False
    """Whether to add cluster_id, cluster_size and is_duplicate."""

    storage_options: StorageOptions | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._decisions = no_decisions()

    def outputs(self) -> Sequence[str]:
        return CLUSTER_COLUMNS if self.clusters else ()

    def setup(self, worker: WorkerInfo) -> None:
        self._decisions = read_row_decisions(
            self.decisions, self.storage_options, with_clusters=self.clusters
        )

    def teardown(self) -> None:
        self._decisions = no_decisions()

    def remove_from(self, batch: BatchT, ids: U64Array) -> "list[BatchT | Dropped]":
        """Return the batch without duplicates, and how many were dropped."""
        if self.clusters:
            batch = batch.with_columns(self._decisions.cluster_columns(ids))
        mask = self._decisions.kept(ids)
        kept = [True] * len(ids) if mask is None else mask.tolist()
        return [*batch.keep(kept, "duplicate")]
