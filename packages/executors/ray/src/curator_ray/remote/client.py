"""Have a process on the cluster drive a run, because only Ray's client (ray://) reaches it."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from curator_core import AnyTask, ErrorPolicy, Plan
from curator_core.errors import reason_of
from curator_core.model.crash_attribution import Blame
from curator_core.model.reports import CallReport, Keys
from curator_core.model.snapshot import ExecutorState

from curator_ray.cluster.settings import ignore_warnings
from curator_ray.cluster.survey import Survey
from curator_ray.errors import ClusterError
from curator_ray.remote.driver import RemoteDriver, missing_package_error
from curator_ray.remote.messages import (
    Drive,
    DriverJob,
    DriverMessage,
    RunMessage,
    SourceKeys,
    dumps,
    loads,
)
from curator_ray.transfer.modules import PlanPacker, search_path

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

    from curator_ray.cluster.connection import Connection

_HEAD = {"node:__internal_head__": 0.001}
"""The node of the client's server: if it is lost, so is the connection."""

_ABORT_TIMEOUT_S = 45.0
"""How long a driver may take to end once it was asked to abort."""

_GRACE_S = 5.0
_SEND_EVERY_S = 0.5
"""While the latest outputs wait to be consumed."""

_SEND_BYTES = 8 << 20
_LIST_SOURCES_S = 0.03
_ALWAYS_HANDLED = ("log", "worker_output", "event", "executor_state", "end")
"""The messages of a driver that are still handled once it was asked to abort."""

_CHECK_EVERY_S = 0.1


def drive_remotely(
    connection: "Connection", drive: Drive, plan: Plan, run: "RemoteRun"
) -> Iterator[AnyTask]:
    """Yield the outputs of `drive(plan, run)`, called in a process on the cluster."""
    run.events.emit("connected", how=connection.kind, address=connection.address)
    Survey(connection)  # raises if versions differ
    packer = PlanPacker(send_modules=True)
    try:
        yield from _RemoteRun(connection.address, drive, plan, run, packer).outputs()
    finally:
        packer.close()


