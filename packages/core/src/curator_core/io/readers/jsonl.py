"""JSON Lines reader: one record per line, plain or compressed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import BinaryIO, ClassVar

import orjson
import pyarrow as pa

from curator_core.errors import InputError
from curator_core.io.compression import (
    COMPRESSIONS,
    DamagedStreamError,
    compression_of,
    decompress,
)
from curator_core.io.filesystems import open_input
from curator_core.io.partitioning import Split
from curator_core.io.readers.base import FileReader, Piece, ReadingStage
from curator_core.io.readers.json_records import (
    BadLine,
    Parsed,
    Record,
    describe_other_format,
    has_long_digits,
    parse_line_by_line,
    parse_lines,
)
from curator_core.io.readers.lines import Lines, lines_in_range, whole_lines
from curator_core.io.readers.tables import (
    Columns,
    TooWideError,
    split_columns,
    to_columns,
    to_table,
)
from curator_core.model.files import FilePart
from curator_core.model.tasks import Rejected

_PLAIN = (".jsonl", ".json", ".ndjson")
JSONL_ENDINGS = (*_PLAIN, *(f"{plain}.{kind}" for plain in _PLAIN for kind in COMPRESSIONS))

_BEGINNING = 4096
_SAMPLED_BYTES = 256 * 1024


@dataclass
class JsonlReading(ReadingStage[Columns]):
    """Read JSON Lines files, or byte ranges of them."""

    def makes_several(self) -> bool | None:
        """Return whether a part may exceed one batch, or None if unknown."""
        try:
            return None if self.listing is None else not self.listing.one_batch_per_task
        except (InputError, OSError):  # the listing stage reports it
            return None

    def pieces(self, part: FilePart) -> Iterator[Piece[Columns] | Rejected]:
        number = 0
        given = False
        try:
            for lines in _lines(part, partial(open_input, part.path, self.storage_options)):
                _refuse_foreign(part, lines)
                parsed, tables = self._parse_lines(lines)
                for bad in parsed.bad:
                    yield _reject_line(part, bad, number)
                number += parsed.lines
                given |= bool(parsed.records)
                for columns in tables:
                    size = len(lines.data) * columns.rows // len(parsed.records)
                    yield Piece(columns, size, columns.arrays.keys(), columns.rows)
        except DamagedStreamError as damage:
            if not given:
                raise InputError(f"cannot read {part.path}: {damage.reason}") from None
            where = f"{part.path} byte {damage.offset} (decompressed)"
            yield Rejected(f"{damage.reason}; what follows is lost", where)

    def _parse_lines(self, lines: Lines) -> tuple[Parsed, list[Columns]]:
        parsed = parse_lines(lines)
        if self._has_only_texts(parsed.records):
            try:
                tables = self._columns(parsed)
            except (orjson.JSONEncodeError, TooWideError):  # the other records are fine
                pass
            else:
                rounded = any(table.may_be_rounded() for table in tables)
                if not (rounded and has_long_digits(lines.data)):
                    return parsed, tables
        parsed = parse_line_by_line(lines, self._text_column)
        return parsed, self._columns(parsed)

    def _columns(self, parsed: Parsed) -> list[Columns]:
        if not parsed.records:
            return []
        if self.fields is None:
            return split_columns(parsed.records, self.text_field)
        return [to_columns(parsed.records, self.fields, self.text_field)]

    @property
    def _text_column(self) -> str | None:
        """The column that must hold text, or None if it is not read."""
        is_read = self.fields is None or self.text_field in self.fields
        return self.text_field if is_read else None

    def _has_only_texts(self, records: Sequence[Record]) -> bool:
        name = self._text_column
        if name is None:
            return True
        return {type(record.get(name)) for record in records} <= {str, type(None)}

    def table(self, pieces: Sequence[Columns]) -> pa.Table:
        return to_table(pieces)

    def sample(self, part: FilePart) -> tuple[str, ...]:
        names: dict[str, None] = {}
        for lines in _lines(part, partial(open_input, part.path, self.storage_options)):
            names |= dict.fromkeys(chain.from_iterable(parse_lines(lines).records))
            if names and lines.offset + len(lines.data) >= _SAMPLED_BYTES:
                break
        return tuple(names)


@dataclass
class JsonlReader(FileReader):
    """Read JSON Lines (.jsonl .json .ndjson, also .gz .zst .bz2 .xz).

    Lines that are not JSON objects are quarantined with their position, and so are records whose
    text is a number, a list or an object. All other records are kept.
    """

    endings: ClassVar[tuple[str, ...]] = JSONL_ENDINGS
    split: ClassVar[Split] = "lines"
    reading = JsonlReading


def _lines(part: FilePart, reopen: Callable[[], BinaryIO]) -> Iterator[Lines]:
    compression = compression_of(part.path)
    if compression is not None:
        yield from whole_lines(decompress(reopen, compression))
        return
    with reopen() as file:
        yield from lines_in_range(file, part.start, part.end)


def _refuse_foreign(part: FilePart, lines: Lines) -> None:
    """Refuse a file of another format as a whole, instead of rejecting each of its lines."""
    reason = None if part.start or lines.offset else describe_other_format(lines.data[:_BEGINNING])
    if reason:
        raise InputError(f"cannot read {part.path}: {reason}")


def _reject_line(part: FilePart, bad: BadLine, number: int) -> Rejected:
    place = f"byte {bad.offset}" if part.start else f"line {number + bad.number + 1}"
    column = f" column {bad.column}" if bad.column else ""
    return Rejected(bad.reason, f"{part.path} {place}{column}", payload=bad.text)
