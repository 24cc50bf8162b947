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
from curator_core.execution.worker import StageWorker
from curator_core.local.ipc import (
    Begin,
    End,
    Failed,
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


def main(connection_handle: int, status_handle: int) -> None:
    """Serve the parent until it ends this worker or dies."""
    gc.disable()  # imported objects stay: collecting during imports is useless
    for handle in (connection_handle, status_handle):
        os.set_inheritable(handle, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    connection = Connection(connection_handle)
    status = SharedStatus(status_handle)
    try:
        _serve(connection, status)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        sys.exit(1)
    _exit_now()


def _exit_now() -> None:
    """Exit right after cleanup: the normal shutdown of large libraries is slow and useless."""
    others = (thread for thread in threading.enumerate() if thread is not threading.main_thread())
    if any(not thread.daemon for thread in others):
        return  # let Python wait for them
    try:
        atexit._run_exitfuncs()  # noqa: SLF001 - the useful part of Python's shutdown
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


def _serve(connection: Connection, status: SharedStatus) -> None:
    begin = _first_message(connection)
    if begin is None:
        return
    stages = [step for step in begin.plan.steps if step.index in begin.stage_indices]
    worker = StageWorker(begin.plan, begin.info, stages, status)
    try:
        while not isinstance(message := receive(connection), End):
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
    except CuratorError as error:
        worker.teardown()
        _send(connection, Failed(error))
    except AbortedError:
        pass
    finally:
        worker.teardown()


def _first_message(connection: Connection) -> Begin | None:
    """Return the first message, or None if it cannot be unpickled and the parent was informed."""
    raw = connection.recv_bytes()
    try:
        begin: Begin = unpack(raw)
    except Exception as error:  # noqa: BLE001 - unpickling runs a user's imports
        message = f"a worker process could not load the pipeline: {reason_of(error)}"
        _send(connection, Failed(StageError(message, detail=detail_of(error))))
        return None
    return begin


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
