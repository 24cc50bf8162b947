"""Screens: what a command shows, as text for people or as JSON for programs."""

import codecs
import io
import json
import logging
import sys
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


def speak_plainly(*streams: TextIO | None) -> None:
    """Show on a terminal that knows no arrows (LANG=C) what looks like them, instead of failing."""
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
    """Where one command speaks. With `as_json`, stdout gets one JSON value and nothing else."""

    as_json: bool = False

    @cached_property
    def console(self) -> "Console":
        from curator_core.reporting.tables import console

        return console()

    def show(self, *shown: Any, style: str | None = None) -> None:
        """For people only."""
        if not self.as_json:
            self.console.print(*shown, style=style)

    def say(self, text: str = "") -> None:
        """A line of text, as it is and never wrapped."""
        if not self.as_json:
            print(visible(text))

    def give(self, value: Any) -> None:
        """For programs only."""
        if self.as_json:
            give_json(value)

    def give_line(self, value: Any) -> None:
        """For programs that read on: one of several values, each in a line of its own."""
        if self.as_json:
            print(json.dumps(value, default=str), flush=True)


def give_json(value: Any) -> None:
    print(json.dumps(value, indent=2, default=str))


def note(text: str) -> None:
    """Something to know that is not the answer itself."""
    print(f"curate: {visible(text)}", file=sys.stderr)


def tell_error(error: BaseException, lines: Sequence[str], code: int, *, as_json: bool) -> None:
    """Every problem in a line of its own on stderr; with --json, the whole on stdout too.

    Where a run stopped for too many failures, that is what it did so far and the error.
    """
    for line in lines:
        note(line)
    if as_json:
        kind = type(error).__name__
        facts: dict[str, Any] = {"type": kind, "message": "\n".join(lines), "exit_code": code}
        if isinstance(error, PipelineError):
            facts["problems"] = list(error.problems)
        result = error.result if isinstance(error, BudgetError) else None
        give_json({**({} if result is None else result.to_json()), "error": facts})


class _Handler(logging.Handler):
    """Writes to stderr as it is at that moment: a live display stands in for it meanwhile."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(BrokenPipeError):  # nobody reads it any more; the run itself goes on
            print(visible(self.format(record)), file=sys.stderr)


@contextmanager
def logged(level: int) -> Iterator[None]:
    """What the run says goes to stderr, a line each."""
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
        logger.setLevel(before)  # which also forgets what it let through meanwhile
        logger.propagate = propagates
