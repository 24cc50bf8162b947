"""A run that a process on the cluster drives, because only Ray's client reaches it."""

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
"""Where the client's server is: one of them is of no use without the other."""

_LAST_PATIENCE_S = 45.0
"""How long a deputy may take to end once it was told to break off."""

_GRACE_S = 5.0
_SPEAK_EVERY_S = 0.5
"""While the outputs that it gave last are not taken yet."""

_AT_ONCE_BYTES = 8 << 20
_AT_ONCE_S = 0.03
_EVER_HEARD = ("log", "worker_output", "tell", "executor_state", "end")
"""What is still heard of a deputy that breaks off."""


def drive_remotely(
    connection: "Connection", drive: Drive, plan: Plan, run: "RemoteRun"
) -> Iterator[AnyTask]:
    """What `drive(plan, run)` gives, as done by a process on the cluster."""
    run.events.emit("connected", how=connection.kind, address=connection.address)
    Survey(connection)  # an error where versions differ
    packer = PlanPacker(send_modules=True)
    try:
        deputized = _RemoteRun(connection.address, drive, plan, run, packer)
        yield from deputized.driven()
    finally:
        packer.close()


class _RemoteRun:
    """One run and its deputy; a thread of its own listens to it, however slowly outputs are taken.

    What the deputy tells is done here in order, one thing after the other: nothing that follows
    an output counts before that was taken.
    """

    def __init__(
        self, address: str, drive: Drive, plan: Plan, run: "RemoteRun", packer: PlanPacker
    ) -> None:
        self._outputs = OutputQueue()
        self._address = address
        self._run = run
        self._packer = packer
        packer.pack(plan)
        first = run.worker_stages[0].index
        self._errand = dumps(DriverJob(drive, plan, run.token, first))
        self._left = run.sources()
        self._has_all = False
        self._wanted = 0
        self._answers: list[Any] = []
        self._shop = ExecutorState()
        self._next_word = 0.0
        self._failure: BaseException | None = None
        self._breaks_off_since: float | None = None
        self._has_ended = False
        self._actor: Any = None
        self._thread = threading.Thread(target=self._work, name="curator-deputizing", daemon=True)
        self._doing: dict[str, Callable[..., None]] = {
            "emit": self._emit,
            "add_output": self._add_output,
            "credit": run.credit,
            "apply_report": self._apply_report,
            "restart_source": self._restart_source,
            "take_mixed_sources": self._take_mixed_sources,
            "fail_source": self._fail_source,
            "record_worker_loss": run.record_worker_loss,
            "worker_output": run.add_worker_output,
            "tell": lambda kind, facts: run.events.emit(kind, **facts),
            "executor_state": self._set_up_shop,
            "log": lambda name, level, text: logging.getLogger(name).log(level, "%s", text),
            "end": self._end,
        }

    def driven(self) -> Iterator[AnyTask]:
        self._begin()
        is_through = False
        try:
            yield from self._outputs
            is_through = True
        finally:
            if not is_through:
                self._break_off()
            self._thread.join(None if is_through else _LAST_PATIENCE_S + _GRACE_S)

    def _begin(self) -> None:
        import ray

        level = logging.getLogger("curator_core").getEffectiveLevel()
        kind = ray.remote(RemoteDriver).options(num_cpus=0, resources=_HEAD, max_concurrency=4)
        try:
            self._actor = kind.remote(self._errand, search_path(), level)
        except ImportError as error:
            raise missing_package_error(error) from error
        self._run.executor_state = lambda: self._shop
        self._thread.start()

    # The thread

    def _work(self) -> None:
        import ray

        failure: BaseException | None = None
        try:
            with ignore_warnings(r"ray\.util\.client"):  # of many messages, however small
                while not self._has_ended:
                    self._listen()
        except (ray.exceptions.RayError, ConnectionError) as error:
            failure = self._explained(error)
        except BaseException as error:  # noqa: BLE001 - it goes to the thread that is to see it
            failure = error
        with suppress(ray.exceptions.RayError, ConnectionError):
            ray.kill(self._actor)
        self._outputs.end(self._failure or failure)

    def _listen(self) -> None:
        import ray

        self._wanted, letter = ray.get(self._actor.exchange.remote(self._word()))
        for note in loads(letter):
            self._do(note)
        self._tick()
        since = self._breaks_off_since
        self._has_ended |= since is not None and time.monotonic() - since > _LAST_PATIENCE_S

    def _do(self, note: DriverMessage) -> None:
        if self._breaks_off_since is not None and note.kind not in _EVER_HEARD:
            return
        try:
            self._doing[note.kind](*note.told)
        except BaseException as error:  # noqa: BLE001 - the deputy is to end, and then it is raised
            self._fail(error)

    def _tick(self) -> None:
        try:
            self._run.tick()
        except BaseException as error:  # noqa: BLE001 - as above
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self._break_off()

    def _break_off(self) -> None:
        if self._breaks_off_since is None:
            self._breaks_off_since = time.monotonic()
        self._outputs.close()

    def _explained(self, error: Exception) -> ClusterError:
        return ClusterError(
            f"the connection to {self._address}, or what drove the run there, broke off "
            f"({reason_of(error)}); what is finished is kept, and the same command does the rest"
        )

    # What is said

    def _word(self) -> bytes:
        try:
            sources = dumps(self._next_sources())
        except BaseException as error:  # noqa: BLE001 - of a listing, or of what a task holds
            self._fail(error)
            sources = dumps([])
        stopping = self._run.stopping
        answers, self._answers = self._answers, []
        self._next_word = time.monotonic() + _SPEAK_EVERY_S
        word = RunMessage(
            (stopping.reason, stopping.signal_number) if stopping.is_requested else None,
            self._breaks_off_since is not None,
            sources,
            self._has_all,
            answers,
        )
        return dumps(word)

    def _next_sources(self) -> list[tuple[AnyTask, Blame | None]]:
        found: list[tuple[AnyTask, Blame | None]] = []
        size, until = 0, time.monotonic() + _AT_ONCE_S
        while len(found) < self._wanted and size < _AT_ONCE_BYTES and time.monotonic() < until:
            task = None if self._breaks_off_since else next(self._left, None)
            if task is None:
                self._has_all = True
                break
            self._packer.add_task_type(type(task))
            found.append((task, self._run.earlier_blame(task)))
            size += task.num_bytes
        return found

    # What is heard

    def _emit(self, outputs: list[AnyTask]) -> None:
        self._give([one for output in outputs for one in self._run.emit(output)])

    def _add_output(self, outputs: list[AnyTask]) -> None:
        self._give([one for output in outputs for one in self._run.add_output(output)])

    def _apply_report(self, report: CallReport, keys: Keys) -> None:
        self._give(self._run.apply_report(report, [cast(AnyTask, SourceKeys(keys))]))

    def _give(self, outputs: Sequence[AnyTask]) -> None:
        if outputs:
            self._outputs.give(outputs, self._keep_in_touch)

    def _keep_in_touch(self) -> None:
        """The deputy is not to run out of sources, and learns that the user is still there."""
        import ray

        self._tick()
        if time.monotonic() >= self._next_word:
            try:
                self._wanted = ray.get(self._actor.heed.remote(self._word()))
            except (ray.exceptions.RayError, ConnectionError) as error:
                raise self._explained(error) from error

    def _restart_source(self, source_id: str, reason: str) -> None:
        self._answers.append(self._run.restart_source(source_id, reason))

    def _take_mixed_sources(self) -> None:
        self._answers.append(self._run.take_mixed_sources())

    def _fail_source(self, source_id: str, reason: str, stage: int, policy: ErrorPolicy) -> None:
        planned = replace(self._run.plan.stages[stage], policy=policy)
        self._give(self._run.fail_source(source_id, reason, planned))

    def _set_up_shop(self, shop: ExecutorState) -> None:
        self._shop = shop

    def _end(self, error: BaseException | None, notes: list[str]) -> None:
        self._has_ended = True
        self._run.result.notes += notes
        self._failure = self._failure or error


