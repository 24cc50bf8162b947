"""Settings of this process that are changed while Ray starts or connects."""

import logging
import os
import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from types import FrameType
from typing import Any, cast

from curator_ray.compat import DEATH_MESSAGES, LISTENS_ON_NETWORK, SET_SIGTERM_HANDLER

_SET_BY_RAY = ("RAY_", "PYTHONBREAKPOINT")
_NUMBERS = count()


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables for a while; afterwards undo those that Ray set for itself, too."""
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
    """Have Ray use 127.0.0.1 as the address of this node, as it does by default on a Mac."""
    with (
        environment({"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}),
        LISTENS_ON_NETWORK.patched(lambda _: False),
    ):
        yield


_HANDLED_BY_US = {"RAY_IGNORE_UNHANDLED_ERRORS": "1"}
"""Each call has two references. If it fails, only its result is read."""


@contextmanager
def block_sigterm() -> Iterator[None]:
    """Start processes that never receive SIGTERM.

    `timeout` and `scancel` send it to the whole process group, and a driver needs its cluster to
    stop a run in order.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def quiet_ray() -> Iterator[None]:
    """Keep Ray from logging what works, from warnings, and from handling SIGTERM."""
    logger = logging.getLogger("ray")
    level = logger.level
    logger.setLevel(logging.ERROR)
    in_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM) if in_main else None
    try:
        with (
            ignore_warnings(),
            environment(_HANDLED_BY_US),
            SET_SIGTERM_HANDLER.patched(lambda _: _ignore_handler),
        ):
            yield
    finally:
        logger.setLevel(level)
        if in_main:  # Ray's C++ code handles it, too
            signal.signal(signal.SIGTERM, handler if handler is not None else signal.SIG_DFL)


def _ignore_handler(handler: Callable[..., None]) -> None:
    """Take the place of the function by which Ray handles SIGTERM."""


@contextmanager
def hide_death_messages() -> Iterator[None]:
    """Keep Ray from printing a paragraph to stdout for each worker that died.

    Ray prints it even with log_to_driver=False. Runs report deaths themselves, and stdout belongs
    to results.
    """
    with DEATH_MESSAGES.patched(lambda _: _log_message):
        yield


def _log_message(data: Mapping[str, Any], **_: Any) -> None:
    logging.getLogger("curator_ray").debug("Ray says: %s", " ".join(map(str, data["lines"])))


@contextmanager
def ignore_warnings(module: str = "") -> Iterator[None]:
    """Ignore warnings: of all modules, or of those that match this regular expression.

    `warnings.catch_warnings` would restore a copy of all filters. Filters that other threads add
    meanwhile, as libraries do while they are imported, would be lost.
    """
    unique = re.compile(f"(?#{next(_NUMBERS)})")  # matches any text, but equals no other filter
    ours = ("ignore", unique, Warning, re.compile(module) if module else None, 0)
    filters = cast(list[Any], warnings.filters)
    filters.insert(0, ours)
    try:
        yield
    finally:
        # Another thread may have replaced the list by a copy, and may restore this one later.
        for present in (filters, cast(list[Any], warnings.filters)):
            if ours in present:
                present.remove(ours)


@contextmanager
def defer_signals() -> Iterator[None]:
    """Handle the first Ctrl-C or SIGTERM at the end, and the second at once.

    An exception raised while Ray starts ends this process with a segmentation fault.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []

    def receive(number: int, frame: FrameType | None) -> None:
        received.append(number)
        if len(received) > 1:
            before[number](number, frame)

    handlers: dict[int, Any] = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    before: dict[int, Callable[..., Any]] = {
        number: handler for number, handler in handlers.items() if callable(handler)
    }
    for number in before:
        signal.signal(number, receive)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in received[:1]:
            signal.raise_signal(number)
