import gzip
import zlib

import pytest
from curator_text.sources.payloads import TooLargeError, media_type, payload_of

HEAD = b"HTTP/1.1 404 Not Found\r\ncontent-type: text/HTML;charset='Latin1'\r\n"


def test_an_answer() -> None:
    assert payload_of(HEAD + b"\r\nbody", 100) == (404, "text/html", "latin1", b"body")


def test_the_first_empty_line_ends_the_header_however_lines_end() -> None:
    answer = HEAD.replace(b"\r\n", b"\n") + b"\na\r\n\r\nContent-Type: b"
    assert payload_of(answer, 100) == (404, "text/html", "latin1", b"a\r\n\r\nContent-Type: b")
    assert payload_of(memoryview(answer), 100) == payload_of(answer, 100)


def test_of_two_headers_the_last_counts() -> None:
    answer = HEAD + b"X-Content-Type: a/b\r\nCONTENT-TYPE : Text/Plain\r\n\r\nbody"
    assert payload_of(answer, 100) == (404, "text/plain", None, b"body")


def test_what_is_no_answer() -> None:
    assert payload_of(b"body", 100) == (None, None, None, b"body")
    assert payload_of(b"HTTP/1.1 nothing more", 100) == (None, None, None, b"")
    assert payload_of(b"HTTP/1.1 \xff\xff OK\r\n\r\nx", 100).status is None


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
def test_packed_bodies(encoding: bytes, body: bytes) -> None:
    answer = HEAD + b"Content-Encoding: " + encoding + b"\r\n\r\n" + body
    assert payload_of(answer, 100).body == b"hello"


def test_a_packed_body_that_breaks_off_gives_what_is_there() -> None:
    body = gzip.compress(b"hello " * 1000)[:-12]
    found = payload_of(HEAD + b"Content-Encoding: gzip\r\n\r\n" + body, 10_000).body
    assert found.startswith(b"hello hello")


def test_a_bomb() -> None:
    body = gzip.compress(b"\0" * 10_000_000)
    with pytest.raises(TooLargeError):
        payload_of(HEAD + b"Content-Encoding: gzip\r\n\r\n" + body, 1000)


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
def test_bodies_in_chunks(body: bytes, joined: bytes) -> None:
    assert payload_of(CHUNKED + body, 100).body == joined


@pytest.mark.parametrize("value", [None, "", ";", "; charset="])
def test_a_type_that_is_none(value: str | None) -> None:
    assert media_type(value) == (None, None)
