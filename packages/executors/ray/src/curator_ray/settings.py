"""Settings that Ray reads once, while it starts or connects."""

import logging
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from curator_ray.ignoring import ignoring_warnings

_SET_BY_RAY = ("RAY_", "PYTHONBREAKPOINT")


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Some variables for as long as it lasts; what Ray set meanwhile for itself is undone too."""
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        for name in [n for n in os.environ if n in values or n.startswith(_SET_BY_RAY)]:
            if name in before:
                os.environ[name] = before[name]
            else:
                del os.environ[name]


@contextmanager
def loopback_only() -> Iterator[None]:
    """Let Ray take 127.0.0.1 for the address of this node, and listen nowhere else.

    Ray does so by itself on a Mac. It reads the variable when it is imported, which may have
    happened long ago, so what it then made of it is changed as well.
    """
    from ray._private import ray_constants

    name = "ENABLE_RAY_CLUSTER"
    before = getattr(ray_constants, name, None)
    with environment({"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}):
        if before is not None:
            setattr(ray_constants, name, False)
        try:
            yield
        finally:
            if before is not None:
                setattr(ray_constants, name, before)


_HANDLED_BY_US = {"RAY_IGNORE_UNHANDLED_ERRORS": "1"}
"""Each call has two references; where it fails, only its answer is looked at."""


@contextmanager
def undisturbed() -> Iterator[None]:
    """Keep Ray from taking over SIGTERM, and from talking about what is well."""
    logger = logging.getLogger("ray")
    level = logger.level
    logger.setLevel(logging.ERROR)
    in_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM) if in_main else None
    try:
        with ignoring_warnings(), environment(_HANDLED_BY_US):
            yield
    finally:
        logger.setLevel(level)
        if in_main:
            signal.signal(signal.SIGTERM, handler if handler is not None else signal.SIG_DFL)


@contextmanager
def deaths_untold() -> Iterator[None]:
    """Keep Ray from writing a paragraph to stdout for each worker that died.

    It does so whatever was said about logs. Who runs stages says what matters of it, elsewhere than
    where results go.
    """
    from ray._private import worker

    name = "print_to_stdstream"
    before = getattr(worker, name, None)
    if before is None:
        yield
        return
    setattr(worker, name, _into_the_log)
    try:
        yield
    finally:
        setattr(worker, name, before)


def _into_the_log(told: Mapping[str, Any], **_: Any) -> None:
    logging.getLogger("curator_ray").debug("Ray says: %s", " ".join(map(str, told["lines"])))
