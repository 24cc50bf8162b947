"""Worker process, as its parent sees it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import deque
from contextlib import suppress
from multiprocessing.connection import Pipe, wait
from typing import Any

from curator_core.local.ipc import End, Frames, SetUp, Work, packed_work, send, unpacked
from curator_core.local.machine import available_cpus
from curator_core.local.memory_kills import MemoryKills
from curator_core.local.shared_status import Board
from curator_core.local.watchdog import Guard

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from curator_core.local.process import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)
PATIENCE_S = 5.0
"""How long a worker may take to tear down before it is killed."""

ROOM_IN_PIPE = 32 * 1024
"""Bytes a pipe holds for a worker that does not read: well below every system's limit."""


class Child:
    """One worker process: its pipe, its shared status, and the work it has been given."""

    def __init__(self, worker_id: str, siblings: int, guard: Guard, gpus: str | None) -> None:
        self.worker_id = worker_id
        self.board = Board.create()
        self.connection, theirs = Pipe()
        self._frames = Frames(self.connection.fileno())
        self.given: deque[Work] = deque()
        self.is_ready = False
        self.is_gone = False
        self.verdict = ""
        """Why it was killed, if it did not die by itself."""
        self.busy_since = 0.0
        self.last_work_s = 1.0
        self._told = 0
        self._guard = guard
        handles = (theirs.fileno(), self.board.handle)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps(sys.path), *map(str, handles)],
            pass_fds=handles,
            stdin=subprocess.DEVNULL,
            env=_environment(siblings, gpus) | guard.environment,
            start_new_session=True,
        )
        guard.watch(self.process.pid)
        theirs.close()

    @property
    def state(self) -> str:
        if not self.is_ready:
            return "starting"
        return "busy" if self.given else "idle"

    def tell(self, message: Any) -> None:
        """Send a message. The death of a worker is noticed later, when its answer is read."""
        with suppress(BrokenPipeError, ConnectionResetError):
            send(self.connection, message)

    def tell_packed(self, message: bytes) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send_bytes(message)

    def give(self, work: Work) -> None:
        if not self.given:
            self.busy_since = time.monotonic()
        self.given.append(work)
        self._tell_work()

    def set_up(self) -> None:
        self.tell(SetUp())

    def ready(self) -> None:
        """Mark the worker as set up, and send it the work assigned meanwhile."""
        self.is_ready = True
        self._tell_work()

    def finished(self) -> Work:
        """Mark the oldest work as done and return it."""
        now = time.monotonic()
        self.last_work_s, self.busy_since = now - self.busy_since, now
        self._told -= 1
        work = self.given.popleft()
        self._tell_work()
        return work

    def _tell_work(self) -> None:
        """Send work, but to a busy worker only as much as the pipe can hold.

        Otherwise parent and worker could block forever, each waiting for the other to read.
        """
        while self.is_ready and self._told < len(self.given):
            message = packed_work(self.given[self._told])
            if self._told and len(message) > ROOM_IN_PIPE:
                return
            self._told += 1
            self.tell_packed(message)

    def receive(self) -> Any:
        """Return the next message, or None if it is incomplete; raise EOFError at the end."""
        message = self._frames.take()
        return None if message is None else unpacked(message)

    def discard_messages(self) -> None:
        self._frames.discard()

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def ask_to_end(self, *, at_once: bool) -> None:
        if at_once:
            self.board.ask_to_stop()
        self.tell(End())

    def condemn(self, verdict: str) -> None:
        """Kill the worker; messages that it has sent are still read."""
        self.verdict = verdict
        self.kill()

    def kill(self) -> None:
        """Kill the worker and all processes that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def bury(self) -> None:
        self._guard.forget(self.process.pid)
        self._frames.close()
        self.connection.close()
        self.board.close()


KILLED_FROM_OUTSIDE = ("was killed by SIGKILL", "was killed by SIGTERM")
"""Causes of death that may have nothing to do with the worker's task."""


def death_of(child: Child, memory_kills: MemoryKills) -> str:
    """Return the reason of a worker's death, short enough to count by."""
    try:
        code = child.process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:  # it closed its pipe but is alive
        child.kill()
        return "no longer answered"
    if code == -signal.SIGKILL and memory_kills.explain(child.process.pid):
        return "ran out of memory"
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"exited with code {code}"


def _environment(siblings: int, gpus: str | None) -> dict[str, str]:
    """Divide the cores between workers by limiting the threads of libraries."""
    threads = str(max(1, available_cpus() // siblings))
    environment = {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, **os.environ}
    if gpus is not None:
        environment["CUDA_VISIBLE_DEVICES"] = gpus
    return environment


def wait_for_ends(children: list[Child]) -> None:
    """Wait for the workers to tear down; kill those that take too long."""
    deadline = time.monotonic() + PATIENCE_S
    leaving = list(children)
    try:
        while leaving and time.monotonic() < deadline:
            _discard_messages(leaving)
            leaving = [child for child in leaving if child.is_alive]
    finally:  # also on another Ctrl-C
        for child in children:
            child.kill()
            child.bury()


def _discard_messages(children: list[Child]) -> None:
    """Read and discard messages, or workers would block forever on a full pipe."""
    spoke = wait([child.connection for child in children], 0.02)
    for child in (child for child in children if child.connection in spoke):
        try:
            child.discard_messages()
        except (EOFError, OSError):
            time.sleep(0.002)  # closed: the process is about to exit
