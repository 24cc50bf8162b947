"""A private cluster has no process that nobody asks, and wakes those that somebody does ask."""

import json
import socket
import sys
from typing import Any

import pytest

DRIVER = """
import json, os, psutil, ray
from curator_ray.connecting import connected
from curator_ray.starting import PrivateCluster

def running():
    # Only Python processes: the raylet tells of scripts too, but within one long argument.
    told = [p.cmdline() for p in psutil.Process().children(recursive=True)]
    scripts = [next((part for part in line if part.endswith(".py")), "") for line in told]
    return sorted(os.path.basename(script) for script in scripts if script)

def flavour():
    return os.environ.get("FLAVOUR")

def imported():
    import sys
    return "requests" in sys.modules

with connected(private=PrivateCluster(cpus=1)):
    before = running()
    task = ray.remote(num_cpus=0)(flavour)
    env = {"env_vars": {"FLAVOUR": "plum"}}
    print(json.dumps([
        before,
        ray.get(task.remote()),
        ray.get(task.options(runtime_env=env).remote(), timeout=60),
        ray.get(ray.remote(num_cpus=0)(imported).remote()),
    ]))
"""


class TestTrimming:
    def test_agents_sleep_until_a_worker_needs_an_environment(self, script: Any) -> None:
        said, complaints = script(DRIVER).communicate(timeout=90)
        assert complaints == ""
        before, plain, flavoured, heavy = json.loads(said)
        assert before.count("sleeping.py") == 2
        unasked = {"monitor.py", "log_monitor.py", "dashboard.py", "agent.py", "main.py"}
        assert not unasked.intersection(before)
        assert (plain, flavoured) == (None, "plum")
        assert not heavy

    @pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a port cannot be held so")
    def test_the_port_of_an_agent_that_wakes_is_nobody_elses(self) -> None:
        from curator_ray.sleeping import _keep

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
        from curator_ray.stems import Stem
        from curator_ray.trimming import ended_at_once, trimmed
        from ray._private import services, worker
        from ray._private.node import Node

        names = ("start_log_monitor", "start_monitor", "start_api_server", "kill_all_processes")
        replaced = [(Node, name) for name in names]
        replaced += [(services, "get_node"), (worker, "disconnect")]
        before = [getattr(*one) for one in replaced]
        command = services._build_python_executable_command_memory_profileable
        with trimmed(Stem("unused")), ended_at_once():
            assert not any(getattr(*o) is f for o, f in zip(replaced, before, strict=True))
            assert (
                "sleeping"
                in services._build_python_executable_command_memory_profileable(
                    "runtime_env_agent", ""
                )[-1]
            )
        assert [getattr(*one) for one in replaced] == before
        assert services._build_python_executable_command_memory_profileable is command

    def test_a_node_is_asked_for_once_it_is_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from curator_ray.stems import Stem
        from curator_ray.trimming import trimmed
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
        with trimmed(Stem("unused")):
            assert services.get_node("address", "ours") == ("address", "ours")

    def test_nothing_is_waited_for_that_would_not_come_any_more(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from curator_ray.trimming import ended_at_once
        from ray._private import worker

        done: list[str] = []

        class Head:
            def kill_gcs_server(self, *, check_alive: bool) -> None:
                done.append(f"middle ended, {check_alive}")

        monkeypatch.setattr(worker, "disconnect", lambda exiting: done.append(f"left {exiting}"))
        monkeypatch.setattr(worker, "_global_node", Head())
        with ended_at_once():
            worker.disconnect(False)
        assert done == ["left False", "middle ended, False"]
