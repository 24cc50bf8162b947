"""Entry point: runs a command and turns every error into one clear line and an exit code."""

import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import click
from curator_core.errors import CuratorError, PipelineError, RunInterrupted

from curator_cli.output import print_error, replace_unprintable

UNEXPECTED = 1


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `curate` and exit with its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    replace_unprintable(sys.stdout, sys.stderr)
    code = call(given or ["--help"])
    sys.exit(_flush_stdout(code))


def call(arguments: list[str]) -> int:
    """Run one command and return its exit code; errors are printed."""
    try:
        with _terminated_in_order():
            from curator_cli.group import curate

            with curate.make_context("curate", arguments) as context:
                curate.invoke(context)
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except BrokenPipeError:
        return _ignore_output()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the outermost boundary
        return _report_failure(error, arguments)
    return 0


class _Terminated(KeyboardInterrupt):
    """SIGTERM while no run handles it."""


@contextmanager
def _terminated_in_order() -> Iterator[None]:
    """Make SIGTERM act like Ctrl-C, so that everything is closed and an error is shown."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        raise _Terminated

    signal.signal(signal.SIGTERM, on_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _report_failure(error: BaseException, arguments: Sequence[str]) -> int:
    debug = "--debug" in arguments
    if debug:
        traceback.print_exception(error)
    code, lines = _describe_error(error, debug=debug)
    print_error(error, lines, code, as_json="--json" in arguments)
    return code


def _describe_error(error: BaseException, *, debug: bool) -> tuple[int, list[str]]:
    if isinstance(error, RunInterrupted):
        return error.exit_code, [str(error)]
    if isinstance(error, _Terminated):
        return 128 + signal.SIGTERM, ["interrupted by SIGTERM"]
    if isinstance(error, KeyboardInterrupt):
        return 128 + signal.SIGINT, ["interrupted"]
    if isinstance(error, PipelineError):
        return error.exit_code, error.problems
    if isinstance(error, CuratorError):
        return error.exit_code, [str(error)]
    if isinstance(error, click.ClickException):
        return error.exit_code, [_with_help(error)]
    message = " ".join(str(error).split())
    cause = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return UNEXPECTED, [cause if debug else f"{cause} (run again with --debug to see where)"]


def _with_help(error: click.ClickException) -> str:
    """Return the error message, and the command that shows help."""
    message = error.format_message().rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{message}; see {context.command_path} --help" if context else message


def _ignore_output() -> int:
    """Ignore further output: a closed pipe (`curate ... | head`) is not a failure."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _flush_stdout(code: int) -> int:
    """Flush stdout, unless it is None; the pipe may be closed here too."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        _ignore_output()
    return code
