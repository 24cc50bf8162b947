"""A private cluster has no process that nobody asks, and wakes those that somebody does ask."""

import json
import socket
import sys
from typing import Any

import pytest

DRIVER = """
import json, os, psutil, ray
from curator_ray.cluster.connection import connected
from curator_ray.cluster.private import PrivateCluster

def running():
    # Only Python processes: the raylet tells of scripts too, but within one long argument.
    told = [p.cmdline() for p in psutil.Process().children(recursive=True)]
    scripts = [next((part for part in line if part.endswith(".py")), "") for line in told]
    return sorted(os.path.basename(script) for script in scripts if script)

def flavour():
    return os.environ.get("FLAVOUR")

with connected(private=PrivateCluster(cpus=1)):
    before = running()
    task = ray.remote(num_cpus=0)(flavour)
    env = {"env_vars": {"FLAVOUR": "plum"}}
    print(json.dumps([
        before,
        ray.get(task.remote()),
        ray.get(task.options(runtime_env=env).remote(), timeout=60),
    ]))
"""


class TestTrimming:
    def test_agents_sleep_until_a_worker_needs_an_environment(self, script: Any) -> None:
        said, complaints = script(DRIVER).communicate(timeout=90)
        assert complaints == ""
        before, plain, flavoured = json.loads(said)
        assert before.count("idle_agent.py") == 2
        unasked = {"monitor.py", "log_monitor.py", "dashboard.py", "agent.py", "main.py"}
        assert not unasked.intersection(before)
        assert (plain, flavoured) == (None, "plum")

    @pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a port cannot be held so")
    def test_the_port_of_an_agent_that_wakes_is_nobody_elses(self) -> None:
        from curator_ray.cluster.idle_agent import _keep

        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        _keep(listener)

        with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
            stranger.bind(("127.0.0.1", port))
        with socket.socket() as agent:
            agent.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            agent.bind(("127.0.0.1", port))
            agent.listen()
            socket.create_connection(("127.0.0.1", port), 5).close()

    def test_ray_is_as_it_was_afterwards(self) -> None:
        from curator_ray.cluster.minimal import fast_shutdown, minimal_nodes
        from ray._private import services, worker
        from ray._private.node import Node

        names = ("start_log_monitor", "start_monitor", "start_api_server", "kill_all_processes")
        replaced = [(Node, name) for name in names]
        replaced += [(services, "get_node"), (worker, "disconnect")]
        before = [getattr(*one) for one in replaced]
        command = services._build_python_executable_command_memory_profileable
        with minimal_nodes(), fast_shutdown():
            assert not any(getattr(*o) is f for o, f in zip(replaced, before, strict=True))
            assert (
                "idle_agent"
                in services._build_python_executable_command_memory_profileable(
                    "runtime_env_agent", ""
                )[-1]
            )
        assert [getattr(*one) for one in replaced] == before
        assert services._build_python_executable_command_memory_profileable is command

    def test_a_node_is_asked_for_once_it_is_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from curator_ray.cluster.minimal import minimal_nodes
        from ray._private import services, state

        class Filling:
            tables = iter([[], [{"NodeID": "other"}], [{"NodeID": "other"}, {"NodeID": "ours"}]])

            def _initialize_global_state(self, options: str) -> None:
                assert options == "options of address"

            def node_table(self) -> list[dict[str, str]]:
                return next(self.tables)

        def found(address: str, node_id: str) -> tuple[str, str]:
            assert next(Filling.tables, None) is None
            return address, node_id

        monkeypatch.setattr(state, "GlobalState", Filling)
        monkeypatch.setattr(services, "_get_gcs_client_options", lambda a: f"options of {a}")
        monkeypatch.setattr(services, "get_node", found)
        with minimal_nodes():
            assert services.get_node("address", "ours") == ("address", "ours")

    def test_nothing_is_waited_for_that_would_not_come_any_more(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from curator_ray.cluster.minimal import fast_shutdown
        from ray._private import worker

        done: list[str] = []

        class Head:
            def kill_gcs_server(self, *, check_alive: bool) -> None:
                done.append(f"middle ended, {check_alive}")

        monkeypatch.setattr(worker, "disconnect", lambda exiting: done.append(f"left {exiting}"))
        monkeypatch.setattr(worker, "_global_node", Head())
        with fast_shutdown():
            worker.disconnect(False)
        assert done == ["left False", "middle ended, False"]
