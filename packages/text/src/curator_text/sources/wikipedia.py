"""Wikipedia: read page dumps (pages-articles, multistream or not) as text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, ClassVar

import pyarrow as pa
from curator_core import Dropped, InputError, Rejected
from curator_core.io.filesystems import open_input
from curator_core.io.partitioning import Split, parsed_size
from curator_core.model.files import FilePart

from curator_text.sizes import size_problems
from curator_text.sources.members import DamagedMemberError, Member, MemberKind, Members
from curator_text.sources.readers import SourceReader
from curator_text.sources.records import Found, RecordReading
from curator_text.sources.wiki_pages import DamagedDumpError, WikiPage, wiki_pages
from curator_text.sources.wikitext import plain_text

_MAGIC: dict[bytes, MemberKind] = {b"BZh": "bz2", b"\x1f\x8b": "gz"}
_INPUT_BYTES = 256 * 1024
_PIECE_BYTES = 64 * 1024


@dataclass(frozen=True)
class _Choice:
    namespaces: Sequence[int] = (0,)
    keep_wikitext: bool = False
    max_page_bytes: int | str = "16MiB"


@dataclass
class WikipediaReading(RecordReading):
    """Reads dumps, or byte ranges of compressed ones."""

    choice: _Choice = field(default_factory=_Choice)

    def check(self) -> Iterator[str]:
        yield from size_problems("max_page_bytes", self.choice.max_page_bytes, "16MiB")
        yield from super().check()

    def schema(self) -> pa.Schema:
        text = self.text_field or "text"
        return pa.schema({"title": pa.string(), "page_id": pa.int64(), "namespace": pa.int64(),
                          "timestamp": pa.string(), text: pa.string()})  # fmt: skip

    def rows(self, part: FilePart) -> Iterator[Found]:
        with open_input(part.path, self.storage_options) as file:
            for member in _members(file, part):
                try:
                    for page in wiki_pages(_small(member.content), self._most, not member.offset):
                        yield self._row(page)
                except (DamagedMemberError, DamagedDumpError) as error:
                    yield Rejected(str(error), f"{part.path} byte {member.offset}")

    @property
    def _most(self) -> int:
        return parsed_size(self.choice.max_page_bytes) or 0

    def _row(self, page: WikiPage) -> Found:
        if page.namespace not in self.choice.namespaces:
            return Dropped("other namespace")
        if page.is_redirect:
            return Dropped("redirect")
        if page.wikitext is None:
            return Dropped("larger than max_page_bytes")
        text = page.wikitext if self.choice.keep_wikitext else plain_text(page.wikitext)
        return page.title, page.page_id, page.namespace, page.timestamp, text


def _small(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Split pieces so that only a few pages are in memory at a time."""
    for piece in pieces:
        for start in range(0, len(piece), _PIECE_BYTES):
            yield piece[start : start + _PIECE_BYTES]


def _members(file: BinaryIO, part: FilePart) -> Iterator[Member]:
    """Yield members. An uncompressed dump is read whole, by the task that has its start."""
    sign = file.read(3)
    kind = next((kind for magic, kind in _MAGIC.items() if sign.startswith(magic)), None)
    if kind is not None:
        for member in Members(file, kind, _begins_page).in_range(part.start, part.end):
            is_first = member.offset == 0
            yield Member(0, _of_dump(part, member.content)) if is_first else member
    elif part.start == 0:
        file.seek(0)
        yield Member(0, _of_dump(part, iter(lambda: file.read(_INPUT_BYTES), b"")))


def _of_dump(part: FilePart, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces of a file, after checking that it starts like XML."""
    for number, piece in enumerate(pieces):
        if number == 0 and not piece[:1024].lstrip(b"\xef\xbb\xbf \r\n").startswith(b"<"):
            raise InputError(
                f"cannot read {part.path}: it is no XML dump of a wiki, but begins with "
                f"{piece[:40]!r}"
            )
        yield piece


def _begins_page(data: bytes) -> bool:
    return data.lstrip().startswith((b"<page", b"<mediawiki", b"</mediawiki"))


@dataclass
class WikipediaReader(SourceReader):
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
        return (_Choice(self.namespaces, self.keep_wikitext, self.max_page_bytes),)
