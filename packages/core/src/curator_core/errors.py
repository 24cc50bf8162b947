"""Errors that Curator raises on purpose: each says what happened, where, and what to do."""

import traceback
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cache
from os.path import basename, dirname
from types import CodeType, FrameType, TracebackType
from typing import Any


class CuratorError(Exception):
    """Base class of all errors that Curator raises on purpose."""

    exit_code = 2


class PipelineError(CuratorError):
    """A pipeline, recipe or option is wrong. Lists every problem found, not only the first."""

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


class PluginError(CuratorError):
    """A plugin is missing, broken or uses a name that belongs to another."""


class InputError(CuratorError):
    """Input data cannot be found or read."""


class UnavailableError(InputError):
    """Input data cannot be reached now, but may be later, e.g. because a server is down."""


class NothingFoundError(InputError):
    """A path matches no file. Fine where a pipeline may be empty, a mistake elsewhere."""


class OutputError(CuratorError):
    """Output cannot be written, or the folder already holds something else."""


class ResumeError(CuratorError):
    """A run directory does not belong to this pipeline, is in use, or cannot be read."""


class RemovedInputsError(ResumeError):
    """Input files were removed but their output still exists. The run stopped before writing."""


class EmptyRunError(CuratorError):
    """A run had no work, or produced nothing although nothing was dropped."""


class ResourceError(CuratorError):
    """A stage asks for hardware that is not available."""

    exit_code = 5


class StageError(CuratorError):
    """A stage failed and its policy stops the run."""

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        stage: str = "",
        task_id: str = "",
        source: str = "",
        detail: str = "",
    ) -> None:
        super().__init__(message)
        self.stage = stage
        self.task_id = task_id
        self.source = source
        self.detail = detail

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_stage_error, (str(self), vars(self))


def _rebuild_stage_error(message: str, facts: dict[str, str]) -> StageError:
    """Return an error that another process raised; its cause shows the traceback from there."""
    error = StageError(message)
    vars(error).update(facts)
    if error.detail:
        error.__cause__ = _WorkerTracebackError(f'\n"""\n{error.detail}\n"""')
    return error


class _WorkerTracebackError(Exception):
    """The traceback of an error in a worker, as text: tracebacks cannot be pickled."""


class BudgetError(CuratorError):
    """More failures than `max_failures` allows. Finished output is kept; see `result`."""

    exit_code = 4
    result: Any = None
    """The RunResult, with everything that was finished."""


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM stopped the run cleanly. Run it again to resume."""

    def __init__(self, message: str, signal_number: int = 2) -> None:
        super().__init__(message)
        self.exit_code = 128 + signal_number


class TaskTimeoutError(Exception):
    """A call of a stage took longer than its `timeout_s`."""


class AbortedError(BaseException):
    """The run is stopping and its drain time is over. Stages must not catch this."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to `name`, by spelling or by its last part."""
    names = sorted(set(known))
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return close[0]
    ends = {candidate.rpartition(".")[2]: candidate for candidate in names}
    close = get_close_matches(name.rpartition(".")[2], ends, n=1, cutoff=0.7)
    return ends[close[0]] if close else None


def nearest_file(name: str, files: Iterable[str]) -> str | None:
    """Return the file name closest to `name`; sharing an extension makes no names similar."""
    by_stem: dict[str, list[str]] = {}
    for file in sorted(set(files) - {name}):
        by_stem.setdefault(_stem(file), []).append(file)
    for stem in get_close_matches(_stem(name), by_stem, n=1, cutoff=0.6):
        return get_close_matches(name, by_stem[stem], n=1, cutoff=0)[0]
    return None


def _stem(file: str) -> str:
    return file.lstrip("._").partition(".")[0]


def hint(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean x?)`, or the known names if none is similar."""
    names = sorted(set(known))
    found = nearest(name, names)
    if found:
        return f" (did you mean {found}?)"
    if not names:
        return " (none is known)"
    shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    return f" (known: {shown})"


_FRAMEWORK = (
    "curator_core.execution.step",
    "curator_core.execution.worker",
    "curator_core.model.functions",
)


_PLAIN = ("curator_core.",)


def reason_of(error: BaseException) -> str:
    """Return the error as one line, `ValueError: message`; without the class for our own errors."""
    if type(error).__module__.startswith(_PLAIN):
        return str(error)
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


@cache
def _installed_folders() -> tuple[str, ...]:
    import sysconfig

    paths = sysconfig.get_paths()
    return tuple(paths[name] for name in ("stdlib", "purelib", "platlib"))


def user_code_location(error: BaseException) -> str:
    """Return where the user's code raised an error, as ` (file.py:12)`; empty if it did not."""
    place = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        if _is_user_code(frame):
            place = f" ({code_location(frame.f_code, line)})"
    return place


def _is_user_code(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    if str(frame.f_globals.get("__name__", "")).startswith("curator_"):
        return False
    if file.startswith(_installed_folders()) or "site-packages" in file or "dist-packages" in file:
        return False
    is_compiled = file.endswith((".pyx", ".pxi", ".pxd"))
    return not is_compiled and (file[:1] != "<" or _is_cell(file))


def _is_cell(file: str) -> bool:
    """Return whether this is a cell of a notebook, which has a file name that users never saw."""
    return file.startswith("<ipython-input-") or basename(dirname(file)).startswith("ipykernel_")


def code_location(code: CodeType, line: int) -> str:
    """Return a line of a user's code, as `file.py:12`; of a cell, with the function's name."""
    if not _is_cell(code.co_filename):
        return f"{basename(code.co_filename)}:{line}"
    function = code.co_qualname.partition(".<locals>")[0]
    return f"notebook cell, line {line}, in {function}"


def is_damaged_input(error: BaseException) -> bool:
    """Return whether the input is at fault, so that a retry fails until the input is fixed."""
    return isinstance(error, InputError | UnicodeError) and not isinstance(error, UnavailableError)


def detail_of(error: BaseException) -> str:
    """Return the traceback without the frames that called the stage."""
    frames = _frames_of_stage(error)
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()


def remove_callers(error: BaseException) -> None:
    """Let the traceback begin with the stage, not with the frames that called it."""
    error.__traceback__ = _frames_of_stage(error)


def _frames_of_stage(error: BaseException) -> TracebackType | None:
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_globals.get("__name__") in _FRAMEWORK:
        frames = frames.tb_next
    return frames or error.__traceback__
