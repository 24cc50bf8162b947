"""Trimming: a private cluster starts without those of Ray's processes that nobody would ask.

Each of them spends half a second of a core on imports, and most of them are waited for. All of this
is about Ray's inside: where it looks other than it did, Ray starts everything as it always does.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any
from unittest.mock import patch

from curator_ray import sleeping

_AGENTS = ("dashboard_agent", "runtime_env_agent")
_STARTS_ONE = "_build_python_executable_command_memory_profileable"


@contextmanager
def trimmed() -> Iterator[None]:
    """Let a Ray that is started meanwhile do without logs, usage figures and agents."""
    node: Any = import_module("ray._private.node").Node
    services = import_module("ray._private.services")
    raylet = import_module("ray._raylet")
    with ExitStack() as changes:
        for needless in ("start_log_monitor", "start_api_server"):
            if hasattr(node, needless):
                changes.enter_context(patch.object(node, needless, _left_out))
        if hasattr(raylet, "persist_port") and hasattr(services, _STARTS_ONE):
            starts = _sleeping_agents(getattr(services, _STARTS_ONE))
            changes.enter_context(patch.object(services, _STARTS_ONE, starts))
        yield


def _left_out(node: Any, **_: Any) -> None:
    node._webui_url = ""


def _sleeping_agents(starts: Callable[..., list[str]]) -> Callable[..., list[str]]:
    def starts_sleeping(component: str, *more: Any, **others: Any) -> list[str]:
        if component in _AGENTS:
            return [sys.executable, "-I", "-S", sleeping.__file__]
        return starts(component, *more, **others)

    return starts_sleeping
