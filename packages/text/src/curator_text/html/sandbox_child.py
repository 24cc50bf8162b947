"""Main loop of the child process that extracts text from pages, and the messages it exchanges.

Import only what this process needs: it is restarted after every page that kills it.
"""

import html
import json
import os
import re
import signal
import sys
from collections.abc import Iterable
from typing import IO, Any, NamedTuple, TypeAlias

from curator_text.html.algorithms import Extract, make_extractor
from curator_text.html.charset import decode_page

HEADER_BYTES = 1
"""Size of the header of the texts file, which holds the number of the page being processed."""

PageResult: TypeAlias = tuple[str | None, int, str | None, str | None]
"""For each page: error, length of its text, title and language."""


class _Settings(NamedTuple):
    """Settings that the worker passes on the command line."""

    algorithm: str
    options: dict[str, Any]
    language: str | None
    seconds: float
    pages: int
    """File descriptor of the pages that the worker writes."""

    texts: int
    """File descriptor of the texts that the worker reads."""


def main() -> None:
    """Process pages until the worker closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the worker handles Ctrl-C
    messages, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keep output printed by libraries out of the answers
    settings = _Settings(*json.loads(sys.argv[1]))
    extract = make_extractor(settings.algorithm, settings.options)
    while (chunk := receive(messages)) is not None:
        send(results, _extract_pages(settings, extract, chunk))


def _extract_pages(
    settings: _Settings, extract: Extract, chunk: list[tuple[int, str | None]]
) -> list[PageResult]:
    results: list[PageResult] = []
    start, end = 0, HEADER_BYTES
    for number, (size, charset) in enumerate(chunk):
        os.pwrite(settings.texts, bytes([number]), 0)
        signal.setitimer(signal.ITIMER_PROF, settings.seconds)
        page = decode_page(os.pread(settings.pages, size, start), charset)
        error, text, title, declared = _extract_page(extract, page, settings.language)
        signal.setitimer(signal.ITIMER_PROF, 0)
        results.append((error, len(text), title, declared))
        start, end = start + size, write_at(settings.texts, [text], end)
    return results


def _extract_page(
    extract: Extract, page: str, language: str | None
) -> tuple[str | None, bytes, str | None, str | None]:
    """Return an error or None, then the text, the title and the language."""
    declared = find_language(page)
    try:
        text = extract(page, language or declared).encode() if page.strip() else b""
    except Exception as error:  # noqa: BLE001 - the border to the libraries that read pages
        return f"{type(error).__name__}: {error}"[:500], b"", None, None
    return None, text, find_title(page), declared


_SEARCHED = 256 * 1024
_TITLE = re.compile(r"<title\b[^<>]{0,500}+>([^<]{0,2000}+)", re.I)
_BEGINNING = 16 * 1024
_TAG = re.compile(r"<html\b([^>]{0,2000}+)", re.I)
_LANGUAGE = re.compile(r"\blang\s*+=\s*+[\"']?+\s*+([a-z]{2,3}+)\b", re.I)
"""Possessive quantifiers within one tag, so that no page causes backtracking."""


def find_title(page: str) -> str | None:
    found = _TITLE.search(page, 0, _SEARCHED)
    return " ".join(html.unescape(found[1]).split()) or None if found else None


def find_language(page: str) -> str | None:
    """Return the language that the page declares, such as `de`. It is often wrong."""
    for tag in _TAG.finditer(page, 0, _BEGINNING):
        if found := _LANGUAGE.search(tag[1]):
            return found[1].lower()
    return None


def send(stream: IO[bytes], message: Any) -> None:
    stream.write(json.dumps(message).encode() + b"\n")
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Return the next message, or None if the other side died, even in the middle of a message."""
    line = stream.readline()
    return json.loads(line) if line.endswith(b"\n") else None


def write_at(file: int, pieces: Iterable[Any], start: int) -> int:
    """Write pieces one after another into a shared file; return the end offset."""
    for piece in pieces:
        rest = memoryview(piece)
        while rest:
            written = os.pwrite(file, rest, start)
            rest, start = rest[written:], start + written
    return start
