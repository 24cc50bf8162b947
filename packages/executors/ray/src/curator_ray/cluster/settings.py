"""Settings of this process that are changed while Ray starts or connects."""

import logging
import os
import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from itertools import count
from types import FrameType
from typing import Any, cast

from curator_ray.compat import patched

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

    with (
        environment({"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}),
        patched(ray_constants, "ENABLE_RAY_CLUSTER", lambda _: False),
    ):
        yield


@contextmanager
def block_sigterm() -> Iterator[None]:
    """Let processes that are started meanwhile never get SIGTERM.

    `timeout`, `scancel` and the like send it to the whole process group. The driver stops its run
    in order and then kills them; without them it could not.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_HANDLED_BY_US = {"RAY_IGNORE_UNHANDLED_ERRORS": "1"}
"""Each call has two references; where it fails, only its answer is looked at."""


@contextmanager
def quiet_ray() -> Iterator[None]:
    """Keep Ray from taking over SIGTERM, and from talking about what is well."""
    inside = import_module("ray._private.utils")
    logger = logging.getLogger("ray")
    level = logger.level
    logger.setLevel(logging.ERROR)
    in_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM) if in_main else None
    try:
        with (
            ignore_warnings(),
            environment(_HANDLED_BY_US),
            patched(inside, "set_sigterm_handler", lambda _: _left_to_us),
        ):
            yield
    finally:
        logger.setLevel(level)
        if in_main:  # what is not Python in Ray takes it over as well
            signal.signal(signal.SIGTERM, handler if handler is not None else signal.SIG_DFL)


def _left_to_us(handler: Callable[..., None]) -> None:
    """Ray's handler would end the process at once, and in silence."""


@contextmanager
def hide_death_messages() -> Iterator[None]:
    """Keep Ray from writing a paragraph to stdout for each worker that died.

    It does so whatever was said about logs. Who runs stages says what matters of it, elsewhere than
    where results go.
    """
    from ray._private import worker

    with patched(worker, "print_to_stdstream", lambda _: _into_the_log):
        yield


def _into_the_log(told: Mapping[str, Any], **_: Any) -> None:
    logging.getLogger("curator_ray").debug("Ray says: %s", " ".join(map(str, told["lines"])))


_NUMBERS = count()


@contextmanager
def ignore_warnings(module: str = "") -> Iterator[None]:
    """Those of all modules, or of those whose names begin like this (a regular expression)."""
    alone = re.compile(f"(?#{next(_NUMBERS)})")  # any text; but like no other filter
    ours = ("ignore", alone, Warning, re.compile(module) if module else None, 0)
    filters = cast(list[Any], warnings.filters)
    filters.insert(0, ours)
    try:
        yield
    finally:
        # A thread may have put a copy in place, and bring these back later.
        for present in (filters, cast(list[Any], warnings.filters)):
            if ours in present:
                present.remove(ours)


FORCED_STOP_S = 4.0
"""How long workers may take to tear down once a run was asked to stop and its time is over."""


@contextmanager
def defer_signals() -> Iterator[None]:
    """Heed the first signal when it is over, and more of them at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        held.append(number)
        if len(held) > 1:
            before[number](number, frame)

    handlers: dict[int, Any] = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    before = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in before:
        signal.signal(number, hold)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in held[:1]:
            signal.raise_signal(number)
