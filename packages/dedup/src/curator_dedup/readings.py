"""Readings: texts of a file with their positions, in bounded pieces, for any format."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import FilePart, InputError, Rejected
from curator_core.io.filesystems import StorageOptions, open_input
from curator_core.io.readers.json_records import BadLine, Record, parse
from curator_core.io.readers.lines import Lines
from curator_core.io.readers.parquet import ParquetReading

from curator_dedup.blocks import is_parquet
from curator_dedup.lines import Piece, pieces_of

_TOO_DEEP = "the text is nested too deeply: more than 250 levels"


@dataclass
class Reading:
    """Consecutive records: their positions, texts and priorities.

    Invalid records are in `bad`, and in `rejected` with a reason for the quarantine.
    """

    positions: npt.NDArray[np.int64]
    texts: list[str | None]
    scores: list[Any] | None = None
    bad: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    rejected: list[Rejected] = field(default_factory=list)
    lacking: int = 0
    """Number of records without the text field."""


@dataclass(frozen=True)
class TextFields:
    """The fields of a record that are read."""

    text: str = "text"
    priority: str | None = None

    @property
    def names(self) -> list[str]:
        return [self.text] if self.priority is None else [self.text, self.priority]


def readings_of(
    part: FilePart,
    fields: TextFields,
    storage_options: StorageOptions | None = None,
    wanted: npt.NDArray[np.int64] | None = None,
) -> Iterator[Reading]:
    """Yield the records of a file; of JSON Lines, parse only lines at `wanted` positions."""
    if is_parquet(part.path):
        yield from _of_parquet(part, fields, storage_options)
        return
    for piece in pieces_of(part, storage_options):
        chosen = piece if wanted is None else _chosen(piece, wanted)
        if len(chosen):
            yield _of_lines(part, chosen, fields)


def _chosen(piece: Piece, wanted: npt.NDArray[np.int64]) -> Piece:
    """Return the lines of a piece that begin at the wanted positions."""
    rows = np.flatnonzero(np.isin(piece.positions, wanted))
    if len(rows) == len(piece):
        return piece
    lines = [piece.data[piece.edges[row] : piece.edges[row + 1]] for row in rows]
    lengths = np.fromiter(map(len, lines), np.int64, len(lines))
    edges = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    return Piece(b"".join(lines), edges, piece.positions[rows], piece.too_long)


def _of_lines(part: FilePart, piece: Piece, fields: TextFields) -> Reading:
    # Not 0: there a byte order mark would be looked for again.
    parsed = parse(Lines(piece.data, 1, piece.too_long))
    positions, bad = _without(piece.positions, [line.number for line in parsed.bad])
    rejected = [_rejected(part, line, int(at)) for line, at in zip(parsed.bad, bad, strict=True)]
    records = parsed.records
    try:
        texts = [_text(record.get(fields.text)) for record in records]
    except orjson.JSONEncodeError:
        deep = [row for row, record in enumerate(records) if not _has_text(record, fields.text)]
        positions, worse = _without(positions, deep)
        bad = np.concatenate((bad, worse))
        rejected += [Rejected(_TOO_DEEP, f"{part.path} byte {place}") for place in worse]
        records = [record for row, record in enumerate(records) if row not in set(deep)]
        texts = [_text(record.get(fields.text)) for record in records]
    scores = None
    if fields.priority is not None:
        scores = [record.get(fields.priority) for record in records]
    lacking = texts.count(None) and sum(fields.text not in record for record in records)
    return Reading(positions, texts, scores, bad, rejected, lacking)


def _without(
    positions: npt.NDArray[np.int64], rows: Sequence[int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the positions that remain, and those of `rows`."""
    if not rows:
        return positions, positions[:0]
    return np.delete(positions, rows), positions[list(rows)]


def _has_text(record: Record, name: str) -> bool:
    try:
        _text(record.get(name))
    except orjson.JSONEncodeError:
        return False
    return True


def _text(value: Any) -> str | None:
    if value is None or type(value) is str:
        return value
    return orjson.dumps(value).decode()


def _rejected(part: FilePart, bad: BadLine, position: int) -> Rejected:
    where = f"{part.path} byte {position}" + (f" column {bad.column}" if bad.column else "")
    return Rejected(bad.reason, where, payload=bad.text)


def _of_parquet(
    part: FilePart, fields: TextFields, storage_options: StorageOptions | None
) -> Iterator[Reading]:
    for start, table in tables_of(part, storage_options, fields.names):
        columns = [column_of(table, name) for name in fields.names]
        positions = np.arange(start, start + table.num_rows)
        texts = _texts(part, fields.text, columns[0])
        scores = columns[1].to_pylist() if columns[1:] else None
        lacking = 0 if fields.text in table.column_names else table.num_rows
        yield Reading(positions, texts, scores, lacking=lacking)


def column_of(table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return a column; nulls if the file does not have it, as files of one corpus may differ."""
    if name in table.column_names:
        return table.column(name)
    return pa.chunked_array([pa.nulls(table.num_rows)])


def _texts(part: FilePart, name: str, column: pa.ChunkedArray) -> list[str | None]:
    try:
        return list(pc.cast(column, pa.string()).to_pylist())
    except pa.ArrowException:
        raise InputError(
            f"column {name!r} of {part.path} is {column.type}, which cannot become text; "
            "name another text_field"
        ) from None


def tables_of(
    part: FilePart,
    storage_options: StorageOptions | None = None,
    fields: Sequence[str] | None = None,
) -> Iterator[tuple[int, pa.Table]]:
    """Yield the rows of a Parquet file in bounded tables, each with the number of its first row.

    Tables have those of `fields` that the file has.
    """
    start, there = _beginning(part, storage_options)
    names = None if fields is None else [name for name in dict.fromkeys(fields) if name in there]
    for piece in ParquetReading(names, None, storage_options=storage_options).pieces(part):
        if isinstance(piece, Rejected):
            raise InputError(
                f"cannot read {piece.where}: {piece.reason}; mend the file, or leave it out"
            )
        if not hasattr(piece, "content"):
            continue
        yield start, piece.content
        start += piece.content.num_rows


def _beginning(part: FilePart, storage_options: StorageOptions | None) -> tuple[int, Sequence[str]]:
    """Return the number of the first row, and the names of the columns."""
    import pyarrow.parquet as pq

    with open_input(part.path, storage_options) as source:
        try:
            file = pq.ParquetFile(source)
        except (pa.ArrowException, OSError) as error:
            told = str(error).strip().splitlines()
            raise InputError(
                f"cannot read {part.path}: damaged Parquet: {told[0] if told else 'no content'}"
            ) from None
        before = sum(file.metadata.row_group(group).num_rows for group in range(part.start))
        return before, file.schema_arrow.names
