"""Hushing: what Ray writes to stderr about what is well, and what it would tell its makers."""

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

_LOG_LEVEL = "RAY_BACKEND_LOG_LEVEL"
_USAGE = "RAY_DATA_USAGE_DISABLED"
_ABOUT_RESTARTS = b"has constructor arguments in the object store and max_restarts > 0"
_LOCK = threading.Lock()
"""Only one at a time: another would put back what the first had put in place of stderr."""


@contextmanager
def restarts_unmentioned() -> Iterator[None]:
    """For the moment in which a job begins.

    Ray says it of the first pool of actors that Ray Data starts in a process, as an error.
    """
    if _LOG_LEVEL in os.environ:
        yield
        return
    with _without(_ABOUT_RESTARTS):
        yield


@contextmanager
def unreported() -> Iterator[None]:
    """Let Ray Data keep no figures of its use: an actor would, and so one more process at a start.

    For private clusters, which report nothing to anybody.
    """
    if _USAGE in os.environ:
        yield
        return
    os.environ[_USAGE] = "1"
    try:
        yield
    finally:
        os.environ.pop(_USAGE, None)


@contextmanager
def _without(unwanted: bytes) -> Iterator[None]:
    with _LOCK, ExitStack() as stack:
        try:
            stderr = os.dup(2)
        except OSError:  # there is none
            yield
            return
        stack.callback(os.close, stderr)
        held = stack.enter_context(tempfile.TemporaryFile())
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr, 2)
            held.seek(0)
            kept = [line for line in held if unwanted not in line]
            os.write(2, b"".join(kept))
