"""A private cluster has no process that is not needed, and wakes those that are."""

import json
import socket
import sys
from typing import Any

import pytest
from curator_ray import compat
from curator_ray.cluster.minimal import fast_shutdown, minimal_nodes

pytest.importorskip("ray")

DRIVER = """
import json, os, psutil, ray
from curator_ray.cluster.connection import connected
from curator_ray.cluster.private import PrivateCluster

def running():
    # Only Python processes. The raylet has scripts too, but inside of one long argument.
    commands = [p.cmdline() for p in psutil.Process().children(recursive=True)]
    scripts = [next((part for part in line if part.endswith(".py")), "") for line in commands]
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
        ray.get(task.options(runtime_env=env).remote(), timeout=180),
    ]))
"""


class TestMinimalNodes:
    def test_agents_are_idle_until_a_worker_needs_a_runtime_env(self, script: Any) -> None:
        output, errors = script(DRIVER).communicate(timeout=180)
        assert errors == ""
        before, plain, flavoured = json.loads(output)
        assert before.count("idle_agent.py") == 2
        unneeded = {"monitor.py", "log_monitor.py", "dashboard.py", "agent.py", "main.py"}
        assert not unneeded.intersection(before)
        assert (plain, flavoured) == (None, "plum")

    def test_ray_is_restored_afterwards(self) -> None:
        names = (
            compat.LOG_MONITOR,
            compat.MONITOR,
            compat.API_SERVER,
            compat.AGENT_COMMAND,
            compat.KILL_PROCESSES,
        )
        before = [name.get() for name in names]
        with minimal_nodes(), fast_shutdown():
            assert not any(name.get() is one for name, one in zip(names, before, strict=True))
            command = compat.AGENT_COMMAND.get()("runtime_env_agent", "")
            assert command[-1].endswith("idle_agent.py")
        assert [name.get() for name in names] == before


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a port cannot be kept this way")
def test_no_other_program_gets_the_port_of_an_agent_that_wakes() -> None:
    from curator_ray.cluster.idle_agent import _keep_port

    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    _keep_port(listener)

    with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
        stranger.bind(("127.0.0.1", port))
    with socket.socket() as agent:
        agent.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        agent.bind(("127.0.0.1", port))
        agent.listen()
        socket.create_connection(("127.0.0.1", port), 5).close()
