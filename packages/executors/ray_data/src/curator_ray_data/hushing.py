"""Hushing: what Ray's core writes to stderr, past Python, about what is well."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from curator_ray.settings import environment

_LOG_LEVEL = "RAY_BACKEND_LOG_LEVEL"
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
