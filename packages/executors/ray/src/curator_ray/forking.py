"""Forking: the process of a private cluster that its workers are forks of. Run as a script.

A worker of Ray spends ten times as long on imports as on all else before its first call. This one
has done with them: it waits for `asking` to name a worker that is wanted, and lets a fork be it.
"""

import gc
import marshal
import os
import runpy
import select
import signal
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

_LARGEST = 1 << 20
_MOST_FILES = 32
_STANDARD = 3
"""Files below it are stdin, stdout and stderr."""


def main(path: str, *modules: str) -> None:
    """Listens at `path` for as long as whoever started it keeps the other end of stdin open.

    The modules are imported too, where they are installed.
    """
    # Workers look whether their raylet lives. These end with this process, and so with the driver.
    os.environ["RAY_RAYLET_PID"] = str(os.getpid())
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen(1024)
        script = _prepare(modules)
        wanted = _wanted(listener) if _drawn() != _drawn() else None
    if wanted is None:
        os._exit(0)  # at once: there is nothing to put in order, and whoever asks does without
    _be(script, *wanted)


def _prepare(modules: Iterable[str]) -> str:
    """Import what every worker needs; says which script of Ray makes a process one."""
    gc.disable()  # hardly anything of this is garbage, and to look for it takes a sixth of the time
    del sys.path[0]  # the folder of this one: its modules are no script's business
    import_module("curator_ray.postponing").import_ray()
    import_module("curator_ray.actors")
    for name in modules:
        with suppress(ImportError):
            import_module(name)
    script = str(Path(import_module("ray._private").__path__[0], "workers", "default_worker.py"))
    runpy.run_path(script, run_name=__name__ + "_rehearsed")  # what it imports is there by then
    gc.freeze()  # so that forks go on sharing the memory
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how they ended
    return script


def _drawn() -> bytes:
    """What a fork draws by lot as an id of Ray.

    All would draw the same if anything had drawn one here before, as the import of ray.data does:
    then there must be no forks.
    """
    reads, writes = os.pipe()
    if os.fork() == 0:
        os.write(writes, import_module("ray._raylet").UniqueID.from_random().binary())
        os._exit(0)
    os.close(writes)
    with open(reads, "rb") as file:
        return file.read()


def _wanted(listener: socket.socket) -> tuple[Any, list[int]] | None:
    """In a fork, what it is to be; in this process, once all is over, nothing."""
    for asker, message, files in _asked(listener):
        if os.fork() == 0:
            return marshal.loads(message), files  # noqa: S302 - nobody else gets at the socket
        asker.send(b"forked")
    return None


def _asked(listener: socket.socket) -> Iterator[tuple[socket.socket, bytes, list[int]]]:
    stdin = sys.stdin.fileno()
    while stdin not in select.select([listener, stdin], [], [])[0]:
        asker, _ = listener.accept()
        with asker:
            message, files, _, _ = socket.recv_fds(asker, _LARGEST, _MOST_FILES)
            if message:  # else whoever asked has died
                yield asker, message, files
            for file in files:
                os.close(file)


def _be(script: str, told: dict[str, Any], files: list[int]) -> None:
    """Go on as the process that would have been started."""
    gc.enable()
    os.setpgid(0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    for standard, file in enumerate(files[:_STANDARD]):
        os.dup2(file, standard)
        os.close(file)
    os.chdir(told["folder"])
    os.environ.clear()
    os.environ.update(told["environment"])
    _be_the_first_to_go()
    sys.path.insert(0, str(Path(script).parent))
    sys.argv = [script, *told["arguments"]]
    runpy.run_path(script, run_name="__main__")


def _be_the_first_to_go() -> None:
    """Where memory runs out: as a raylet says of the processes that it starts itself."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


if __name__ == "__main__":
    main(*sys.argv[1:])
