"""HTTP responses: extract the body, and undo its transfer and content encodings."""

import re
import zlib
from functools import lru_cache
from typing import NamedTuple, TypeAlias

Bytes: TypeAlias = bytes | memoryview
"""Part of a response: a slice of the original buffer where possible."""

_HEADER_BYTES = 256 * 1024

_EMPTY_LINE = re.compile(rb"\n\r?\n")
_NEEDED = re.compile(rb"\n(content-type|content-encoding|transfer-encoding)[ \t]*:[ \t]*([^\r\n]*)")


class HttpResponse(NamedTuple):
    """A response body, with the relevant fields of its header."""

    status: int | None
    content_type: str | None
    charset: str | None
    body: Bytes


class TooLargeError(Exception):
    """The decoded body would be larger than allowed."""


def parse_response(data: Bytes, max_bytes: int) -> HttpResponse:
    """Parse a whole HTTP response.

    Data that is not a response becomes a body without header fields.
    """
    if data[:5] != b"HTTP/":
        return HttpResponse(None, None, None, data)
    empty = _EMPTY_LINE.search(data)
    head = bytes(data[: min(empty.start(), _HEADER_BYTES) if empty else _HEADER_BYTES])
    body = data[empty.end() :] if empty else b""
    headers = _find_headers(head)
    if b"chunked" in headers.get(b"transfer-encoding", b""):
        body = _join_chunks(bytes(body))
    body = _decode_content(body, headers.get(b"content-encoding", b"").strip(), max_bytes)
    return HttpResponse(_parse_status(head), *parse_media_type(headers.get(b"content-type")), body)


def _find_headers(head: bytes) -> dict[bytes, bytes]:
    """Return the needed headers in lower case. Of repeated headers the last one counts."""
    return dict(_NEEDED.findall(head.lower()))


@lru_cache(4096)
def parse_media_type(value: str | bytes | None) -> tuple[str | None, str | None]:
    """Parse a Content-Type: `text/html` and `utf-8` for `Text/HTML; charset="UTF-8"`."""
    if not value:
        return None, None
    text = value if isinstance(value, str) else value.decode("latin-1")
    kind, *parameters = text.split(";")
    charset = None
    for parameter in parameters:
        name, _, setting = parameter.partition("=")
        if name.strip().lower() == "charset":
            charset = setting.strip(" \"'\t").lower() or None
    return kind.strip().lower() or None, charset


def _parse_status(head: bytes) -> int | None:
    parts = head[:64].split(None, 2)
    number = parts[1] if len(parts) > 1 else b""
    return int(number) if len(number) == 3 and number.isdigit() else None


def _join_chunks(body: bytes) -> bytes:
    """Join the chunks of a body. Return it unchanged if it is not really chunked."""
    chunks: list[bytes] = []
    offset = 0
    while offset < len(body):
        end = body.find(b"\r\n", offset, offset + 1024)
        size = _parse_hex(body[offset:end].split(b";")[0].strip()) if end >= 0 else None
        if size is None:
            return b"".join(chunks) if chunks else body
        if size == 0:
            break
        chunks.append(body[end + 2 : end + 2 + size])
        offset = end + 2 + size + 2
    return b"".join(chunks)


def _parse_hex(digits: bytes) -> int | None:
    if not digits or len(digits) > 15 or digits.strip(b"0123456789abcdefABCDEF"):
        return None
    return int(digits, 16)


def _decode_content(body: Bytes, encoding: bytes, max_bytes: int) -> Bytes:
    """Decompress a body.

    Many archives store it decompressed but keep the original header, so check the data first.
    """
    if encoding in (b"gzip", b"x-gzip") and body[:2] == b"\x1f\x8b":
        return _decompress(body, 31, max_bytes) or body
    if encoding == b"deflate":
        return _decompress(body, 15, max_bytes) or _decompress(body, -15, max_bytes) or body
    return body


def _decompress(body: Bytes, window: int, max_bytes: int) -> bytes | None:
    """Decompress as much as possible; None if nothing can be decompressed."""
    decoder = zlib.decompressobj(window)
    try:
        data = decoder.decompress(body, max_bytes + 1)
    except zlib.error:
        return None
    if len(data) > max_bytes:
        raise TooLargeError
    return data
