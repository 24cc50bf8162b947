"""Web archives: WARC files of server responses, and WET files of extracted text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import pyarrow as pa
from curator_core import Dropped, InputError, Rejected
from curator_core.errors import hint
from curator_core.io.filesystems import open_input
from curator_core.io.partitioning import Split, parsed_size
from curator_core.model.files import FilePart

from curator_text.sizes import size_problems
from curator_text.sources.payloads import Bytes, TooLargeError, media_type, payload_of
from curator_text.sources.readers import SourceReader
from curator_text.sources.records import Found, RecordReading
from curator_text.sources.warc_records import Damage, WarcRecord, warc_records

RECORD_TYPES = (
    "warcinfo", "response", "resource", "request", "metadata", "revisit", "conversion",
    "continuation",
)  # fmt: skip

_ANSWERS = frozenset({"response", "revisit"})

DEFAULT_RECORD_BYTES = "16MiB"

_TOO_LARGE = "larger than max_record_bytes"


@dataclass
class _Choice:
    """Which records to keep."""

    record_types: Sequence[str] = ("response",)
    content_types: Sequence[str] | None = None
    max_record_bytes: int | str = DEFAULT_RECORD_BYTES

    def problems(self) -> Iterator[str]:
        for name in self.record_types:
            if name not in RECORD_TYPES:
                yield f"no record type {name!r}{hint(name, RECORD_TYPES)}"
        if not self.record_types:
            yield f"record_types is empty; name some of {', '.join(RECORD_TYPES)}"
        yield from size_problems("max_record_bytes", self.max_record_bytes, "16MiB")

    @cached_property
    def most(self) -> int:
        return parsed_size(self.max_record_bytes) or 0

    def accepts(self, content_type: str | None) -> bool:
        return self.content_types is None or content_type in self.content_types


@dataclass
class _WarcReading(RecordReading):
    choice: _Choice = field(default_factory=_Choice)

    def check(self) -> Iterator[str]:
        yield from self.choice.problems()
        yield from super().check()

    def rows(self, part: FilePart) -> Iterator[Found]:
        most = self.choice.most
        with open_input(part.path, self.storage_options) as file:
            found = warc_records(file, part.start, part.end, most)
            try:
                for one in found:
                    yield self._row(part, one)
            except InputError as error:
                raise InputError(f"cannot read {part.path}: {error}") from None

    def _row(self, part: FilePart, found: WarcRecord | Damage) -> Found:
        if isinstance(found, Damage):
            return Rejected(found.reason, f"{part.path} byte {found.offset}")
        kind = found.headers.get("warc-type", "unknown").lower()
        if kind not in self.choice.record_types:
            return Dropped(f"record of type {kind if kind in RECORD_TYPES else 'unknown'}")
        if found.content is None:
            return Dropped(_TOO_LARGE)
        return self.row_of(part, found, found.content)

    def row_of(self, part: FilePart, record: WarcRecord, content: memoryview) -> Found:
        raise NotImplementedError


@dataclass
class WarcReading(_WarcReading):
    """Reads WARC files, or byte ranges, into one row per record."""

    def schema(self) -> pa.Schema:
        texts = {name: pa.string() for name in ("url", "warc_id", "date", "content_type")}
        return pa.schema({**texts, "http_status": pa.int16(), "charset": pa.string(),
                          "content": pa.binary()})  # fmt: skip

    def row_of(self, part: FilePart, record: WarcRecord, content: memoryview) -> Found:
        headers = record.headers
        kind, charset = media_type(headers.get("content-type"))
        status: int | None = None
        body: Bytes = content
        if kind == "application/http" or _is_answer(headers, content):
            try:
                status, kind, charset, body = payload_of(content, self.choice.most)
            except TooLargeError:
                return Dropped(_TOO_LARGE)
        if not self.choice.accepts(kind):
            return Dropped("content type")
        return (*_name(headers), kind, status, charset, body)


@dataclass
class WetReading(_WarcReading):
    """Reads WET files, or byte ranges, into one row per page."""

    def schema(self) -> pa.Schema:
        names = ("url", "warc_id", "date", "languages", self.text_field or "text")
        return pa.schema({name: pa.string() for name in names})

    def row_of(self, part: FilePart, record: WarcRecord, content: memoryview) -> Found:
        headers = record.headers
        if not self.choice.accepts(media_type(headers.get("content-type"))[0]):
            return Dropped("content type")
        try:
            text = str(content, "utf-8")
        except UnicodeDecodeError as error:
            reason = f"the text is not UTF-8: 0x{content[error.start]:02x} at {error.start}"
            return Rejected(reason, f"{part.path} byte {record.offset}", payload=bytes(content))
        return (*_name(headers), headers.get("warc-identified-content-language"), text)


def _is_answer(headers: dict[str, str], content: memoryview) -> bool:
    """Return whether a record holds an HTTP response; some archives do not label them."""
    return headers.get("warc-type", "").lower() in _ANSWERS and bytes(content[:5]) == b"HTTP/"


def _name(headers: dict[str, str]) -> tuple[str | None, str | None, str | None]:
    url, name = headers.get("warc-target-uri"), headers.get("warc-record-id")
    return url and url.strip("<>"), name and name.strip("<>"), headers.get("warc-date")


@dataclass
class WarcReader(SourceReader):
    """Reads WARC files of server responses: URL, headers and content.

    Columns: url, warc_id, date, content_type, http_status, charset, content.

    `content` is the response body as bytes; follow with an HtmlExtractor. A large file is split
    between records, whether compressed or not. Damaged records are quarantined, and the rest is
    kept.
    """

    record_types: Sequence[str] = field(default=("response",), kw_only=True)
    """Record types to keep: response, resource, request, metadata, revisit, conversion, warcinfo.
    """

    content_types: Sequence[str] | None = field(default=None, kw_only=True)
    """Content types to keep, such as text/html, as declared by the server. Keeps all if unset."""

    max_record_bytes: int | str = field(default=DEFAULT_RECORD_BYTES, kw_only=True)
    """Records larger than this, compressed or decompressed, are dropped."""

    endings: ClassVar[tuple[str, ...]] = (".warc.gz", ".warc")
    split: ClassVar[Split] = "members"
    reading = WarcReading

    def reading_options(self) -> Sequence[Any]:
        return (_Choice(self.record_types, self.content_types, self.max_record_bytes),)


@dataclass
class WetReader(SourceReader):
    """Reads Common Crawl's extracted text: url, warc_id, date, languages, text."""

    record_types: Sequence[str] = field(default=("conversion",), kw_only=True)
    """Record types that hold text."""

    content_types: Sequence[str] | None = field(default=None, kw_only=True)
    """Content types to keep. Keeps all if unset."""

    max_record_bytes: int | str = field(default=DEFAULT_RECORD_BYTES, kw_only=True)
    """Records larger than this are dropped."""

    endings: ClassVar[tuple[str, ...]] = (".warc.wet.gz", ".wet.gz", ".wet", ".warc.wet")
    split: ClassVar[Split] = "members"
    reading = WetReading

    def reading_options(self) -> Sequence[Any]:
        return (_Choice(self.record_types, self.content_types, self.max_record_bytes),)
