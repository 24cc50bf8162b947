"""Main loop of the child process that extracts text from pages.

Import only what this process needs: it is restarted after every page that kills it.
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
"""Size of the header of the texts file, which holds the number of the page being processed."""

Answer: TypeAlias = tuple[str | None, int, str | None, str | None]
"""For each page: error, length of its text, title and language."""


class _Work(NamedTuple):
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
    messages, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keep output printed by libraries out of the answers
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
    """Return an error or None, then the text, the title and the language."""
    named = language_of(page)
    try:
        text = extract(page, language or named).encode() if page.strip() else b""
    except Exception as error:  # noqa: BLE001 - the border to the libraries that read pages
        return f"{type(error).__name__}: {error}"[:500], b"", None, None
    return None, text, title_of(page), named
