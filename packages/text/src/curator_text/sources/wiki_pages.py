"""Wiki pages: parse an XML dump incrementally. Entities are never expanded."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from xml.parsers.expat import ExpatError, ParserCreate

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


def wiki_pages(pieces: Iterable[bytes], most: int, is_beginning: bool) -> Iterator[WikiPage]:
    """Yield the pages in a piece of XML. Only the start of a dump has the root element."""
    reader = _Reader(most)
    try:
        if not is_beginning:
            reader.feed(b"<mediawiki>")
        for piece in pieces:
            reader.feed(piece)
            yield from reader.take()
    except ExpatError as error:
        raise DamagedDumpError(f"the XML is damaged: {error}") from None
    if reader.is_in_page:
        raise DamagedDumpError("the XML ends in the middle of a page")


class _Reader:
    def __init__(self, most: int) -> None:
        self._most = most
        self._pages: list[WikiPage] = []
        self._values: dict[str, list[str]] | None = None
        self._into: list[str] | None = None
        self._size = 0
        self._parser = ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = _refuse_doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text

    @property
    def is_in_page(self) -> bool:
        return self._values is not None

    def feed(self, data: bytes) -> None:
        self._parser.Parse(data, False)

    def take(self) -> list[WikiPage]:
        pages, self._pages = self._pages, []
        return pages

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "page":
            self._values, self._size = {}, 0
        elif self._values is not None and name == "redirect":
            self._values["redirect"] = []
        elif self._values is not None and name in _KEPT and name not in self._values:
            self._into = self._values[name] = []  # the page's id comes first

    def _text(self, data: str) -> None:
        if self._into is not None:
            self._size += len(data)
            if self._size <= self._most:
                self._into.append(data)

    def _end(self, name: str) -> None:
        self._into = None
        if name == "page" and self._values is not None:
            self._pages.append(_page(self._values, self._size > self._most))
            self._values = None


def _page(values: dict[str, list[str]], is_too_large: bool) -> WikiPage:
    said = {name: "".join(pieces) for name, pieces in values.items()}
    return WikiPage(
        said.get("title", ""),
        _number(said.get("ns")),
        _number(said.get("id")),
        said.get("timestamp"),
        "redirect" in values,
        None if is_too_large else said.get("text", ""),
    )


def _number(digits: str | None) -> int:
    digits = (digits or "").strip()
    return int(digits) if digits.lstrip("-").isdecimal() and len(digits) < 18 else -1


def _refuse_doctype(*_: object) -> None:
    raise DamagedDumpError(
        "it declares a document type, which no dump does; it is not read further"
    )
