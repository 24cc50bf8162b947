"""Hushing: what Ray writes to stderr about what is well, and what it would tell its makers."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from curator_ray.settings import environment

_LOG_LEVEL = "RAY_BACKEND_LOG_LEVEL"
_USAGE = "RAY_DATA_USAGE_DISABLED"
_ABOUT_IT = b"Set ray log level from environment variable"


@contextmanager
def hushed() -> Iterator[None]:
    """Start or join a cluster so that only what is fatal is written later on.

    Otherwise each pool of actors gets a line about restarts, which are not wanted here. Ray says
    that it was told so: all else that is written meanwhile comes out afterwards.
    """
    if _LOG_LEVEL in os.environ:
        yield
        return
    with environment({_LOG_LEVEL: "fatal"}), _without(_ABOUT_IT):
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
    try:
        stderr = os.dup(2)
    except OSError:  # there is none
        yield
        return
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            held.seek(0)
            kept = [line for line in held if unwanted not in line]
            os.write(2, b"".join(kept))
