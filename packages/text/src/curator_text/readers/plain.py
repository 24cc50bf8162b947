"""Plain text: one document per file, line or paragraph."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, get_args

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
from curator_core.io.readers import lines_in_range, whole_lines

from curator_text.readers.base import FormatReader, RecordReading, RowOutcome

TextUnit: TypeAlias = Literal["file", "line", "paragraph"]

MAX_TEXT_BYTES = 256 * 1024 * 1024
"""Larger files are refused as single documents."""

_PLAIN = (".txt", ".text")


@dataclass
class TextReading(RecordReading):
    unit: TextUnit = "file"

    def check(self) -> Iterator[str]:
        if self.unit not in get_args(TextUnit):
            yield f"no unit {self.unit!r}{hint(self.unit, get_args(TextUnit))}"
        yield from super().check()

    def schema(self) -> pa.Schema:
        return pa.schema({self.text_field or "text": pa.string(), "path": pa.string()})

    def rows(self, part: FilePart) -> Iterator[RowOutcome]:
        try:
            for offset, data in self._texts(part):
                yield _make_row(part, offset, data)
        except DamagedStreamError as damage:
            where = f"{part.path} byte {damage.offset} (decompressed)"
            yield Rejected(f"{damage.reason}; the rest is lost", where)

    def _texts(self, part: FilePart) -> Iterator[tuple[int, bytes]]:
        pieces = self._lines(part)
        if self.unit == "line":
            return _single_lines(pieces)
        if self.unit == "paragraph":
            return _paragraphs(_single_lines(pieces, blank=True))
        return _whole_file(part, (data for _, data in pieces))

    def _lines(self, part: FilePart) -> Iterator[tuple[int, bytes]]:
        kind = compression_of(part.path)
        if kind is not None:
            found = whole_lines(
                decompress(lambda: open_input(part.path, self.storage_options), kind)
            )
            yield from ((one.offset, one.data) for one in found)
            return
        with open_input(part.path, self.storage_options) as file:
            found = lines_in_range(file, part.start, part.end)
            yield from ((one.offset, one.data) for one in found)


def _make_row(part: FilePart, offset: int, data: bytes) -> RowOutcome:
    try:
        text = data.decode("utf-8-sig" if offset == 0 else "utf-8")
    except UnicodeDecodeError as error:
        reason = f"the text is not UTF-8: 0x{data[error.start]:02x}"
        return Rejected(reason, f"{part.path} byte {offset + error.start}", payload=data[:65536])
    return text, part.path


def _single_lines(
    pieces: Iterable[tuple[int, bytes]], blank: bool = False
) -> Iterator[tuple[int, bytes]]:
    for start, data in pieces:
        offset = start
        for line in data.removesuffix(b"\n").split(b"\n"):
            if blank or line.strip():
                yield offset, line.rstrip(b"\r")
            offset += len(line) + 1


def _paragraphs(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Group consecutive non-blank lines."""
    buffer: list[bytes] = []
    start_offset = 0
    for offset, line in lines:
        if line.strip():
            start_offset = start_offset if buffer else offset
            buffer.append(line)
        elif buffer:
            yield start_offset, b"\n".join(buffer)
            buffer = []
    if buffer:
        yield start_offset, b"\n".join(buffer)


def _whole_file(part: FilePart, pieces: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    buffer: list[bytes] = []
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > MAX_TEXT_BYTES:
            raise InputError(
                f"{part.path} is larger than {MAX_TEXT_BYTES >> 20} MiB, too large for a document; "
                "read it with unit: line or paragraph"
            )
        buffer.append(piece)
    if buffer:
        yield 0, b"".join(buffer)


@dataclass
class TextReader(FormatReader):
    """Reads UTF-8 text files (.txt, optionally .gz .zst .bz2 .xz), with their paths."""

    unit: TextUnit = field(default="file", kw_only=True)
    """Unit of a document: a `file`, a `line` or a `paragraph` (separated by blank lines)."""

    endings: ClassVar[tuple[str, ...]] = (
        *_PLAIN,
        *(f"{plain}.{kind}" for plain in _PLAIN for kind in COMPRESSIONS),
    )
    reading = TextReading

    def __post_init__(self) -> None:
        super().__post_init__()
        self.split = "lines" if self.unit == "line" else "whole"  # type: ignore[misc]

    def reading_options(self) -> Sequence[Any]:
        return (self.unit,)
