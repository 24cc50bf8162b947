"""Asking: what the raylet of a private cluster starts for a worker that it wants. Run as a script.

It asks the process that does nothing but `forking` for one, and has then no more to do. Where there
is none, or where the worker is to have an environment of its own, it becomes what Ray would have
started. So this imports next to nothing, and nothing of ours: not even `socket`, whose imports take
as long as all else.
"""

import _socket
import marshal
import os
import stat
import sys

PLACE = "CURATOR_FORKS"
"""The environment variable that says where to ask."""

_STANDARD = (0, 1, 2)
_INT = 4
"""Bytes of what C calls an int, wherever there is Linux."""

_OF_ITS_OWN = "--serialized-runtime-env-context="
_LANGUAGE = "--language="


def main(arguments: list[str]) -> None:
    """Arguments are those of Ray's script that sets workers up: flags, a script, its arguments."""
    try:
        is_forked = not _is_special(arguments) and _ask(os.environ[PLACE], arguments)
    except (OSError, KeyError):
        is_forked = False
    if not is_forked:
        os.execv(sys.executable, [sys.executable, _script_of_ray(), *arguments])


def _is_special(arguments: list[str]) -> bool:
    return any(part.startswith(_OF_ITS_OWN) for part in arguments) or (
        f"{_LANGUAGE}PYTHON" not in arguments
    )


def _ask(place: str, arguments: list[str]) -> bool:
    script = next(number for number, part in enumerate(arguments) if part.endswith(".py"))
    told = {
        "arguments": [part for part in arguments[script + 1 :] if not part.startswith(_LANGUAGE)],
        "environment": dict(os.environ),
        "folder": os.getcwd(),
    }
    stem = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    try:
        stem.connect(place)
        stem.sendmsg([marshal.dumps(told)], [_handed_over([*_STANDARD, *_pipes()])])
        return bool(stem.recv(16))
    finally:
        stem.close()


def _handed_over(files: list[int]) -> tuple[int, int, bytes]:
    """As `socket.send_fds` does it."""
    numbers = b"".join(number.to_bytes(_INT, sys.byteorder) for number in files)
    return _socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers


def _pipes() -> list[int]:
    """By which the raylet notices that a worker has ended."""
    return [number for number in map(int, os.listdir("/proc/self/fd")) if _is_pipe(number)]


def _is_pipe(number: int) -> bool:
    try:
        return number not in _STANDARD and stat.S_ISFIFO(os.fstat(number).st_mode)
    except OSError:  # the one that the listing itself was read by
        return False


def _script_of_ray() -> str:
    from importlib.util import find_spec
    from pathlib import Path

    ray = find_spec("ray")
    assert ray is not None and ray.origin is not None  # noqa: PT018
    return str(Path(ray.origin).parent / "_private" / "workers" / "setup_worker.py")


if __name__ == "__main__":
    main(sys.argv[1:])
