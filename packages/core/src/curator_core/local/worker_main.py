"""Worker process: its main loop."""

import atexit
import gc
import os
import signal
import sys
import threading
import time
from contextlib import closing
from multiprocessing.connection import Connection
from typing import Any

from curator_core.errors import AbortedError, CuratorError, StageError, detail_of, reason_of
from curator_core.execution.telemetry import resident_bytes
from curator_core.execution.worker import StageWorker
from curator_core.local.ipc import (
    Begin,
    End,
    EndPlan,
    Failed,
    Idle,
    Outputs,
    Prepared,
    PrepareNode,
    Ready,
    SetUp,
    Work,
    pack,
    receive,
    send_frame,
    unpack,
)
from curator_core.local.shared_status import SharedStatus
from curator_core.model.tasks import AnyTask

SEND_AFTER_S = 0.01
SEND_AFTER_BYTES = 1 << 20
SEND_COUNTS_EVERY_S = 1.0

MAX_IDLE_BYTES = 1_000_000_000
"""A worker that has more than this in memory after a plan is replaced by a new process."""


def main(connection_handle: int, status_handle: int) -> None:
    """Serve one plan after the other, until the parent ends this worker or dies."""
    for handle in (connection_handle, status_handle):
        os.set_inheritable(handle, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    connection = Connection(connection_handle)
    status = SharedStatus(status_handle)
    settings = _process_settings()
    try:
        while _serve_plan(connection, status) and _can_serve_another(settings):
            _send(connection, Idle())
            _release_memory()  # while the parent finishes the run
    except (EOFError, BrokenPipeError, ConnectionResetError):
        sys.exit(1)
    _exit_now()


def _exit_now() -> None:
    """Exit right after cleanup: the normal shutdown of large libraries is slow and useless."""
    if any(not thread.daemon for thread in _other_threads()):
        return  # let Python wait for them
    try:
        atexit._run_exitfuncs()  # noqa: SLF001 - the useful part of Python's shutdown
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


def _process_settings() -> tuple[object, ...]:
    folder = os.stat(".")
    return dict(os.environ), list(sys.path), folder.st_dev, folder.st_ino


def _can_serve_another(settings_at_start: tuple[object, ...]) -> bool:
    """Return whether nothing that the last plan left affects the next one."""
    sys.stdout.flush()
    sys.stderr.flush()
    _forget_listings()
    if resident_bytes() >= MAX_IDLE_BYTES:
        _release_memory()
    return (
        resident_bytes() < MAX_IDLE_BYTES
        and all(thread.daemon for thread in _other_threads())
        and not _has_children()
        and not _uses_gpu()
        and _process_settings() == settings_at_start
    )


def _release_memory() -> None:
    """Free the stages of the last plan, which were frozen, and what pyarrow keeps for later."""
    gc.unfreeze()
    gc.collect()
    if (pyarrow := sys.modules.get("pyarrow")) is not None:
        pyarrow.default_memory_pool().release_unused()


def _other_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread is not threading.main_thread()]


def _has_children() -> bool:
    """Whether a process that a stage started still runs."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _uses_gpu() -> bool:
    """Whether torch holds a GPU. It keeps memory there until the process ends."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda is not None and bool(cuda.is_initialized())


def _forget_listings() -> None:
    """Forget the folders that object stores listed: other processes will have changed them."""
    fsspec = sys.modules.get("fsspec.spec")
    if fsspec is not None:
        kinds = [fsspec.AbstractFileSystem]
        for kind in kinds:
            kind.clear_instance_cache()
            kinds += kind.__subclasses__()


def _serve_plan(connection: Connection, status: SharedStatus) -> bool:
    """Serve one plan; return whether it ended well and another one may follow."""
    gc.disable()  # imported objects stay: collecting during imports is useless
    begin = _first_message(connection)
    if begin is None:
        return False
    stages = [step for step in begin.plan.steps if step.index in begin.stage_indices]
    worker = StageWorker(begin.plan, begin.info, stages, status)
    try:
        while not isinstance(message := receive(connection), End | EndPlan):
            if isinstance(message, PrepareNode):
                worker.setup_on_node()
                _send(connection, Prepared())
            elif isinstance(message, SetUp):
                worker.setup()
                gc.freeze()
                gc.enable()
                _send(connection, Ready())
            elif isinstance(message, Work):
                _work(worker, connection, message)
        return isinstance(message, EndPlan)
    except CuratorError as error:
        worker.teardown()
        _send(connection, Failed(error))
    except AbortedError:
        pass
    finally:
        worker.teardown()
    return False


def _first_message(connection: Connection) -> Begin | None:
    """Return the first message about a plan.

    Return None if there is no plan, or if it cannot be unpickled and the parent was informed.
    """
    raw = connection.recv_bytes()
    try:
        first: Begin | End = unpack(raw)
    except Exception as error:  # noqa: BLE001 - unpickling runs a user's imports
        message = f"a worker process could not load the pipeline: {reason_of(error)}"
        _send(connection, Failed(StageError(message, detail=detail_of(error))))
        return None
    return None if isinstance(first, End) else first


def _work(worker: StageWorker, connection: Connection, work: Work) -> None:
    call = worker.call([work.source], work.blame)
    waiting: list[AnyTask] = []
    size = 0
    counts_sent_at = time.monotonic()
    sent = 0.0  # send the first output without delay
    with closing(call.outputs()) as outputs:
        for output in outputs:
            waiting.append(output)
            size += output.num_bytes
            now = time.monotonic()
            if now - sent > SEND_AFTER_S or size > SEND_AFTER_BYTES:
                counts = call.report.counts if now - counts_sent_at > SEND_COUNTS_EVERY_S else None
                counts_sent_at = now if counts else counts_sent_at
                _send_outputs(worker, connection, Outputs(waiting, counts=counts))
                waiting, size, sent = [], 0, now
    _send_outputs(worker, connection, Outputs(waiting, call.report))


def _send_outputs(worker: StageWorker, connection: Connection, outputs: Outputs) -> None:
    """Send outputs; blame the last stage for outputs that cannot be pickled."""
    try:
        message = pack(outputs)
    except Exception as error:
        name = worker.stages[-1].name
        raise StageError(
            f"stage {name!r} returned a task that cannot leave its worker process, because it "
            f"cannot be pickled ({reason_of(error)}); return plain data, or run with "
            "LocalExecutor(workers=0)",
            stage=name,
        ) from error
    send_frame(connection.fileno(), message)


def _send(connection: Connection, message: Any) -> None:
    send_frame(connection.fileno(), pack(message))