class _RemoteRun:
    """A run and its remote driver. A thread talks to the driver, however slow the consumer is.

    Messages of the driver are handled in order: what follows an output takes effect only when the
    consumer has taken that output.
    """

    def __init__(
        self, address: str, drive: Drive, plan: Plan, run: "RemoteRun", packer: PlanPacker
    ) -> None:
        self._queue = ReceivedOutputs()
        self._address = address
        self._run = run
        self._packer = packer
        packer.pack(plan)
        first = run.worker_stages[0].index
        self._job = dumps(DriverJob(drive, plan, run.token, first))
        self._sources = run.sources()
        self._has_all = False
        self._wanted = 0
        self._answers: list[Any] = []
        self._state = ExecutorState()
        self._next_message = 0.0
        self._failure: BaseException | None = None
        self._aborting_since: float | None = None
        self._has_ended = False
        self._actor: Any = None
        self._thread = threading.Thread(target=self._work, name="curator-remote-run", daemon=True)
        self._handlers: dict[str, Callable[..., None]] = {
            "emit": self._emit,
            "add_output": self._add_output,
            "credit": run.credit,
            "apply_report": self._apply_report,
            "restart_source": self._restart_source,
            "take_mixed_sources": self._take_mixed_sources,
            "fail_source": self._fail_source,
            "record_worker_loss": run.record_worker_loss,
            "worker_output": run.add_worker_output,
            "event": lambda kind, facts: run.events.emit(kind, **facts),
            "executor_state": self._set_state,
            "log": lambda name, level, text: logging.getLogger(name).log(level, "%s", text),
            "end": self._end,
        }

    def outputs(self) -> Iterator[AnyTask]:
        self._start()
        is_complete = False
        try:
            yield from self._queue
            is_complete = True
        finally:
            if not is_complete:
                self._abort()
            self._thread.join(None if is_complete else _ABORT_TIMEOUT_S + _GRACE_S)

    def _start(self) -> None:
        import ray

        level = logging.getLogger("curator_core").getEffectiveLevel()
        actor = ray.remote(RemoteDriver).options(num_cpus=0, resources=_HEAD, max_concurrency=4)
        try:
            self._actor = actor.remote(self._job, search_path(), level)
        except ImportError as error:
            raise missing_package_error(error) from error
        self._run.executor_state = lambda: self._state
        self._thread.start()

    # On the thread

    def _work(self) -> None:
        import ray

        failure: BaseException | None = None
        try:
            with ignore_warnings(r"ray\.util\.client"):  # about many messages, however small
                while not self._has_ended:
                    self._exchange()
        except (ray.exceptions.RayError, ConnectionError) as error:
            failure = self._connection_error(error)
        except BaseException as error:  # noqa: BLE001 - raised on the consumer's thread
            failure = error
        with suppress(ray.exceptions.RayError, ConnectionError):
            ray.kill(self._actor)
        self._queue.end(self._failure or failure)

    def _exchange(self) -> None:
        import ray

        self._wanted, pickled = ray.get(self._actor.exchange.remote(self._next()))
        for message in loads(pickled):
            self._handle(message)
        self._tick()
        since = self._aborting_since
        self._has_ended |= since is not None and time.monotonic() - since > _ABORT_TIMEOUT_S

    def _handle(self, message: DriverMessage) -> None:
        if self._aborting_since is not None and message.kind not in _ALWAYS_HANDLED:
            return
        try:
            self._handlers[message.kind](*message.args)
        except BaseException as error:  # noqa: BLE001 - raised when the driver has ended
            self._fail(error)

    def _tick(self) -> None:
        try:
            self._run.tick()
        except BaseException as error:  # noqa: BLE001 - as above
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self._abort()

    def _abort(self) -> None:
        if self._aborting_since is None:
            self._aborting_since = time.monotonic()
        self._queue.close()

    def _connection_error(self, error: Exception) -> ClusterError:
        return ClusterError(
            f"lost the connection to {self._address}, or the driver of the run died there "
            f"({reason_of(error)}); finished work is kept: run the same command to resume"
        )

    # Messages for the driver

    def _next(self) -> bytes:
        try:
            sources = dumps(self._next_sources())
        except BaseException as error:  # noqa: BLE001 - from listing, or from pickling a task
            self._fail(error)
            sources = dumps([])
        stopping = self._run.stopping
        answers, self._answers = self._answers, []
        self._next_message = time.monotonic() + _SEND_EVERY_S
        message = RunMessage(
            (stopping.reason, stopping.signal_number) if stopping.is_requested else None,
            self._aborting_since is not None,
            sources,
            self._has_all,
            answers,
        )
        return dumps(message)

    def _next_sources(self) -> list[tuple[AnyTask, Blame | None]]:
        found: list[tuple[AnyTask, Blame | None]] = []
        nbytes, deadline = 0, time.monotonic() + _LIST_SOURCES_S
        while len(found) < self._wanted and nbytes < _SEND_BYTES and time.monotonic() < deadline:
            task = None if self._aborting_since else next(self._sources, None)
            if task is None:
                self._has_all = True
                break
            self._packer.add_task_type(type(task))
            found.append((task, self._run.earlier_blame(task)))
            nbytes += task.num_bytes
        return found

    # Messages of the driver

    def _emit(self, outputs: list[AnyTask]) -> None:
        self._put([one for output in outputs for one in self._run.emit(output)])

    def _add_output(self, outputs: list[AnyTask]) -> None:
        self._put([one for output in outputs for one in self._run.add_output(output)])

    def _apply_report(self, report: CallReport, keys: Keys) -> None:
        self._put(self._run.apply_report(report, [cast(AnyTask, SourceKeys(keys))]))

    def _put(self, outputs: Sequence[AnyTask]) -> None:
        if outputs:
            self._queue.put(outputs, self._keep_in_touch)

    def _keep_in_touch(self) -> None:
        """Send sources while outputs wait, and show the driver that the user is still there."""
        import ray

        self._tick()
        if time.monotonic() >= self._next_message:
            try:
                self._wanted = ray.get(self._actor.receive.remote(self._next()))
            except (ray.exceptions.RayError, ConnectionError) as error:
                raise self._connection_error(error) from error

    def _restart_source(self, source_id: str, reason: str) -> None:
        self._answers.append(self._run.restart_source(source_id, reason))

    def _take_mixed_sources(self) -> None:
        self._answers.append(self._run.take_mixed_sources())

    def _fail_source(self, source_id: str, reason: str, stage: int, policy: ErrorPolicy) -> None:
        planned = replace(self._run.plan.stages[stage], policy=policy)
        self._put(self._run.fail_source(source_id, reason, planned))

    def _set_state(self, state: ExecutorState) -> None:
        self._state = state

    def _end(self, error: BaseException | None, notes: list[str]) -> None:
        self._has_ended = True
        self._run.result.notes += notes
        self._failure = self._failure or error


class ReceivedOutputs:
    """Passes outputs from one thread to another. The producer waits until they were taken."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._outputs: Sequence[AnyTask] = ()
        self._is_closed = self._has_ended = False
        self._error: BaseException | None = None

    # For the producer

    def put(self, outputs: Sequence[AnyTask], meanwhile: Callable[[], None]) -> bool:
        """Return whether all of them were taken; call `meanwhile` again and again until then."""
        with self._changed:
            self._outputs = outputs
            self._changed.notify_all()
        while self._outputs and not self._is_closed:
            with self._changed:
                self._changed.wait_for(lambda: not self._outputs or self._is_closed, _CHECK_EVERY_S)
            if self._outputs:
                meanwhile()
        return not self._outputs

    def end(self, error: BaseException | None) -> None:
        """End the iteration; raise `error` there if it is given."""
        with self._changed:
            self._has_ended, self._error = True, error
            self._changed.notify_all()

    # For the consumer

    def __iter__(self) -> Iterator[AnyTask]:
        while self._has_more():
            yield from self._outputs
            with self._changed:
                self._outputs = ()
                self._changed.notify_all()

    def close(self) -> None:
        """Take no more."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _has_more(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._outputs or self._has_ended)
            if not self._outputs and self._error is not None:
                raise self._error
            return bool(self._outputs)
