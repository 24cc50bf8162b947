"""Payloads: extract the body of an HTTP response, and undo its transfer and content encodings."""

import re
import zlib
from functools import lru_cache
from typing import NamedTuple, TypeAlias

Bytes: TypeAlias = bytes | memoryview
"""Part of a response: a slice of the original buffer where possible."""

_HEADER_BYTES = 256 * 1024

_EMPTY_LINE = re.compile(rb"\n\r?\n")
_NEEDED = re.compile(rb"\n(content-type|content-encoding|transfer-encoding)[ \t]*:[ \t]*([^\r\n]*)")


class Payload(NamedTuple):
    """A response body, with the relevant fields of its header."""

    status: int | None
    content_type: str | None
    charset: str | None
    body: Bytes


class TooLargeError(Exception):
    """The decoded body would be larger than allowed."""


def payload_of(answer: Bytes, most: int) -> Payload:
    """Parse a whole HTTP response.

    Data that is not a response becomes a body without header fields.
    """
    if answer[:5] != b"HTTP/":
        return Payload(None, None, None, answer)
    empty = _EMPTY_LINE.search(answer)
    head = bytes(answer[: min(empty.start(), _HEADER_BYTES) if empty else _HEADER_BYTES])
    body = answer[empty.end() :] if empty else b""
    headers = _needed_headers(head)
    if b"chunked" in headers.get(b"transfer-encoding", b""):
        body = _joined(bytes(body))
    body = _inflated(body, headers.get(b"content-encoding", b"").strip(), most)
    return Payload(_status(head), *media_type(headers.get(b"content-type")), body)


def _needed_headers(head: bytes) -> dict[bytes, bytes]:
    """Return the needed headers in lower case. Of repeated headers the last one counts."""
    return dict(_NEEDED.findall(head.lower()))


@lru_cache(4096)
def media_type(value: str | bytes | None) -> tuple[str | None, str | None]:
    """Parse a Content-Type: `text/html` and `utf-8` for `Text/HTML; charset="UTF-8"`."""
    if not value:
        return None, None
    said = value if isinstance(value, str) else value.decode("latin-1")
    kind, *parameters = said.split(";")
    charset = None
    for parameter in parameters:
        name, _, given = parameter.partition("=")
        if name.strip().lower() == "charset":
            charset = given.strip(" \"'\t").lower() or None
    return kind.strip().lower() or None, charset


def _status(head: bytes) -> int | None:
    parts = head[:64].split(None, 2)
    number = parts[1] if len(parts) > 1 else b""
    return int(number) if len(number) == 3 and number.isdigit() else None


def _joined(body: bytes) -> bytes:
    """Join the chunks of a body. Return it unchanged if it is not really chunked."""
    chunks: list[bytes] = []
    at = 0
    while at < len(body):
        end = body.find(b"\r\n", at, at + 1024)
        size = _hexadecimal(body[at:end].split(b";")[0].strip()) if end >= 0 else None
        if size is None:
            return b"".join(chunks) if chunks else body
        if size == 0:
            break
        chunks.append(body[end + 2 : end + 2 + size])
        at = end + 2 + size + 2
    return b"".join(chunks)


def _hexadecimal(digits: bytes) -> int | None:
    if not digits or len(digits) > 15 or digits.strip(b"0123456789abcdefABCDEF"):
        return None
    return int(digits, 16)


def _inflated(body: Bytes, encoding: bytes, most: int) -> Bytes:
    """Decompress a body.

    Many archives store it decompressed but keep the original header, so check the data first.
    """
    if encoding in (b"gzip", b"x-gzip") and body[:2] == b"\x1f\x8b":
        return _decompressed(body, 31, most) or body
    if encoding == b"deflate":
        return _decompressed(body, 15, most) or _decompressed(body, -15, most) or body
    return body


def _decompressed(body: Bytes, window: int, most: int) -> bytes | None:
    """Decompress as much as possible; None if nothing can be decompressed."""
    decoder = zlib.decompressobj(window)
    try:
        data = decoder.decompress(body, most + 1)
    except zlib.error:
        return None
    if len(data) > most:
        raise TooLargeError
    return data
