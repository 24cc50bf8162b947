"""Trimming: a private cluster does without what of Ray's nobody would ask, processes and imports.

Each process spends half a second of a core on imports, and most of them are waited for. All of this
is about Ray's inside: where it looks other than it did, Ray does everything as it always does.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from typing import Any

from curator_ray import asking, laboring, sleeping
from curator_ray.replacing import replaced
from curator_ray.settings import environment
from curator_ray.stems import Stem

_NEEDLESS = ("start_log_monitor", "start_api_server", "start_monitor")
_AGENTS = ("dashboard_agent", "runtime_env_agent")
_COMMAND = "_build_python_executable_command_memory_profileable"
_KILL = "kill_all_processes"
_WAIT = "wait_for_persisted_port"
_OFTEN = {"poll_interval_ms": 5}


@contextmanager
def trimmed(stem: Stem) -> Iterator[None]:
    """Let a Ray that is started meanwhile have no monitors, no usage figures, no agents.

    Its workers are forks of the stem.
    """
    nodes = import_module("ray._private.node")
    node = nodes.Node
    services = import_module("ray._private.services")
    with ExitStack() as changes:
        for needless in _NEEDLESS:
            changes.enter_context(replaced(node, needless, lambda _: _left_out))
        if hasattr(import_module("ray._raylet"), "persist_port"):
            changes.enter_context(replaced(services, _COMMAND, _with_sleeping_agents))
        changes.enter_context(replaced(node, "start_raylet", _with_our_workers(stem)))
        changes.enter_context(replaced(nodes, _WAIT, lambda wait: partial(wait, **_OFTEN)))
        yield


@contextmanager
def ended_at_once() -> Iterator[None]:
    """Let a Ray that is shut down meanwhile kill its processes instead of asking them to leave.

    Nothing that it holds is of use to anybody, and some would take a second before they are killed
    after all.
    """
    node = import_module("ray._private.node").Node
    with replaced(node, _KILL, _without_asking):
        yield


def _left_out(node: Any, **_: Any) -> None:
    node._webui_url = ""  # noqa: SLF001 - as Ray would set it


def _with_sleeping_agents(starts: Callable[..., list[str]]) -> Callable[..., list[str]]:
    def command(component: str, *more: Any, **others: Any) -> list[str]:
        if component in _AGENTS:
            return [sys.executable, "-I", "-S", sleeping.__file__]
        return starts(component, *more, **others)

    return command


def _with_our_workers(stem: Stem) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def with_them(starts: Callable[..., None]) -> Callable[..., None]:
        def start_raylet(node: Any, *more: Any, **others: Any) -> None:
            told = node._ray_params  # noqa: SLF001 - there are no options for it
            if hasattr(told, "worker_path"):
                told.worker_path = laboring.__file__
            if stem.runs and hasattr(told, "setup_worker_path"):
                told.setup_worker_path = asking.__file__
            with environment(stem.environment):
                starts(node, *more, **others)

        return start_raylet

    return with_them


def _without_asking(kill: Callable[..., None]) -> Callable[..., None]:
    def kill_at_once(node: Any, **_: Any) -> None:
        kill(node, check_alive=False, allow_graceful=False, wait=True)

    return kill_at_once
