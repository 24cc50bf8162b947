"""Failures of stages, put into words: the stage's own frames only, the shortest true sentence."""

import sysconfig
import traceback
from os.path import basename

from curator_core.errors import InputError, UnavailableError

_FRAMEWORK = ("curator_core.steps", "curator_core.worker", "curator_core.functions")


_PLAIN = ("curator_core.",)


def reason_of(error: BaseException) -> str:
    """`ValueError: what it says`, in one line; our own errors need no name before the sentence."""
    if type(error).__module__.startswith(_PLAIN):
        return str(error)
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0]}" if said else type(error).__name__


def place_of(error: BaseException) -> str:
    """Where in the user's own code an error was raised, as ` (file.py:12)`; empty if nowhere."""
    place = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        module = str(frame.f_globals.get("__name__", ""))
        if not (module.startswith("curator_") or file.startswith(_INSTALLED) or file[:1] == "<"):
            place = f" ({basename(file)}:{line})"
    return place


_INSTALLED = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib"))


def is_damage(error: BaseException) -> bool:
    """Whether the input is at fault, so that trying again changes nothing until it is mended."""
    return isinstance(error, InputError | UnicodeError) and not isinstance(error, UnavailableError)


def detail_of(error: BaseException) -> str:
    """The traceback without the frames that called the stage."""
    told = traceback.TracebackException.from_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    modules = [f.f_globals.get("__name__", "") for f, _ in traceback.walk_tb(error.__traceback__)]
    first = next((i for i, name in enumerate(modules) if name not in _FRAMEWORK), 0)
    told.stack = traceback.StackSummary.from_list(frames[first:])
    return "".join(told.format()).rstrip()
