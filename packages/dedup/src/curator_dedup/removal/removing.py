"""Removing: read documents again and drop the duplicates."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, FileGroup, FilePart, InputError, ProcessingStage
from curator_core.io.filesystems import StorageOptions
from curator_core.io.readers.base import BATCH_BYTES
from curator_core.io.readers.json_records import parse, parse_shallow
from curator_core.io.readers.lines import Lines
from curator_core.io.readers.tables import Columns, TooWideError, columns_of, table_of

from curator_dedup.blocks import block_id, decisions_of, inputs_of, is_parquet
from curator_dedup.lines import pieces_of
from curator_dedup.readings import tables_of
from curator_dedup.removal.decided import CLUSTER_COLUMNS, Decided, decided_on, nothing_decided

Format: TypeAlias = Literal["same", "jsonl", "parquet"]
"""Output format: the same as the input, or one format for all."""

LINE = "_curator_line"
"""Column of lines as they were read, including line endings."""

FORMAT = "format"
"""Metadata key of a batch's format."""


@dataclass
class Removing(ProcessingStage[FileGroup, DocumentBatch]):
    """Return the documents of a block that are kept.

    JSON lines are copied byte by byte, unless the output is Parquet; marks are appended to them.
    """

    fans_out = True

    partitions: int
    text_field: str = "text"
    output_format: Format = "same"
    clusters: bool = False
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Dropped]:
        inputs = inputs_of(task)
        decided = decided_on(
            block_id(inputs),
            decisions_of(task),
            self.partitions,
            with_clusters=self.clusters,
            storage_options=self.storage_options,
        )
        kind = "parquet" if is_parquet(inputs[0].path) else "jsonl"
        batches = Batches(kind if self.output_format == "same" else self.output_format)
        gone = 0
        for part in inputs:
            for rows, table in self._kept(part, decided.get(part.path) or nothing_decided()):
                gone += rows - _rows_of(table)
                yield from batches.add(table)
        yield from batches.rest()
        if gone:
            yield Dropped("duplicate, or no record", gone)

    def _kept(self, part: FilePart, decided: Decided) -> Iterator[tuple[int, pa.Table | Columns]]:
        """Yield the kept part of a file, with the number of rows before removal."""
        if is_parquet(part.path):
            return self._of_parquet(part, decided)
        if self.output_format == "parquet":
            return self._parsed(part, decided)
        return self._marked(part, decided) if self.clusters else self._raw(part, decided)

    def _raw(self, part: FilePart, decided: Decided) -> Iterator[tuple[int, pa.Table]]:
        for piece in pieces_of(part, self.storage_options):
            mask = decided.kept(piece.positions)
            column = piece.column()
            yield len(piece), pa.table({LINE: column if mask is None else column.filter(mask)})

    def _marked(self, part: FilePart, decided: Decided) -> Iterator[tuple[int, pa.Table]]:
        for piece in pieces_of(part, self.storage_options):
            mask = decided.kept(piece.positions)
            column, positions = piece.column(), piece.positions
            if mask is not None:
                column, positions = column.filter(mask), positions[mask]
            _refuse_taken_in(part, column)
            marks = pa.table(decided.clusters(positions)).to_pylist()
            lines = [_with_marks(*pair) for pair in zip(column.to_pylist(), marks, strict=True)]
            yield len(piece), pa.table({LINE: pa.array(lines, pa.binary())})

    def _parsed(self, part: FilePart, decided: Decided) -> Iterator[tuple[int, Columns]]:
        for piece in pieces_of(part, self.storage_options):
            mask = decided.kept(piece.positions)
            column, positions = piece.column(), piece.positions
            if mask is not None:
                column, positions = column.filter(mask), positions[mask]
            columns, unreadable = self._columns(content_of(column))
            if self.clusters:
                positions = np.delete(positions, unreadable)
                columns = _with_clusters(part, columns, decided, positions)
            yield len(piece), columns

    def _columns(self, data: bytes) -> tuple[Columns, list[int]]:
        """Return lines as columns, and the numbers of lines that are nested too deeply."""
        if not data:
            return Columns({}, 0), []
        lines = Lines(data, 1)
        try:
            return columns_of(parse(lines).records, None, self.text_field), []
        except (orjson.JSONEncodeError, TooWideError):
            parsed = parse_shallow(lines)
            columns = columns_of(parsed.records, None, self.text_field)
            return columns, [bad.number for bad in parsed.bad]

    def _of_parquet(self, part: FilePart, decided: Decided) -> Iterator[tuple[int, pa.Table]]:
        for start, table in tables_of(part, self.storage_options):
            positions = np.arange(start, start + table.num_rows)
            mask = decided.kept(positions)
            kept = table
            if mask is not None:
                kept, positions = table.filter(pa.array(mask)), positions[mask]
            if self.clusters:
                refuse_taken(part, kept.column_names)
                for name, column in decided.clusters(positions).items():
                    kept = kept.append_column(name, column)
            yield table.num_rows, kept


