"""Start nodes without Ray's monitors, dashboard and agents."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from typing import Any

from curator_ray.cluster import idle_agent
from curator_ray.compat import patched

_NEEDLESS = ("start_log_monitor", "start_api_server", "start_monitor")
_AGENTS = ("dashboard_agent", "runtime_env_agent")
_COMMAND = "_build_python_executable_command_memory_profileable"
_KILL = "kill_all_processes"
_WAIT = "wait_for_persisted_port"
_OFTEN = {"poll_interval_ms": 5}
_LOOK_EVERY_S, _PATIENCE_S = 0.005, 30.0


@contextmanager
def minimal_nodes() -> Iterator[None]:
    """Let a Ray that is started meanwhile have no monitors, no usage figures, no agents."""
    nodes = import_module("ray._private.node")
    node = nodes.Node
    services = import_module("ray._private.services")
    with ExitStack() as changes:
        for needless in _NEEDLESS:
            changes.enter_context(patched(node, needless, lambda _: _left_out))
        if hasattr(import_module("ray._raylet"), "persist_port"):
            changes.enter_context(patched(services, _COMMAND, _with_sleeping_agents))
        changes.enter_context(patched(nodes, _WAIT, lambda wait: partial(wait, **_OFTEN)))
        changes.enter_context(patched(services, "get_node", _once_it_is_there))
        yield


@contextmanager
def fast_shutdown() -> Iterator[None]:
    """Let a Ray that is shut down meanwhile kill its processes instead of asking them to leave.

    Nothing that it holds is of use to anybody, and some would take a second before they are killed
    after all.
    """
    node = import_module("ray._private.node").Node
    worker = import_module("ray._private.worker")
    with (
        patched(node, _KILL, _without_asking),
        patched(worker, "disconnect", _with_no_answer_due),
    ):
        yield


def _left_out(node: Any, **_: Any) -> None:
    node._webui_url = ""  # noqa: SLF001 - as Ray would set it


def _with_sleeping_agents(starts: Callable[..., list[str]]) -> Callable[..., list[str]]:
    def command(component: str, *more: Any, **others: Any) -> list[str]:
        if component in _AGENTS:
            return [sys.executable, "-I", "-S", idle_agent.__file__]
        return starts(component, *more, **others)

    return command


def _once_it_is_there(get: Callable[..., Any]) -> Callable[..., Any]:
    """Ray asks for a node that it has just started once, and then not again for a second."""

    def get_node(gcs_address: str, node_id: str) -> Any:
        state = import_module("ray._private.state").GlobalState()
        options = import_module("ray._private.services")._get_gcs_client_options  # noqa: SLF001
        state._initialize_global_state(options(gcs_address))  # noqa: SLF001
        until = time.monotonic() + _PATIENCE_S
        while not _is_there(state, node_id) and time.monotonic() < until:
            time.sleep(_LOOK_EVERY_S)
        return get(gcs_address, node_id)

    return get_node


def _is_there(state: Any, node_id: str) -> bool:
    return any(node["NodeID"] == node_id for node in state.node_table())


def _with_no_answer_due(disconnect: Callable[..., None]) -> Callable[..., None]:
    """A driver gives up what it waits to hear from the middle of its cluster after a quarter of a
    second; where that is gone it waits for nothing."""

    def disconnect_and_end(*more: Any, **others: Any) -> None:
        disconnect(*more, **others)
        node = import_module("ray._private.worker")._global_node  # noqa: SLF001
        if hasattr(node, "kill_gcs_server"):
            node.kill_gcs_server(check_alive=False)

    return disconnect_and_end


def _without_asking(kill: Callable[..., None]) -> Callable[..., None]:
    def kill_at_once(node: Any, **_: Any) -> None:
        kill(node, check_alive=False, allow_graceful=False, wait=True)

    return kill_at_once
