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

from curator_core import InputError

from curator_text.html.algorithms import extractor
from curator_text.html.charsets import decoded
from curator_text.html.heads import language_of, title_of

_CHUNK_BYTES = 1024 * 1024
_CHUNK_PAGES = 64


class Page(NamedTuple):
    """A page as it was found: bytes, and the charset that somebody named."""

    content: bytes
    charset: str | None = None


class Extracted(NamedTuple):
    text: str
    title: str | None
    language: str | None


class Child:
    """The process, started when first needed and again when it is gone."""

    def __init__(
        self, algorithm: str, options: Mapping[str, Any], language: str | None, seconds: float
    ) -> None:
        self._settings = [algorithm, dict(options), language, seconds]
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._place: BinaryIO | None = None
        """A file in which the child notes which page of a message it is at."""

    def extracted(self, pages: Sequence[Page]) -> Iterator[Extracted | InputError]:
        """What each page holds, in order."""
        left = list(pages)
        while left:
            chunk = _first_of(left)
            given = 0
            for found in self._chunk(chunk):
                given += 1
                yield found
            if given < len(chunk):
                last, told = max(given, self._page_of_death()), self._epitaph()
                yield from self.extracted(chunk[given:last])  # their answers went with it
                yield InputError(told)
                given = last + 1
            left = left[given:]

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
        if self._place is not None:
            self._place.close()
            self._place = None

    def _chunk(self, pages: Sequence[Page]) -> Iterator[Extracted | InputError]:
        """Ends early when the child does."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        self._note(0)
        try:
            _send(process.stdin, [page.charset for page in pages])
            for page in pages:
                _send_bytes(process.stdin, page.content)
            process.stdin.flush()
        except BrokenPipeError:
            return
        for _ in pages:
            answer = _received(process.stdout)
            if answer is None:
                return
            error, *found = json.loads(answer)
            yield InputError(error) if error else Extracted(*found)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._place = cast(BinaryIO, TemporaryFile())  # noqa: SIM115 - closed with the child
            place = self._place.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-c", "from curator_text.html.children import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[place],
                bufsize=_CHUNK_BYTES,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
            assert self._process.stdin is not None
            _send(self._process.stdin, [*self._settings, place])
        return self._process

    def _note(self, page: int) -> None:
        assert self._place is not None
        os.pwrite(self._place.fileno(), bytes([page]), 0)

    def _page_of_death(self) -> int:
        assert self._place is not None
        return os.pread(self._place.fileno(), 1, 0)[0]

    def _epitaph(self) -> str:
        assert self._process is not None
        code = self._process.wait()
        self.close()
        if code == -signal.SIGPROF:
            return f"reading the page took more than {self._seconds:g} s of CPU time"
        return f"reading the page ended the process that did it ({_cause(code)})"


def _cause(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _first_of(pages: Sequence[Page]) -> Sequence[Page]:
    """As many as are worth one message."""
    size = 0
    for count, page in enumerate(pages[:_CHUNK_PAGES], start=1):
        size += len(page.content)
        if size >= _CHUNK_BYTES:
            return pages[:count]
    return pages[:_CHUNK_PAGES]


def _send(stream: Any, message: Any) -> None:
    _send_bytes(stream, json.dumps(message).encode())


def _send_bytes(stream: Any, data: bytes) -> None:
    stream.write(len(data).to_bytes(8, "big"))
    stream.write(data)


def _received(stream: Any) -> bytes | None:
    head = stream.read(8)
    if len(head) < 8:
        return None
    size = int.from_bytes(head, "big")
    data: bytes = stream.read(size)
    return data if len(data) == size else None


def main() -> None:
    """The life of a child: settings first, then pages, until nobody sends any."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the worker's business
    pages, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb", _CHUNK_BYTES)
    os.dup2(2, 1)  # whatever a library prints is no answer
    settings = _received(pages)
    if settings is None:
        return
    algorithm, options, language, seconds, place = json.loads(settings)
    extract = extractor(algorithm, options)
    while (head := _received(pages)) is not None:
        chunk = [Page(_received(pages) or b"", charset) for charset in json.loads(head)]
        for number, page in enumerate(chunk):
            os.pwrite(place, bytes([number]), 0)
            signal.setitimer(signal.ITIMER_PROF, seconds)
            answer = _answer(extract, decoded(*page), language)
            signal.setitimer(signal.ITIMER_PROF, 0)
            _send(answers, answer)
        answers.flush()


def _answer(extract: Any, page: str, language: str | None) -> list[str | None]:
    """An error, or nothing; then what there is."""
    named = language_of(page)
    try:
        text = extract(page, language or named) if page.strip() else ""
        text.encode()
    except Exception as error:  # noqa: BLE001 - the border to the libraries that read pages
        return [f"{type(error).__name__}: {error}"[:500]]
    return [None, text, title_of(page), named]
