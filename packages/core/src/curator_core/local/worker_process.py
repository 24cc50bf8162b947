"""Worker process, as its parent sees it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Pipe, wait
from typing import Any, Self

from curator_core.local.ipc import End, EndPlan, Frames, Idle, SetUp, Work, pack_work, send, unpack
from curator_core.local.memory_kills import MemoryKills
from curator_core.local.shared_status import SharedStatus
from curator_core.local.watchdog import Watchdog
from curator_core.model.hardware import available_cpus

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from curator_core.local.worker_main import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)
TEARDOWN_S = 5.0
"""How long a worker may take to tear down before it is killed."""

ROOM_IN_PIPE = 32 * 1024
"""Bytes a pipe holds for a worker that does not read: well below every system's limit."""


@dataclass(frozen=True)
class ProcessSettings:
    """What a worker process inherits when it starts."""

    environment: dict[str, str]
    gpus: str | None
    path: list[str]
    folder: tuple[int, int]
    """Device and inode of the current folder, which may have been removed."""

    @classmethod
    def current(cls, siblings: int, gpus: str | None) -> Self:
        """Return the settings for one of several workers, which share the cores."""
        threads = str(max(1, available_cpus() // siblings))
        limits = {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        folder = os.stat(".")
        variables = {**limits, **os.environ}
        return cls(variables, gpus, list(sys.path), (folder.st_dev, folder.st_ino))

    @property
    def variables(self) -> dict[str, str]:
        gpus = {} if self.gpus is None else {"CUDA_VISIBLE_DEVICES": self.gpus}
        return self.environment | gpus


class WorkerProcess:
    """One worker process: its pipe, its shared status, and the work it has been given."""

    def __init__(self, worker_id: str, settings: ProcessSettings, watchdog: Watchdog) -> None:
        self.settings = settings
        self.status = SharedStatus.create()
        self.connection, theirs = Pipe()
        self._frames = Frames(self.connection.fileno())
        self._watchdog = watchdog
        self.prepare(worker_id)
        handles = (theirs.fileno(), self.status.handle)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps(settings.path), *map(str, handles)],
            pass_fds=handles,
            stdin=subprocess.DEVNULL,
            env=settings.variables | watchdog.environment,
            start_new_session=True,
        )
        watchdog.watch(self.process.pid)
        theirs.close()

    def prepare(self, worker_id: str) -> None:
        """Prepare for a plan, which the caller sends."""
        self.worker_id = worker_id
        self.status.reset()
        self.assigned: deque[Work] = deque()
        self.is_ready = False
        self.is_idle = False
        """Whether it waits for another plan."""
        self.has_hung_up = False
        self.kill_reason = ""
        """Why it was killed, if it did not die by itself."""
        self.busy_since = 0.0
        self.last_work_s = 1.0
        self._sent = 0

    @property
    def state(self) -> str:
        if not self.is_ready:
            return "starting"
        return "busy" if self.assigned else "idle"

    def send(self, message: Any) -> None:
        """Send a message. The death of a worker is noticed later, when its answer is read."""
        with suppress(BrokenPipeError, ConnectionResetError):
            send(self.connection, message)

    def send_packed(self, message: bytes) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send_bytes(message)

    def assign(self, work: Work) -> None:
        if not self.assigned:
            self.busy_since = time.monotonic()
        self.assigned.append(work)
        self._send_work()

    def set_up(self) -> None:
        self.send(SetUp())

    def mark_ready(self) -> None:
        """Mark the worker as set up, and send it the work assigned meanwhile."""
        self.is_ready = True
        self._send_work()

    def finish_oldest(self) -> Work:
        """Mark the oldest work as done and return it."""
        now = time.monotonic()
        self.last_work_s, self.busy_since = now - self.busy_since, now
        self._sent -= 1
        work = self.assigned.popleft()
        self._send_work()
        return work

    def _send_work(self) -> None:
        """Send work, but to a busy worker only as much as the pipe can hold.

        Otherwise parent and worker could block forever, each waiting for the other to read.
        """
        while self.is_ready and self._sent < len(self.assigned):
            message = pack_work(self.assigned[self._sent])
            if self._sent and len(message) > ROOM_IN_PIPE:
                return
            self._sent += 1
            self.send_packed(message)

    def receive(self) -> Any:
        """Return the next message, or None if it is incomplete; raise EOFError at the end."""
        message = self._frames.take()
        return None if message is None else unpack(message)

    def discard_messages(self) -> None:
        self._frames.discard()

    def receive_idle(self) -> None:
        """Read messages, and notice whether the worker waits for another plan."""
        while not self.is_idle and (message := self.receive()) is not None:
            self.is_idle = isinstance(message, Idle)

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    @property
    def can_take_plan(self) -> bool:
        """Whether it is idle and did not die meanwhile."""
        return self.is_idle and self.is_alive and not self.connection.poll()

    def request_idle(self) -> None:
        """Ask it to tear down and to wait for another plan."""
        self.send(EndPlan())

    def request_end(self, *, at_once: bool) -> None:
        self.is_idle = False
        if at_once:
            self.status.request_stop()
        self.send(End())

    def kill_because(self, kill_reason: str) -> None:
        """Kill the worker; messages that it has sent are still read."""
        self.kill_reason = kill_reason
        self.kill()

    def kill(self) -> None:
        """Kill the worker and all processes that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        self._watchdog.forget(self.process.pid)
        self._frames.close()
        self.connection.close()
        self.status.close()


KILLED_FROM_OUTSIDE = ("was killed by SIGKILL", "was killed by SIGTERM")
"""Causes of death that may have nothing to do with the worker's task."""


def death_reason(worker: WorkerProcess, memory_kills: MemoryKills) -> str:
    """Return the reason of a worker's death, short enough to count by."""
    try:
        code = worker.process.wait(TEARDOWN_S)
    except subprocess.TimeoutExpired:  # it closed its pipe but is alive
        worker.kill()
        return "no longer answered"
    if code == -signal.SIGKILL and memory_kills.explain(worker.process.pid):
        return "ran out of memory"
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"exited with code {code}"


def end_plan(
    workers: Sequence[WorkerProcess], *, at_once: bool = False, keep: bool = False
) -> list[WorkerProcess]:
    """Have the workers tear down, and return those that wait for another plan, if `keep` is set.

    All others exit. Those that take too long are killed.
    """
    deadline = time.monotonic() + TEARDOWN_S
    read = WorkerProcess.receive_idle if keep else WorkerProcess.discard_messages
    leaving, kept = list(workers), []
    try:
        for worker in workers:
            if keep:
                worker.request_idle()
            else:
                worker.request_end(at_once=at_once)
        while leaving and time.monotonic() < deadline:
            _read(leaving, read)
            leaving = [worker for worker in leaving if worker.is_alive and not worker.is_idle]
        kept = [worker for worker in workers if worker.is_idle]
    finally:  # also on another Ctrl-C
        for worker in workers:
            if worker not in kept:
                worker.kill()
                worker.close()
    return kept


def _read(workers: list[WorkerProcess], read: Callable[[WorkerProcess], None]) -> None:
    """Read messages, or workers would block forever on a full pipe."""
    spoke = wait([worker.connection for worker in workers], 0.02)
    for worker in (worker for worker in workers if worker.connection in spoke):
        try:
            read(worker)
        except (EOFError, OSError):
            time.sleep(0.002)  # closed: the process is about to exit
