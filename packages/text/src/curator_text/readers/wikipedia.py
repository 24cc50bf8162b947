"""Wikipedia: read page dumps (pages-articles, multistream or not) as text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, ClassVar, NamedTuple
from xml.parsers.expat import ExpatError, ParserCreate

import pyarrow as pa
from curator_core import Dropped, FilePart, InputError, Rejected
from curator_core.io.filesystems import open_input
from curator_core.io.partitioning import Split, parse_size

from curator_text.option_checks import size_problems
from curator_text.readers.base import FormatReader, RecordReading, RowOutcome
from curator_text.readers.compressed_members import (
    CompressedMember,
    DamagedMemberError,
    MemberKind,
    Members,
)
from curator_text.readers.wikitext import wikitext_to_text

_KEPT = ("title", "ns", "id", "timestamp", "text")


class WikiPage(NamedTuple):
    """A page. `wikitext` is None if it is larger than allowed."""

    title: str
    namespace: int
    page_id: int
    timestamp: str | None
    is_redirect: bool
    wikitext: str | None


class DamagedDumpError(Exception):
    """The XML is damaged, truncated, or not a dump."""


def parse_wiki_pages(
    pieces: Iterable[bytes], max_size: int, is_beginning: bool
) -> Iterator[WikiPage]:
    """Yield the pages in a piece of XML. Only the start of a dump has the root element."""
    parser = _PageParser(max_size)
    try:
        if not is_beginning:
            parser.feed(b"<mediawiki>")
        for piece in pieces:
            parser.feed(piece)
            yield from parser.take_pages()
    except ExpatError as error:
        raise DamagedDumpError(f"the XML is damaged: {error}") from None
    if parser.is_in_page:
        raise DamagedDumpError("the XML ends in the middle of a page")


class _PageParser:
    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._pages: list[WikiPage] = []
        self._values: dict[str, list[str]] | None = None
        self._target: list[str] | None = None
        self._size = 0
        self._parser = ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = _refuse_doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._add_text

    @property
    def is_in_page(self) -> bool:
        return self._values is not None

    def feed(self, data: bytes) -> None:
        self._parser.Parse(data, False)

    def take_pages(self) -> list[WikiPage]:
        pages, self._pages = self._pages, []
        return pages

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "page":
            self._values, self._size = {}, 0
        elif self._values is not None and name == "redirect":
            self._values["redirect"] = []
        elif self._values is not None and name in _KEPT and name not in self._values:
            self._target = self._values[name] = []  # the page's id comes first

    def _add_text(self, data: str) -> None:
        if self._target is not None:
            self._size += len(data)
            if self._size <= self._max_size:
                self._target.append(data)

    def _end(self, name: str) -> None:
        self._target = None
        if name == "page" and self._values is not None:
            self._pages.append(_make_page(self._values, self._size > self._max_size))
            self._values = None


def _make_page(values: dict[str, list[str]], is_too_large: bool) -> WikiPage:
    texts = {name: "".join(pieces) for name, pieces in values.items()}
    return WikiPage(
        texts.get("title", ""),
        _parse_number(texts.get("ns")),
        _parse_number(texts.get("id")),
        texts.get("timestamp"),
        "redirect" in values,
        None if is_too_large else texts.get("text", ""),
    )


def _parse_number(digits: str | None) -> int:
    digits = (digits or "").strip()
    return int(digits) if digits.lstrip("-").isdecimal() and len(digits) < 18 else -1


def _refuse_doctype(*_: object) -> None:
    raise DamagedDumpError("it declares a document type, which dumps never do; reading stopped")


_MAGIC: dict[bytes, MemberKind] = {b"BZh": "bz2", b"\x1f\x8b": "gz"}
_INPUT_BYTES = 256 * 1024
_PIECE_BYTES = 64 * 1024


@dataclass(frozen=True)
class _PageSelection:
    namespaces: Sequence[int] = (0,)
    keep_wikitext: bool = False
    max_page_bytes: int | str = "16MiB"


@dataclass
class WikipediaReading(RecordReading):
    """Reads dumps, or byte ranges of compressed ones."""

    selection: _PageSelection = field(default_factory=_PageSelection)

    def check(self) -> Iterator[str]:
        yield from size_problems("max_page_bytes", self.selection.max_page_bytes, "16MiB")
        yield from super().check()

    def schema(self) -> pa.Schema:
        text = self.text_field or "text"
        return pa.schema({"title": pa.string(), "page_id": pa.int64(), "namespace": pa.int64(),
                          "timestamp": pa.string(), text: pa.string()})  # fmt: skip

    def rows(self, part: FilePart) -> Iterator[RowOutcome]:
        with open_input(part.path, self.storage_options) as file:
            for member in _read_members(file, part):
                try:
                    for page in parse_wiki_pages(
                        _split_pieces(member.content), self._max_size, not member.offset
                    ):
                        yield self._row(page)
                except (DamagedMemberError, DamagedDumpError) as error:
                    yield Rejected(str(error), f"{part.path} byte {member.offset}")

    @property
    def _max_size(self) -> int:
        return parse_size(self.selection.max_page_bytes) or 0

    def _row(self, page: WikiPage) -> RowOutcome:
        if page.namespace not in self.selection.namespaces:
            return Dropped("other namespace")
        if page.is_redirect:
            return Dropped("redirect")
        if page.wikitext is None:
            return Dropped("larger than max_page_bytes")
        text = page.wikitext if self.selection.keep_wikitext else wikitext_to_text(page.wikitext)
        return page.title, page.page_id, page.namespace, page.timestamp, text


def _split_pieces(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Split pieces so that only a few pages are in memory at a time."""
    for piece in pieces:
        for start in range(0, len(piece), _PIECE_BYTES):
            yield piece[start : start + _PIECE_BYTES]


