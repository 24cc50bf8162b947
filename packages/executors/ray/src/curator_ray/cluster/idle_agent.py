"""What stands in for the agents of Ray's raylet until somebody needs them. Run as a script.

A raylet waits until both of its agents have said which ports they listen on, and they spend the
better part of a second on imports first. One has nothing to do where there is no dashboard. The
other is needed as soon as a worker wants a `runtime_env`: whoever knocks at its port wakes it,
and knocks again. So this imports next to nothing, and nothing of ours.
"""

import os
import select
import socket
import sys

_LOOK_EVERY_S = 1.0
_UNUSED = ("dashboard_agent_listen_port", "metrics_agent_port", "metrics_export_port")
_PORT = "--runtime-env-agent-port"


def main(command: list[str]) -> None:
    """`command` is the script of the agent, and what it would have been told."""
    told = dict(part.split("=", 1) for part in command[1:] if "=" in part)
    if _PORT not in told:
        for name in _UNUSED:
            _say(told, name, -1)
        _sleep([])
        return
    listener = socket.create_server((told["--node-ip-address"], int(told[_PORT])))
    port = listener.getsockname()[1]
    _say(told, "runtime_env_agent_port", port)
    if _sleep([listener]):
        _keep(listener)
        others = [part for part in command if not part.startswith(f"{_PORT}=")]
        os.execv(sys.executable, [sys.executable, *others, f"{_PORT}={port}"])


def _keep(listener: socket.socket) -> None:
    """See to it that nobody gets the port while the agent imports what it needs.

    It could not come up then, and the raylet, and the driver, would end with it. On Linux a port
    that is bound but not listened at may be bound once more, by who says that this is well.
    """
    address = listener.getsockname()
    listener.close()
    if sys.platform == "linux":
        held = socket.socket()
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(address)
        os.set_inheritable(held.detach(), True)


def _say(told: dict[str, str], name: str, port: int) -> None:
    """Where the raylet looks for it; whole, as soon as it is there."""
    path = os.path.join(told["--session-dir"], f"{name}_{told['--node-id']}")
    with open(f"{path}.new", "w") as file:
        file.write(str(port))
    os.replace(f"{path}.new", path)


def _sleep(listeners: list[socket.socket]) -> bool:
    """Until somebody knocks (True), or the raylet is gone."""
    raylet = os.getppid()
    while os.getppid() == raylet:
        if select.select(listeners, [], [], _LOOK_EVERY_S)[0]:
            return True
    return False


if __name__ == "__main__":
    main(sys.argv[1:])
