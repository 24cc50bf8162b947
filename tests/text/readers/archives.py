"""Web archives for tests, in the format of crawlers."""

import gzip
from collections.abc import Iterable

HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=UTF-8\r\n\r\n"


def record(
    number: int,
    body: bytes,
    kind: str = "response",
    http: bytes = HTTP,
    length: int | str | None = None,
) -> bytes:
    content = http + body if kind == "response" else body
    media = "application/http; msgtype=response" if kind == "response" else "text/plain"
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: http://site.example/{number}\r\n"
        f"WARC-Date: 2024-01-0{number % 9 + 1}T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:{number}>\r\n"
        f"Content-Type: {media}\r\nContent-Length: {len(content) if length is None else length}"
        "\r\n\r\n"
    )
    return head.encode() + content + b"\r\n\r\n"


def zipped(records: Iterable[bytes], level: int = 6) -> bytes:
    """Compress each record as a separate gzip member."""
    return b"".join(gzip.compress(one, level, mtime=0) for one in records)