_LOOK_EVERY_S = 0.1


class OutputQueue:
    """Whoever gives waits until all was taken: only then may it count as done."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lot: Sequence[AnyTask] = ()
        self._is_closed = self._has_ended = False
        self._error: BaseException | None = None

    # For the one who gives

    def give(self, outputs: Sequence[AnyTask], meanwhile: Callable[[], None]) -> bool:
        """Whether all of them were taken; `meanwhile` is called while they are not."""
        with self._changed:
            self._lot = outputs
            self._changed.notify_all()
        while self._lot and not self._is_closed:
            with self._changed:
                self._changed.wait_for(lambda: not self._lot or self._is_closed, _LOOK_EVERY_S)
            if self._lot:
                meanwhile()
        return not self._lot

    def end(self, error: BaseException | None) -> None:
        """Nothing more will come; `error` is raised for whoever takes the outputs."""
        with self._changed:
            self._has_ended, self._error = True, error
            self._changed.notify_all()

    # For the one who takes

    def __iter__(self) -> Iterator[AnyTask]:
        while self._has_more():
            yield from self._lot
            with self._changed:
                self._lot = ()
                self._changed.notify_all()

    def close(self) -> None:
        """Nobody takes anything any more."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _has_more(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._lot or self._has_ended)
            if not self._lot and self._error is not None:
                raise self._error
            return bool(self._lot)
