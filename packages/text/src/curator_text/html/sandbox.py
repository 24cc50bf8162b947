"""Sandbox: extract text in a child process, so that no page can hang or kill the worker.

The libraries that parse pages are compiled, and some pages keep them busy for hours. The system
kills the child when one page takes too long; a new child continues with the next page.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from tempfile import TemporaryFile
from typing import Any, BinaryIO, NamedTuple, cast

import pyarrow as pa
from curator_core import InputError

from curator_text.html.sandbox_child import HEADER_BYTES, PageResult, receive, send, write_at

_CHUNK_BYTES = 1024 * 1024
_CHUNK_PAGES = 64
_KEPT_BYTES = 32 * 1024 * 1024
"""Free memory that the child keeps. glibc accepts at most this value for the mmap threshold."""


class HtmlPage(NamedTuple):
    """A page as read: its bytes, and a charset if the server declared one."""

    content: pa.Buffer
    charset: str | None = None


class Extracted(NamedTuple):
    text: memoryview
    """UTF-8."""

    title: str | None
    language: str | None


class Sandbox:
    """A child process that is started on demand and restarted after it dies."""

    def __init__(
        self, algorithm: str, options: Mapping[str, Any], language: str | None, seconds: float
    ) -> None:
        self._settings = [algorithm, dict(options), language, seconds]
        self._seconds = seconds
        self._process: _Process | None = None

    def extract(self, pages: Sequence[HtmlPage]) -> Iterator[Extracted | InputError]:
        """Yield the result for each page, in order."""
        remaining = list(pages)
        while remaining:
            chunk = _next_chunk(remaining)
            if self._process is None:
                self._process = _Process(self._settings)
            found = self._process.extract(chunk)
            if found is not None:
                yield from found
                remaining = remaining[len(chunk) :]
                continue
            page_index = self._process.current_page()
            reason = self._describe_exit(self._process.wait())
            self._process = None
            yield from self.extract(chunk[:page_index])  # their results were lost with the child
            yield InputError(reason)
            remaining = remaining[page_index + 1 :]

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _describe_exit(self, code: int) -> str:
        if code == -signal.SIGPROF:
            return f"reading the page took more than {self._seconds:g} s of CPU time"
        cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"the process that read the page died ({cause})"


class _Process:
    """A running child process, and the in-memory files that it shares with the worker.

    Pages and texts are exchanged through these files, so that messages stay small.
    """

    def __init__(self, settings: Sequence[Any]) -> None:
        self._pages, self._texts = _memory_file("pages"), _memory_file("texts")
        files = [self._pages.fileno(), self._texts.fileno()]
        start = "from curator_text.html.sandbox_child import main; main()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", start, json.dumps([*settings, *files])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=files,
            env=_environment(),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._responses = self._process.stdin, self._process.stdout

    def extract(self, pages: Sequence[HtmlPage]) -> list[Extracted | InputError] | None:
        """Return the results for the pages; None if the child died."""
        os.pwrite(self._texts.fileno(), bytes(HEADER_BYTES), 0)
        write_at(self._pages.fileno(), (page.content for page in pages), 0)
        try:
            send(self._requests, [(page.content.size, page.charset) for page in pages])
        except BrokenPipeError:
            return None
        answers = receive(self._responses)
        return None if answers is None else list(self._parse_results(answers))

    def _parse_results(self, answers: Sequence[PageResult]) -> Iterator[Extracted | InputError]:
        size = sum(length for _, length, _, _ in answers)
        texts = memoryview(os.pread(self._texts.fileno(), size, HEADER_BYTES))
        for error, length, title, language in answers:
            text, texts = texts[:length], texts[length:]
            yield Extracted(text, title, language) if error is None else InputError(error)

    def current_page(self) -> int:
        """Return the index of the page that was being processed."""
        return os.pread(self._texts.fileno(), HEADER_BYTES, 0)[0]

    def wait(self) -> int:
        """Wait for the child to exit, clean up, and return the exit code."""
        code = self._process.wait()
        self.kill()
        return code

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._pages.close()
        self._texts.close()


def _environment() -> dict[str, str]:
    """Return the child's environment, with memory kept for the next page.

    Returning memory to the system and requesting it again costs a tenth of the total time. Only
    glibc reads these variables, and values that are already set take precedence.
    """
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    kept = dict.fromkeys(("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"), str(_KEPT_BYTES))
    return {**kept, **os.environ, **path}


def _memory_file(name: str) -> BinaryIO:
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create(name), "w+b")
    return cast(BinaryIO, TemporaryFile())


def _next_chunk(pages: Sequence[HtmlPage]) -> Sequence[HtmlPage]:
    """Return the pages for one message."""
    size = 0
    for count, page in enumerate(pages[:_CHUNK_PAGES], start=1):
        size += page.content.size
        if size >= _CHUNK_BYTES:
            return pages[:count]
    return pages[:_CHUNK_PAGES]
