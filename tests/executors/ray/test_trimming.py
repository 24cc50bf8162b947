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
        assert not {"log_monitor.py", "dashboard.py", "agent.py", "main.py"}.intersection(before)
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
        from ray._private import services
        from ray._private.node import Node

        names = ("start_log_monitor", "start_api_server", "kill_all_processes")
        before = [getattr(Node, name) for name in names]
        command = services._build_python_executable_command_memory_profileable
        with trimmed(Stem("unused")), ended_at_once():
            assert not any(getattr(Node, n) is f for n, f in zip(names, before, strict=True))
            assert (
                "sleeping"
                in services._build_python_executable_command_memory_profileable(
                    "runtime_env_agent", ""
                )[-1]
            )
        assert [getattr(Node, name) for name in names] == before
        assert services._build_python_executable_command_memory_profileable is command
