"""Postponing: libraries that Ray imports and hardly ever calls are imported at their first use.

They are a third of what a worker of Ray does before its first call, and workers start all the time.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from curator_ray.teaching import teach_when_needed

_HARDLY_CALLED = ("jsonschema", "requests", "wcwidth", "yaml")
_SOON_AFTERWARDS = "ray._common.usage.usage_lib"
"""Ray imports it when it connects, and with it one of the others."""


class Postponed(ModuleType):
    """Stands for a module until something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        _withdraw(self)
        return getattr(import_module(self.__name__), name)


@contextmanager
def postponed() -> Iterator[None]:
    """Whoever imports one of them meanwhile gets one that waits; whoever does later, the module."""
    waiting = [Postponed(name) for name in _HARDLY_CALLED if _is_to_come(name)]
    sys.modules.update((module.__name__, module) for module in waiting)
    try:
        yield
    finally:
        for module in waiting:
            _withdraw(module)


def import_ray() -> ModuleType:
    """Ray, imported with little else if nobody has yet; ModuleNotFoundError where there is none."""
    with postponed():
        ray = import_module("ray")
        with suppress(ImportError):
            import_module(_SOON_AFTERWARDS)
    teach_when_needed()
    return ray


def is_initialized() -> bool:
    """Whether this process is connected to a cluster, without an import where nobody has yet."""
    # Where another thread is about to import it, this waits.
    return "ray" in sys.modules and bool(import_module("ray").is_initialized())


def is_installed() -> bool:
    """Whether there is a Ray to import: a mere folder of that name is none."""
    found = find_spec("ray")
    return found is not None and found.origin is not None


def _is_to_come(name: str) -> bool:
    return name not in sys.modules and find_spec(name) is not None


def _withdraw(module: ModuleType) -> None:
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]
