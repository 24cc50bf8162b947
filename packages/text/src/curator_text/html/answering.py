"""Answering: the life of the process beside a worker that makes text of pages.

Nothing is imported here that the work does not need: the process starts again after each page
that ends it.
"""

import json
import os
import signal
import sys
from typing import Any, NamedTuple, TypeAlias

from curator_text.html.algorithms import Extract, extractor
from curator_text.html.charsets import decoded
from curator_text.html.heads import language_of, title_of
from curator_text.html.messages import put, received, send

PLACE_BYTES = 1
"""What the file with texts begins with: which page of a message is being read."""

Answer: TypeAlias = tuple[str | None, int, str | None, str | None]
"""Of a page the error, the length of its text, its title and its language."""


class _Work(NamedTuple):
    """What the worker says when it starts the process."""

    algorithm: str
    options: dict[str, Any]
    language: str | None
    seconds: float
    pages: int
    """The file into which it puts pages."""

    texts: int
    """The file in which it wants texts."""


def main() -> None:
    """Read pages until nobody sends any."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the worker's business
    messages, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    work = _Work(*json.loads(sys.argv[1]))
    extract = extractor(work.algorithm, work.options)
    while (chunk := received(messages)) is not None:
        send(answers, _answers(work, extract, chunk))


def _answers(work: _Work, extract: Extract, chunk: list[tuple[int, str | None]]) -> list[Answer]:
    answers: list[Answer] = []
    start, end = 0, PLACE_BYTES
    for number, (size, charset) in enumerate(chunk):
        os.pwrite(work.texts, bytes([number]), 0)
        signal.setitimer(signal.ITIMER_PROF, work.seconds)
        page = decoded(os.pread(work.pages, size, start), charset)
        error, text, title, named = _answer(extract, page, work.language)
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.append((error, len(text), title, named))
        start, end = start + size, put(work.texts, [text], end)
    return answers


def _answer(
    extract: Extract, page: str, language: str | None
) -> tuple[str | None, bytes, str | None, str | None]:
    """An error, or nothing; then what there is."""
    named = language_of(page)
    try:
        text = extract(page, language or named).encode() if page.strip() else b""
    except Exception as error:  # noqa: BLE001 - the border to the libraries that read pages
        return f"{type(error).__name__}: {error}"[:500], b"", None, None
    return None, text, title_of(page), named
