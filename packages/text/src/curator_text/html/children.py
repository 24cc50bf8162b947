"""Children: a process beside the worker that reads pages, so that none can hang or end the worker.

The libraries that parse pages are compiled, and some pages keep them busy for hours. The child is
ended by the system when it has worked on one page for too long; the next page gets a new one.
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

from curator_text.html.answering import PLACE_BYTES, Answer
from curator_text.html.messages import put, received, send

_CHUNK_BYTES = 1024 * 1024
_CHUNK_PAGES = 64
_KEPT_BYTES = 32 * 1024 * 1024
"""So much free memory stays with the process. glibc takes no more than this for large pieces."""


class Page(NamedTuple):
    """A page as it was found: bytes, and the charset that somebody named."""

    content: pa.Buffer
    charset: str | None = None


class Extracted(NamedTuple):
    text: memoryview
    """In UTF-8."""

    title: str | None
    language: str | None


class Child:
    """The process, started when first needed and again when it is gone."""

    def __init__(
        self, algorithm: str, options: Mapping[str, Any], language: str | None, seconds: float
    ) -> None:
        self._settings = [algorithm, dict(options), language, seconds]
        self._seconds = seconds
        self._process: _Process | None = None

    def extracted(self, pages: Sequence[Page]) -> Iterator[Extracted | InputError]:
        """What each page holds, in order."""
        left = list(pages)
        while left:
            chunk = _first_of(left)
            if self._process is None:
                self._process = _Process(self._settings)
            found = self._process.asked(chunk)
            if found is not None:
                yield from found
                left = left[len(chunk) :]
                continue
            last, told = self._process.place(), self._epitaph(self._process.ended())
            self._process = None
            yield from self.extracted(chunk[:last])  # their answers went with it
            yield InputError(told)
            left = left[last + 1 :]

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _epitaph(self, code: int) -> str:
        if code == -signal.SIGPROF:
            return f"reading the page took more than {self._seconds:g} s of CPU time"
        cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"reading the page ended the process that did it ({cause})"


class _Process:
    """The process while it lives, and the files in memory that both sides have.

    Pages and texts go through these, so that the messages stay small.
    """

    def __init__(self, settings: Sequence[Any]) -> None:
        self._pages, self._texts = _memory_file("pages"), _memory_file("texts")
        files = [self._pages.fileno(), self._texts.fileno()]
        start = "from curator_text.html.answering import main; main()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", start, json.dumps([*settings, *files])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=files,
            env=_environment(),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._questions, self._answers = self._process.stdin, self._process.stdout

    def asked(self, pages: Sequence[Page]) -> list[Extracted | InputError] | None:
        """What the pages hold; None where the process ended over one of them."""
        os.pwrite(self._texts.fileno(), bytes(PLACE_BYTES), 0)
        put(self._pages.fileno(), (page.content for page in pages), 0)
        try:
            send(self._questions, [(page.content.size, page.charset) for page in pages])
        except BrokenPipeError:
            return None
        answers = received(self._answers)
        return None if answers is None else list(self._found(answers))

    def _found(self, answers: Sequence[Answer]) -> Iterator[Extracted | InputError]:
        size = sum(length for _, length, _, _ in answers)
        texts = memoryview(os.pread(self._texts.fileno(), size, PLACE_BYTES))
        for error, length, title, language in answers:
            text, texts = texts[:length], texts[length:]
            yield Extracted(text, title, language) if error is None else InputError(error)

    def place(self) -> int:
        """Which of the pages it was at."""
        return os.pread(self._texts.fileno(), PLACE_BYTES, 0)[0]

    def ended(self) -> int:
        """Its exit code, once it has ended of itself."""
        code = self._process.wait()
        self.kill()
        return code

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._pages.close()
        self._texts.close()


def _environment() -> dict[str, str]:
    """Memory is kept for the next page: to have it from the system anew costs a tenth of the work.

    Only glibc knows these variables, and only where nobody has set them.
    """
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    kept = dict.fromkeys(("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"), str(_KEPT_BYTES))
    return {**kept, **os.environ, **path}


def _memory_file(name: str) -> BinaryIO:
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create(name), "w+b")
    return cast(BinaryIO, TemporaryFile())


def _first_of(pages: Sequence[Page]) -> Sequence[Page]:
    """As many as are worth one message."""
    size = 0
    for count, page in enumerate(pages[:_CHUNK_PAGES], start=1):
        size += page.content.size
        if size >= _CHUNK_BYTES:
            return pages[:count]
    return pages[:_CHUNK_PAGES]
