"""Screens: output of commands, as text for people or as JSON for programs."""

import codecs
import io
import json
import logging
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

from curator_core.errors import BudgetError, PipelineError
from curator_core.logs import visible

if TYPE_CHECKING:
    from rich.console import Console


_LOOK_ALIKES = {"→": "->", "…": "...", "·": "-"}


def replace_unprintable(*streams: TextIO | None) -> None:
    """Replace characters that a terminal cannot show (LANG=C) instead of failing."""
    codecs.register_error("curator", _look_alike)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="curator")


def _look_alike(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_LOOK_ALIKES.get(sign, "?") for sign in text), error.end


@dataclass
class Screen:
    """The output of one command. With `as_json`, stdout gets one JSON value and nothing else."""

    as_json: bool = False

    @cached_property
    def console(self) -> "Console":
        from curator_report.tables import console

        return console()

    def show(self, *shown: Any, style: str | None = None) -> None:
        """Print for people only."""
        if not self.as_json:
            self.console.print(*shown, style=style)

    def print_line(self, text: str = "") -> None:
        """Print a line of text for people, without wrapping or markup."""
        if not self.as_json:
            print(visible(text))

    def print_text(self, text: str) -> None:
        """Print a docstring for people: its paragraphs, wrapped to the width of the terminal."""
        for at, paragraph in enumerate(text.split("\n\n")):
            if at:
                self.print_line()
            is_prose = not any(line.startswith((" ", "- ", "* ")) for line in paragraph.split("\n"))
            joined = " ".join(paragraph.split()) if is_prose else paragraph
            self.print_line(wrap(joined, self.console.width) if is_prose else joined)

    def print_json(self, value: Any) -> None:
        """Print a JSON value for programs only."""
        if self.as_json:
            print_json(value)

    def print_json_line(self, value: Any) -> None:
        """Print one of several JSON values for programs, each on its own line."""
        if self.as_json:
            print(json.dumps(value, default=str), flush=True)


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, default=str))


def note(text: str) -> None:
    """Print a message to stderr, apart from the command's output.

    In a terminal, lines end between words.
    """
    message = f"curate: {visible(text)}"
    if sys.stderr is not None and sys.stderr.isatty():
        message = wrap(message, shutil.get_terminal_size().columns, indent="  ")
    print(message, file=sys.stderr)


def wrap(text: str, width: int, indent: str = "") -> str:
    """Break lines between words only, however long a path or name is."""
    return textwrap.fill(
        text,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )


def print_error(error: BaseException, lines: Sequence[str], code: int, *, as_json: bool) -> None:
    """Print every problem on its own line to stderr; with --json, the error to stdout too.

    If a run stopped because of too many failures, the JSON also contains its result so far.
    """
    for line in lines:
        note(line)
    if as_json:
        kind = type(error).__name__
        facts: dict[str, Any] = {"type": kind, "message": "\n".join(lines), "exit_code": code}
        if isinstance(error, PipelineError):
            facts["problems"] = list(error.problems)
        result = error.result if isinstance(error, BudgetError) else None
        print_json({**({} if result is None else result.to_json()), "error": facts})


class _Handler(logging.Handler):
    """Writes to whatever stderr is at the moment: a live display may replace it."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(BrokenPipeError):  # no one reads it any more; the run continues
            print(visible(self.format(record)), file=sys.stderr)


@contextmanager
def logged(level: int) -> Iterator[None]:
    """Log messages of the run to stderr, one line each."""
    logger = logging.getLogger("curator_core")
    handler = _Handler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    before, propagates = logger.level, logger.propagate
    logger.setLevel(level)
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)  # also clears the logger's cache of enabled levels
        logger.propagate = propagates
