"""Separated values: CSV and TSV, with every value read as text."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa
from curator_core import InputError, Rejected
from curator_core.errors import hint
from curator_core.io.compression import (
    COMPRESSIONS,
    DamagedStreamError,
    compression_of,
    decompressed,
)
from curator_core.io.filesystems import open_input
from curator_core.io.readers.base import Piece, ReadingStage
from curator_core.io.readers.lines import Lines, lines_of_range, whole_lines
from curator_core.model.files import FilePart

from curator_text.sources.readers import SourceReader

_LINE = re.compile(r"[^\n]*\n|[^\n]+")  # str.splitlines would also split at form feeds

_ROWS = 4096
_LONGEST_FIELD = 64 * 1024 * 1024


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
            yield f"columns names one twice: {', '.join(self.columns)}"

    def rows(self, lines: Iterator[str]) -> Any:
        csv.field_size_limit(_LONGEST_FIELD)  # the default is 128 KiB; applies to the whole process
        if self.quoting:
            return csv.reader(lines, delimiter=self.delimiter)
        return csv.reader(lines, delimiter=self.delimiter, quoting=csv.QUOTE_NONE)


@dataclass
class SeparatedReading(ReadingStage[pa.Table]):
    """Reads files of separated values, or byte ranges if values cannot contain line breaks."""

    dialect: Dialect = field(default_factory=Dialect)

    def check(self) -> Iterator[str]:
        wrong = list(self.dialect.problems())
        yield from wrong
        if not wrong:
            yield from super().check()

    def sample(self, part: FilePart) -> tuple[str, ...]:
        return tuple(self._names(part))

    def table(self, pieces: Sequence[pa.Table]) -> pa.Table:
        return pa.concat_tables(pieces)

    def fits(self, before: pa.Table, piece: pa.Table) -> bool:
        return bool(before.schema.equals(piece.schema))

    def pieces(self, part: FilePart) -> Iterator[Piece[pa.Table] | Rejected]:
        names = self._names(part)
        for name in self.fields or ():
            if name not in names:
                raise InputError(f"{part.path} has no column {name!r}{hint(name, names)}")
        rows: list[list[str]] = []
        size = 0
        for found in self._rows(part, names):
            if isinstance(found, Rejected):
                yield found
                continue
            rows.append(found)
            size += sum(map(len, found))
            if len(rows) == _ROWS or size > _LONGEST_FIELD // 16:
                yield self._piece(names, rows, size)
                rows, size = [], 0
        if rows:
            yield self._piece(names, rows, size)

    def _piece(self, names: list[str], rows: list[list[str]], size: int) -> Piece[pa.Table]:
        columns = [pa.array(values, pa.string()) for values in zip(*rows, strict=True)]
        table = pa.Table.from_arrays(columns, names=names)
        return Piece(table.select(self.fields) if self.fields else table, size)

    def _names(self, part: FilePart) -> list[str]:
        """Return the column names: the configured ones, or those in the first line."""
        if self.dialect.columns is not None:
            return list(self.dialect.columns)
        first: list[str] = next(self.dialect.rows(_texts(self._lines(FilePart(part.path)))), [])
        names = [name.strip() for name in first]
        if len(set(names)) < len(names) or not all(names):
            raise InputError(
                f"cannot read {part.path}: its first line has no names for columns, but "
                f"{', '.join(names)[:100]!r}; give columns: [...]"
            )
        return names

    def _rows(self, part: FilePart, names: list[str]) -> Iterator[list[str] | Rejected]:
        rows = self.dialect.rows(_texts(self._lines(part)))
        is_header = self.dialect.columns is None and part.start == 0
        while True:
            line = rows.line_num + 1
            where = f"{part.path} line {line}" if part.start == 0 else f"{part} line {line} of it"
            try:
                row = next(rows)
                bad = None if is_header or not row else _problem(row, names)
            except StopIteration:
                return
            except csv.Error as error:
                row, bad = [], f"not separated values: {error}"
            except DamagedStreamError as damage:
                place = f"{part.path} byte {damage.offset} (decompressed)"
                yield Rejected(f"{damage.reason}; what follows is lost", place)
                return
            if bad:
                shown = self.dialect.delimiter.join(row)[:65536]
                yield Rejected(bad, where, payload=shown.encode("utf-8", "surrogateescape"))
            elif row and not is_header:
                yield row
            is_header = is_header and not row and not bad

    def _lines(self, part: FilePart) -> Iterator[Lines]:
        kind = compression_of(part.path)
        if kind is not None:
            yield from whole_lines(
                decompressed(lambda: open_input(part.path, self.storage_options), kind)
            )
            return
        with open_input(part.path, self.storage_options) as file:
            yield from lines_of_range(file, part.start, part.end)


def _texts(pieces: Iterator[Lines]) -> Iterator[str]:
    for piece in pieces:
        data = piece.data.removeprefix(b"\xef\xbb\xbf") if piece.offset == 0 else piece.data
        text = data.decode("utf-8", "surrogateescape")
        yield from _LINE.findall(text)


def _problem(row: list[str], names: list[str]) -> str | None:
    if len(row) != len(names):
        return f"{len(row)} values, but {len(names)} columns"
    try:
        "".join(row).encode()
    except UnicodeEncodeError:
        return "not UTF-8"
    return None


_CSV, _TSV = (".csv",), (".tsv", ".tab")


def _with_compressed(plain: tuple[str, ...]) -> tuple[str, ...]:
    return (*plain, *(f"{one}.{kind}" for one in plain for kind in COMPRESSIONS))


@dataclass
class CsvReader(SourceReader):
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

    endings: ClassVar[tuple[str, ...]] = _with_compressed(_CSV)
    reading = SeparatedReading

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

    endings: ClassVar[tuple[str, ...]] = _with_compressed(_TSV)
