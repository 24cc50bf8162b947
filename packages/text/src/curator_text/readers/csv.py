"""CSV and TSV: read separated values, every value as text."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa
from curator_core import FilePart, InputError, Rejected
from curator_core.errors import hint
from curator_core.io.compression import (
    COMPRESSIONS,
    DamagedStreamError,
    compression_of,
    decompress,
)
from curator_core.io.filesystems import open_input
from curator_core.io.readers import Lines, Piece, ReadingStage, lines_in_range, whole_lines

from curator_text.readers.base import FormatReader

_LINE = re.compile(r"[^\n]*\n|[^\n]+")  # str.splitlines would also split at form feeds

_ROWS_PER_PIECE = 4096
_MAX_FIELD_SIZE = 64 * 1024 * 1024


@dataclass(frozen=True)
class Dialect:
    """How values are separated and quoted."""

    delimiter: str = ","
    quoting: bool = True
    columns: Sequence[str] | None = None

    def problems(self) -> Iterator[str]:
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            yield f"delimiter is {self.delimiter!r}, but must be one character, such as ;"
        if self.columns is not None and len(set(self.columns)) < len(self.columns):
            yield f"columns has duplicate names: {', '.join(self.columns)}"

    def rows(self, lines: Iterator[str]) -> Any:
        # The default is 128 KiB. The limit applies to the whole process.
        csv.field_size_limit(_MAX_FIELD_SIZE)
        if self.quoting:
            return csv.reader(lines, delimiter=self.delimiter)
        return csv.reader(lines, delimiter=self.delimiter, quoting=csv.QUOTE_NONE)


@dataclass
class CsvReading(ReadingStage[pa.Table]):
    """Reads files of separated values, or byte ranges if values cannot contain line breaks."""

    dialect: Dialect = field(default_factory=Dialect)

    def check(self) -> Iterator[str]:
        problems = list(self.dialect.problems())
        yield from problems
        if not problems:
            yield from super().check()

    def sample(self, part: FilePart) -> tuple[str, ...]:
        return tuple(self._column_names(part))

    def table(self, pieces: Sequence[pa.Table]) -> pa.Table:
        return pa.concat_tables(pieces)

    def fits(self, before: pa.Table, piece: pa.Table) -> bool:
        return bool(before.schema.equals(piece.schema))

    def pieces(self, part: FilePart) -> Iterator[Piece[pa.Table] | Rejected]:
        names = self._column_names(part)
        for name in self.fields or ():
            if name not in names:
                raise InputError(f"{part.path} has no column {name!r}{hint(name, names)}")
        rows: list[list[str]] = []
        size = 0
        for outcome in self._rows(part, names):
            if isinstance(outcome, Rejected):
                yield outcome
                continue
            rows.append(outcome)
            size += sum(map(len, outcome))
            if len(rows) == _ROWS_PER_PIECE or size > _MAX_FIELD_SIZE // 16:
                yield self._piece(names, rows, size)
                rows, size = [], 0
        if rows:
            yield self._piece(names, rows, size)

    def _piece(self, names: list[str], rows: list[list[str]], size: int) -> Piece[pa.Table]:
        columns = [pa.array(values, pa.string()) for values in zip(*rows, strict=True)]
        table = pa.Table.from_arrays(columns, names=names)
        return Piece(table.select(self.fields) if self.fields else table, size)

    def _column_names(self, part: FilePart) -> list[str]:
        """Return the column names: the configured ones, or those in the first line."""
        if self.dialect.columns is not None:
            return list(self.dialect.columns)
        first: list[str] = next(
            self.dialect.rows(_decode_lines(self._lines(FilePart(part.path)))), []
        )
        names = [name.strip() for name in first]
        if len(set(names)) < len(names) or not all(names):
            raise InputError(
                f"cannot read {part.path}: its first line does not contain column names, but "
                f"{', '.join(names)[:100]!r}; give columns: [...]"
            )
        return names

    def _rows(self, part: FilePart, names: list[str]) -> Iterator[list[str] | Rejected]:
        rows = self.dialect.rows(_decode_lines(self._lines(part)))
        is_header = self.dialect.columns is None and part.start == 0
        while True:
            line = rows.line_num + 1
            where = f"{part.path} line {line}" if part.start == 0 else f"{part} line {line} of it"
            try:
                row = next(rows)
                problem = None if is_header or not row else _row_problem(row, names)
            except StopIteration:
                return
            except csv.Error as error:
                row, problem = [], f"not separated values: {error}"
            except DamagedStreamError as damage:
                place = f"{part.path} byte {damage.offset} (decompressed)"
                yield Rejected(f"{damage.reason}; the rest is lost", place)
                return
            if problem:
                shown = self.dialect.delimiter.join(row)[:65536]
                yield Rejected(problem, where, payload=shown.encode("utf-8", "surrogateescape"))
            elif row and not is_header:
                yield row
            is_header = is_header and not row and not problem

    def _lines(self, part: FilePart) -> Iterator[Lines]:
        kind = compression_of(part.path)
        if kind is not None:
            yield from whole_lines(
                decompress(lambda: open_input(part.path, self.storage_options), kind)
            )
            return
        with open_input(part.path, self.storage_options) as file:
            yield from lines_in_range(file, part.start, part.end)


def _decode_lines(pieces: Iterator[Lines]) -> Iterator[str]:
    for piece in pieces:
        data = piece.data.removeprefix(b"\xef\xbb\xbf") if piece.offset == 0 else piece.data
        text = data.decode("utf-8", "surrogateescape")
        yield from _LINE.findall(text)


def _row_problem(row: list[str], names: list[str]) -> str | None:
    if len(row) != len(names):
        return f"{len(row)} values, but {len(names)} columns"
    try:
        "".join(row).encode()
    except UnicodeEncodeError:
        return "not UTF-8"
    return None


_CSV_ENDINGS, _TSV_ENDINGS = (".csv",), (".tsv", ".tab")


def _with_compressed(plain: tuple[str, ...]) -> tuple[str, ...]:
    return (*plain, *(f"{one}.{kind}" for one in plain for kind in COMPRESSIONS))


@dataclass
class CsvReader(FormatReader):
    """Reads UTF-8 CSV (optionally .gz .zst .bz2 .xz); every value is text.

    A large file is read by one worker because quoted values may contain line breaks. Without
    `quoting`, it is split. Rows with too many or too few values are quarantined.
    """

    delimiter: str = field(default=",", kw_only=True)
    """Separator between values."""

    quoting: bool = field(default=True, kw_only=True)
    """Quotation marks enclose values that contain delimiters or line breaks."""

    columns: list[str] | None = field(default=None, kw_only=True)
    """Column names, for files without a header line."""

    endings: ClassVar[tuple[str, ...]] = _with_compressed(_CSV_ENDINGS)
    reading = CsvReading

    def __post_init__(self) -> None:
        super().__post_init__()
        self.split = "whole" if self.quoting else "lines"  # type: ignore[misc]

    def reading_options(self) -> Sequence[Any]:
        return (Dialect(self.delimiter, self.quoting, self.columns),)


@dataclass
class TsvReader(CsvReader):
    """Reads UTF-8 tab-separated values; every value is text.

    Quotation marks are ordinary characters unless `quoting` is set, so a large file is split.
    """

    delimiter: str = field(default="\t", kw_only=True)
    """Separator between values."""

    quoting: bool = field(default=False, kw_only=True)
    """Quotation marks enclose values that contain delimiters or line breaks."""

    endings: ClassVar[tuple[str, ...]] = _with_compressed(_TSV_ENDINGS)
