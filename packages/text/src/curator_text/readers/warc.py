"""Readers of WARC files (server responses) and WET files (extracted text).

`warc_records` parses the format.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import pyarrow as pa
from curator_core import Dropped, FilePart, InputError, Rejected
from curator_core.errors import hint
from curator_core.io.filesystems import open_input
from curator_core.io.partitioning import Split, parse_size

from curator_text.option_checks import size_problems
from curator_text.readers.base import FormatReader, RecordReading, RowOutcome
from curator_text.readers.http_response import (
    Bytes,
    TooLargeError,
    parse_media_type,
    parse_response,
)
from curator_text.readers.warc_records import Damage, WarcRecord, warc_records

RECORD_TYPES = (
    "warcinfo", "response", "resource", "request", "metadata", "revisit", "conversion",
    "continuation",
)  # fmt: skip

_HTTP_RECORDS = frozenset({"response", "revisit"})

DEFAULT_RECORD_BYTES = "16MiB"

_TOO_LARGE = "larger than max_record_bytes"


@dataclass
class _RecordSelection:
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
    def max_bytes(self) -> int:
        return parse_size(self.max_record_bytes) or 0

    def accepts(self, content_type: str | None) -> bool:
        return self.content_types is None or content_type in self.content_types


@dataclass
class _WarcReading(RecordReading):
    selection: _RecordSelection = field(default_factory=_RecordSelection)

    def check(self) -> Iterator[str]:
        yield from self.selection.problems()
        yield from super().check()

    def rows(self, part: FilePart) -> Iterator[RowOutcome]:
        max_bytes = self.selection.max_bytes
        with open_input(part.path, self.storage_options) as file:
            records = warc_records(file, part.start, part.end, max_bytes)
            try:
                for record in records:
                    yield self._row(part, record)
            except InputError as error:
                raise InputError(f"cannot read {part.path}: {error}") from None

    def _row(self, part: FilePart, record: WarcRecord | Damage) -> RowOutcome:
        if isinstance(record, Damage):
            return Rejected(record.reason, f"{part.path} byte {record.offset}")
        kind = record.headers.get("warc-type", "unknown").lower()
        if kind not in self.selection.record_types:
            return Dropped(f"record of type {kind if kind in RECORD_TYPES else 'unknown'}")
        if record.content is None:
            return Dropped(_TOO_LARGE)
        return self.make_row(part, record, record.content)

    def make_row(self, part: FilePart, record: WarcRecord, content: memoryview) -> RowOutcome:
        raise NotImplementedError


@dataclass
class WarcReading(_WarcReading):
    """Reads WARC files, or byte ranges, into one row per record."""

    def schema(self) -> pa.Schema:
        texts = {name: pa.string() for name in ("url", "warc_id", "date", "content_type")}
        return pa.schema({**texts, "http_status": pa.int16(), "charset": pa.string(),
                          "content": pa.binary()})  # fmt: skip

    def make_row(self, part: FilePart, record: WarcRecord, content: memoryview) -> RowOutcome:
        headers = record.headers
        kind, charset = parse_media_type(headers.get("content-type"))
        status: int | None = None
        body: Bytes = content
        if kind == "application/http" or _is_http_response(headers, content):
            try:
                status, kind, charset, body = parse_response(content, self.selection.max_bytes)
            except TooLargeError:
                return Dropped(_TOO_LARGE)
        if not self.selection.accepts(kind):
            return Dropped("content type")
        return (*_url_id_date(headers), kind, status, charset, body)


@dataclass
class WetReading(_WarcReading):
    """Reads WET files, or byte ranges, into one row per page."""

    def schema(self) -> pa.Schema:
        names = ("url", "warc_id", "date", "languages", self.text_field or "text")
        return pa.schema({name: pa.string() for name in names})

    def make_row(self, part: FilePart, record: WarcRecord, content: memoryview) -> RowOutcome:
        headers = record.headers
        if not self.selection.accepts(parse_media_type(headers.get("content-type"))[0]):
            return Dropped("content type")
        try:
            text = str(content, "utf-8")
        except UnicodeDecodeError as error:
            reason = f"the text is not UTF-8: 0x{content[error.start]:02x} at {error.start}"
            return Rejected(reason, f"{part.path} byte {record.offset}", payload=bytes(content))
        return (*_url_id_date(headers), headers.get("warc-identified-content-language"), text)


def _is_http_response(headers: dict[str, str], content: memoryview) -> bool:
    """Return whether a record holds an HTTP response; some archives do not label them."""
    return headers.get("warc-type", "").lower() in _HTTP_RECORDS and bytes(content[:5]) == b"HTTP/"


def _url_id_date(headers: dict[str, str]) -> tuple[str | None, str | None, str | None]:
    url, name = headers.get("warc-target-uri"), headers.get("warc-record-id")
    return url and url.strip("<>"), name and name.strip("<>"), headers.get("warc-date")


@dataclass
class WarcReader(FormatReader):
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
        return (_RecordSelection(self.record_types, self.content_types, self.max_record_bytes),)


@dataclass
class WetReader(FormatReader):
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
        return (_RecordSelection(self.record_types, self.content_types, self.max_record_bytes),)