def content_of(column: pa.Array) -> bytes:
    """Return the bytes of all values of a column, concatenated."""
    return bytes(memoryview_of(column))


def memoryview_of(column: pa.Array) -> memoryview:
    if not len(column):
        return memoryview(b"")
    _, offsets, values = column.buffers()
    edges = np.frombuffer(offsets, np.int32)
    return memoryview(values)[edges[column.offset] : edges[column.offset + len(column)]]


def refuse_taken(part: FilePart, names: list[str]) -> None:
    taken = [name for name in CLUSTER_COLUMNS if name in names]
    if taken:
        raise InputError(
            f"{part.path} has a column {taken[0]!r} already, which would be replaced; "
            "rename it, or leave the columns out (add_clusters=False)"
        )


def _refuse_taken_in(part: FilePart, lines: pa.Array) -> None:
    """Parse only the lines that may have such a field."""
    for name in CLUSTER_COLUMNS:
        may_have = lines.filter(pc.match_substring(lines, f'"{name}"'))
        for line in may_have.to_pylist():
            refuse_taken(part, list(json.loads(line)))


def _with_marks(line: bytes, marks: dict[str, Any]) -> bytes:
    """Append fields to a line; the existing ones are unchanged, byte by byte."""
    inside = line.rstrip()[:-1].rstrip()
    comma = b"" if inside.endswith(b"{") else b","
    return inside + comma + orjson.dumps(marks)[1:] + b"\n"


def _with_clusters(
    part: FilePart, columns: Columns, decided: Decided, positions: npt.NDArray[np.int64]
) -> Columns:
    refuse_taken(part, list(columns.arrays))
    added = decided.clusters(positions)
    kinds = {"cluster_id": "text", "cluster_size": "int", "is_duplicate": "bool"}
    more = {name: (kinds[name], array) for name, array in added.items()}
    return Columns({**columns.arrays, **more}, columns.rows)


def _rows_of(table: pa.Table | Columns) -> int:
    return table.rows if isinstance(table, Columns) else int(table.num_rows)


def _bytes_of(table: pa.Table | Columns) -> int:
    if isinstance(table, Columns):
        return sum(array.nbytes for _, array in table.arrays.values())
    return int(table.nbytes)


class Batches:
    """Collects kept rows until there are enough for a file."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._held: list[Any] = []
        self._size = 0

    def add(self, table: pa.Table | Columns) -> Iterator[DocumentBatch]:
        size = _bytes_of(table)
        if self._held and (self._size + size > BATCH_BYTES or not self._fits(table)):
            yield from self.rest()
        if _rows_of(table):
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
        table = table_of(self._held) if is_parsed else pa.concat_tables(self._held)
        self._held, self._size = [], 0
        yield DocumentBatch(table, metadata={FORMAT: self._kind})
