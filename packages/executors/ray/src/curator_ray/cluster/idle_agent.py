"""Takes the place of an agent of Ray's raylet until the agent is needed. Run as a script.

The raylet waits until its two agents have reported their ports, and they spend most of a second on
imports before that. The dashboard's agent is not needed without a dashboard. The other one is
needed as soon as a worker has a `runtime_env`: a client that connects to its port starts the real
agent, and reconnects. This script imports next to nothing, and nothing of ours.
"""

import os
import select
import socket
import sys

_CHECK_EVERY_S = 1.0
_UNUSED_PORTS = ("dashboard_agent_listen_port", "metrics_agent_port", "metrics_export_port")
_PORT = "--runtime-env-agent-port"


def main(command: list[str]) -> None:
    """Wait, then become the agent. `command` is its script and arguments."""
    options = dict(part.split("=", 1) for part in command[1:] if "=" in part)
    if _PORT not in options:
        for name in _UNUSED_PORTS:
            _report_port(options, name, -1)
        _wait([])
        return
    listener = socket.create_server((options["--node-ip-address"], int(options[_PORT])))
    port = listener.getsockname()[1]
    _report_port(options, "runtime_env_agent_port", port)
    if _wait([listener]):
        _keep_port(listener)
        others = [part for part in command if not part.startswith(f"{_PORT}=")]
        os.execv(sys.executable, [sys.executable, *others, f"{_PORT}={port}"])


def _keep_port(listener: socket.socket) -> None:
    """Keep other programs from taking the port while the agent imports its modules.

    Without its port the agent could not start, and the raylet and the driver would end with it. On
    Linux a port that is bound but not listened on can be bound again with SO_REUSEADDR.
    """
    address = listener.getsockname()
    listener.close()
    if sys.platform == "linux":
        keeper = socket.socket()
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        keeper.bind(address)
        os.set_inheritable(keeper.detach(), True)


def _report_port(options: dict[str, str], name: str, port: int) -> None:
    """Write the file that the raylet waits for. It must never be seen half written."""
    path = os.path.join(options["--session-dir"], f"{name}_{options['--node-id']}")
    with open(f"{path}.new", "w") as file:
        file.write(str(port))
    os.replace(f"{path}.new", path)


def _wait(listeners: list[socket.socket]) -> bool:
    """Wait until something connects (True), or the raylet has ended."""
    raylet = os.getppid()
    while os.getppid() == raylet:
        if select.select(listeners, [], [], _CHECK_EVERY_S)[0]:
            return True
    return False


if __name__ == "__main__":
    main(sys.argv[1:])
