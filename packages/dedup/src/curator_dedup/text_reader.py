"""Read the texts of a file with their positions, in bounded batches, for any format."""

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
from curator_core.io.readers import BadLine, Lines, ParquetReading, Record, parse_lines

from curator_dedup.line_reader import LineBatch, read_lines
from curator_dedup.passes.list import is_parquet

_TOO_DEEP = "the text is nested too deeply: more than 250 levels"


@dataclass
class TextBatch:
    """Consecutive records: their positions, texts and priorities.

    Invalid records are in `bad`, and in `rejected` with a reason for the quarantine.
    """

    positions: npt.NDArray[np.int64]
    texts: list[str | None]
    scores: list[Any] | None = None
    bad: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    rejected: list[Rejected] = field(default_factory=list)
    missing: int = 0
    """Number of records without the text field."""


@dataclass(frozen=True)
class TextFields:
    """The fields of a record that are read."""

    text: str = "text"
    priority: str | None = None

    @property
    def names(self) -> list[str]:
        return [self.text] if self.priority is None else [self.text, self.priority]


def read_texts(
    part: FilePart,
    fields: TextFields,
    storage_options: StorageOptions | None = None,
    wanted: npt.NDArray[np.int64] | None = None,
) -> Iterator[TextBatch]:
    """Yield the records of a file; of JSON Lines, parse only lines at `wanted` positions."""
    if is_parquet(part.path):
        yield from _read_parquet(part, fields, storage_options)
        return
    for batch in read_lines(part, storage_options):
        lines = batch if wanted is None else _select_lines(batch, wanted)
        if len(lines):
            yield _parse_lines(part, lines, fields)


def _select_lines(batch: LineBatch, wanted: npt.NDArray[np.int64]) -> LineBatch:
    """Return the lines of a batch that begin at the wanted positions."""
    rows = np.flatnonzero(np.isin(batch.positions, wanted))
    if len(rows) == len(batch):
        return batch
    lines = [batch.data[batch.edges[row] : batch.edges[row + 1]] for row in rows]
    lengths = np.fromiter(map(len, lines), np.int64, len(lines))
    edges = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    return LineBatch(b"".join(lines), edges, batch.positions[rows], batch.too_long)


def _parse_lines(part: FilePart, batch: LineBatch, fields: TextFields) -> TextBatch:
    # Not 0: there a byte order mark would be looked for again.
    parsed = parse_lines(Lines(batch.data, 1, batch.too_long))
    positions, bad = _split_rows(batch.positions, [line.number for line in parsed.bad])
    rejected = [
        _rejected(part, line, int(position)) for line, position in zip(parsed.bad, bad, strict=True)
    ]
    records = parsed.records
    try:
        texts = [_text(record.get(fields.text)) for record in records]
    except orjson.JSONEncodeError:
        deep = [row for row, record in enumerate(records) if not _has_text(record, fields.text)]
        positions, nested = _split_rows(positions, deep)
        bad = np.concatenate((bad, nested))
        rejected += [Rejected(_TOO_DEEP, f"{part.path} byte {position}") for position in nested]
        records = [record for row, record in enumerate(records) if row not in set(deep)]
        texts = [_text(record.get(fields.text)) for record in records]
    scores = None
    if fields.priority is not None:
        scores = [record.get(fields.priority) for record in records]
    missing = texts.count(None) and sum(fields.text not in record for record in records)
    return TextBatch(positions, texts, scores, bad, rejected, missing)


def _split_rows(
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


def _read_parquet(
    part: FilePart, fields: TextFields, storage_options: StorageOptions | None
) -> Iterator[TextBatch]:
    for start, table in read_tables(part, storage_options, fields.names):
        columns = [column_of(table, name) for name in fields.names]
        positions = np.arange(start, start + table.num_rows)
        texts = _texts(part, fields.text, columns[0])
        scores = columns[1].to_pylist() if columns[1:] else None
        missing = 0 if fields.text in table.column_names else table.num_rows
        yield TextBatch(positions, texts, scores, missing=missing)


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


def read_tables(
    part: FilePart,
    storage_options: StorageOptions | None = None,
    fields: Sequence[str] | None = None,
) -> Iterator[tuple[int, pa.Table]]:
    """Yield the rows of a Parquet file in bounded tables, each with the number of its first row.

    Tables have those of `fields` that the file has.
    """
    start, available = _first_row_and_names(part, storage_options)
    names = (
        None if fields is None else [name for name in dict.fromkeys(fields) if name in available]
    )
    for batch in ParquetReading(names, None, storage_options=storage_options).pieces(part):
        if isinstance(batch, Rejected):
            raise InputError(
                f"cannot read {batch.where}: {batch.reason}; repair or remove the file"
            )
        if not hasattr(batch, "content"):
            continue
        yield start, batch.content
        start += batch.content.num_rows


def _first_row_and_names(
    part: FilePart, storage_options: StorageOptions | None
) -> tuple[int, Sequence[str]]:
    """Return the number of the first row, and the names of the columns."""
    import pyarrow.parquet as pq

    with open_input(part.path, storage_options) as source:
        try:
            file = pq.ParquetFile(source)
        except (pa.ArrowException, OSError) as error:
            lines = str(error).strip().splitlines()
            raise InputError(
                f"cannot read {part.path}: damaged Parquet: {lines[0] if lines else 'no content'}"
            ) from None
        before = sum(file.metadata.row_group(group).num_rows for group in range(part.start))
        return before, file.schema_arrow.names


def priorities_of(part: FilePart, values: Sequence[Any]) -> npt.NDArray[np.float64]:
    """Return the priorities as numbers; a missing one is the lowest."""
    scores = [-np.inf if value is None else value for value in values]
    wrong = next((score for score in scores if not isinstance(score, int | float)), None)
    if wrong is not None:
        raise InputError(
            f"{part.path} has a priority that is not a number: {str(wrong)[:40]!r}; "
            "name a column of numbers as priority_field"
        )
    numbers = np.array(scores, np.float64)
    numbers[np.isnan(numbers)] = -np.inf
    return numbers