def _read_members(file: BinaryIO, part: FilePart) -> Iterator[CompressedMember]:
    """Yield members. An uncompressed dump is read whole, by the task that has its start."""
    start = file.read(3)
    kind = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
    if kind is not None:
        for member in Members(file, kind, _starts_page).in_range(part.start, part.end):
            is_first = member.offset == 0
            yield CompressedMember(0, _check_start(part, member.content)) if is_first else member
    elif part.start == 0:
        file.seek(0)
        yield CompressedMember(0, _check_start(part, iter(lambda: file.read(_INPUT_BYTES), b"")))


def _check_start(part: FilePart, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces of a file, after checking that it starts like XML."""
    for number, piece in enumerate(pieces):
        if number == 0 and not piece[:1024].lstrip(b"\xef\xbb\xbf \r\n").startswith(b"<"):
            raise InputError(
                f"cannot read {part.path}: it is not an XML dump of a wiki; it starts with "
                f"{piece[:40]!r}"
            )
        yield piece


def _starts_page(data: bytes) -> bool:
    return data.lstrip().startswith((b"<page", b"<mediawiki", b"</mediawiki"))


@dataclass
class WikipediaReader(FormatReader):
    """Reads Wikipedia dumps (*-pages-articles*.xml.bz2) as text.

    Columns: title, page_id, namespace, timestamp, text.

    Many workers can read parts of a multistream dump, without an index. Redirects and pages in
    other namespaces are dropped. Templates, tables, references and pictures are removed.
    """

    namespaces: Sequence[int] = field(default=(0,), kw_only=True)
    """Namespaces to keep: 0 is articles, 1 is talk pages, 14 is categories."""

    keep_wikitext: bool = field(default=False, kw_only=True)
    """Keep the original wikitext."""

    max_page_bytes: int | str = field(default="16MiB", kw_only=True)
    """Larger pages are dropped."""

    endings: ClassVar[tuple[str, ...]] = (".xml.bz2", ".xml.gz", ".xml")
    split: ClassVar[Split] = "members"
    reading = WikipediaReading

    def reading_options(self) -> Sequence[Any]:
        return (_PageSelection(self.namespaces, self.keep_wikitext, self.max_page_bytes),)
