"""Start nodes without Ray's monitors, dashboard and agents, on versions where that was tested.

Each of these processes spends half a second of a core on imports, and Ray waits for most of them.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from curator_ray.cluster import idle_agent
from curator_ray.compat import AGENT_COMMAND, API_SERVER, KILL_PROCESSES, LOG_MONITOR, MONITOR

_AGENTS = ("dashboard_agent", "runtime_env_agent")


@contextmanager
def minimal_nodes() -> Iterator[None]:
    """Leave these processes out of nodes that are started in this context."""
    with ExitStack() as patches:
        for name in (LOG_MONITOR, MONITOR, API_SERVER):
            patches.enter_context(name.patched(lambda _: _start_nothing))
        patches.enter_context(AGENT_COMMAND.patched(_with_idle_agents))
        yield


@contextmanager
def fast_shutdown() -> Iterator[None]:
    """Have `ray.shutdown` kill a private cluster's processes instead of asking them to leave."""
    with KILL_PROCESSES.patched(_kill_at_once):
        yield


def _kill_at_once(kill: Callable[..., None]) -> Callable[..., None]:
    def kill_all(node: Any, **_: Any) -> None:
        kill(node, check_alive=False, allow_graceful=False, wait=True)

    return kill_all


def _start_nothing(node: Any, **_: Any) -> None:
    node._webui_url = ""  # noqa: SLF001 - as Ray sets it without a dashboard


def _with_idle_agents(command: Callable[..., list[str]]) -> Callable[..., list[str]]:
    def command_of(component: str, *args: Any, **options: Any) -> list[str]:
        if component in _AGENTS:
            return [sys.executable, "-I", "-S", idle_agent.__file__]
        return command(component, *args, **options)

    return command_of
