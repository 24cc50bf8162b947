import gzip
import zlib

import pytest
from curator_text.readers.http_response import TooLargeError, parse_media_type, parse_response

HEAD = b"HTTP/1.1 404 Not Found\r\ncontent-type: text/HTML;charset='Latin1'\r\n"


def test_response_is_parsed() -> None:
    assert parse_response(HEAD + b"\r\nbody", 100) == (404, "text/html", "latin1", b"body")


def test_first_empty_line_ends_the_header_with_any_line_end() -> None:
    answer = HEAD.replace(b"\r\n", b"\n") + b"\na\r\n\r\nContent-Type: b"
    assert parse_response(answer, 100) == (404, "text/html", "latin1", b"a\r\n\r\nContent-Type: b")
    assert parse_response(memoryview(answer), 100) == parse_response(answer, 100)


def test_last_of_repeated_headers_counts() -> None:
    answer = HEAD + b"X-Content-Type: a/b\r\nCONTENT-TYPE : Text/Plain\r\n\r\nbody"
    assert parse_response(answer, 100) == (404, "text/plain", None, b"body")


def test_other_data_becomes_the_body() -> None:
    assert parse_response(b"body", 100) == (None, None, None, b"body")
    assert parse_response(b"HTTP/1.1 nothing more", 100) == (None, None, None, b"")
    assert parse_response(b"HTTP/1.1 \xff\xff OK\r\n\r\nx", 100).status is None


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        (b"gzip", gzip.compress(b"hello", mtime=0)),
        (b"x-gzip", gzip.compress(b"hello", mtime=0)),
        (b"deflate", zlib.compress(b"hello")),
        (b"deflate", zlib.compress(b"hello")[2:-4]),
        (b"gzip", b"hello"),
        (b"deflate", b"hello"),
        (b"identity", b"hello"),
    ],
)
def test_compressed_body_is_decoded(encoding: bytes, body: bytes) -> None:
    answer = HEAD + b"Content-Encoding: " + encoding + b"\r\n\r\n" + body
    assert parse_response(answer, 100).body == b"hello"


def test_truncated_body_is_decoded_as_far_as_possible() -> None:
    body = gzip.compress(b"hello " * 1000)[:-12]
    found = parse_response(HEAD + b"Content-Encoding: gzip\r\n\r\n" + body, 10_000).body
    assert found.startswith(b"hello hello")


def test_decompression_bomb_is_refused() -> None:
    body = gzip.compress(b"\0" * 10_000_000)
    with pytest.raises(TooLargeError):
        parse_response(HEAD + b"Content-Encoding: gzip\r\n\r\n" + body, 1000)


CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("body", "joined"),
    [
        (b"5\r\nhello\r\n6;x=1\r\n world\r\n0\r\n\r\n", b"hello world"),
        (b"5\r\nhello\r\nnonsense", b"hello"),
        (b"ffffffffff\r\nhello", b"hello"),
        (b"plain after all", b"plain after all"),
        (b"-1\r\nx", b"-1\r\nx"),
    ],
)
def test_chunked_body_is_joined(body: bytes, joined: bytes) -> None:
    assert parse_response(CHUNKED + body, 100).body == joined


@pytest.mark.parametrize("value", [None, "", ";", "; charset="])
def test_invalid_media_type(value: str | None) -> None:
    assert parse_media_type(value) == (None, None)
