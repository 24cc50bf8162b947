"""Drive a run on the cluster, for a user who is connected through ray://."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from curator_core import AnyTask, Plan, PlannedStage, RunResult
from curator_core.errors import reason_of
from curator_core.model.crash_attribution import Blame
from curator_core.model.lineage import Lineage, source_of
from curator_core.model.reports import CallReport
from curator_core.plan.events import Event, Events
from curator_core.plan.stop_request import StopRequest

from curator_ray.errors import ClusterError
from curator_ray.remote.messages import DriverJob, DriverMessage, RunMessage, dumps, loads
from curator_ray.transfer.modules import extend_search_path

if TYPE_CHECKING:
    from curator_core.model.snapshot import ExecutorState


LONG_POLL_S = 0.25
_LOST_AFTER_S = 20.0
"""A run that says nothing for so long has lost its user, or its way here."""

_NOT_OURS = ("ray", "asyncio", "grpc")


class RemoteDriver:
    """An actor that drives one run. `exchange` is called over and over, until it says `ended`."""

    def __init__(self, errand: bytes, search_path: list[str], level: int) -> None:
        extend_search_path(search_path)
        self._errand = errand
        self._run = RunProxy()
        self._heard_at = time.monotonic()
        self._is_lost = False
        _Teller(self._run).install(level)
        for work in (self._work, self._watch):
            threading.Thread(target=work, name="curator-deputy", daemon=True).start()

    def exchange(self, raw: bytes) -> tuple[int, bytes]:
        """Heed a word; how many sources are wanted, and what there is to tell."""
        wanted = self.heed(raw)
        notes = self._run.taken(LONG_POLL_S)
        letter = dumps(notes)
        self._run.learn_size(notes, len(letter))
        return wanted, letter

    def heed(self, raw: bytes) -> int:
        """The same without listening: the run has its hands full."""
        self._heard_at = time.monotonic()
        word: RunMessage = loads(raw)
        return self._run.heed(word)

    def _work(self) -> None:
        failure: BaseException | None = None
        try:
            self._run_errand()
        except RunAbortedError:
            pass
        except BaseException as error:  # noqa: BLE001 - it is raised where the user sees it
            failure = error
        if self._is_lost:
            failure = ClusterError(
                f"nothing was heard of the run for {_LOST_AFTER_S:g} s, so what drove it on the "
                "cluster has ended; what is finished is kept, and the same command does the rest"
            )
        self._run.note("end", _portable(failure), self._run.result.notes)

    def _run_errand(self) -> None:
        try:
            errand: DriverJob = loads(self._errand)
        except ImportError as error:
            raise missing_package_error(error) from error
        self._run.begin(errand)
        for output in errand.drive(errand.plan, self._run):
            self._run.hand_on(output)

    def _watch(self) -> None:
        """Ray ends this process when its user is gone, but workers are to tear down before that."""
        while time.monotonic() - self._heard_at < _LOST_AFTER_S:
            time.sleep(1)
        self._is_lost = True
        self._run.heed(RunMessage(breaks_off=True))


def missing_package_error(error: ImportError) -> ClusterError:
    return ClusterError(
        f"the head of the cluster lacks what is to run there ({reason_of(error)}); install the "
        "same packages on every node"
    )


class _Teller(logging.Handler):
    """Passes on what is logged here to the loggers of the user's process."""

    def __init__(self, run: "RunProxy") -> None:
        super().__init__()
        self._run = run

    def install(self, level: int) -> None:
        logging.getLogger("curator_core").setLevel(level)
        logging.getLogger().addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith(_NOT_OURS):
            self._run.note("log", record.name, record.levelno, record.getMessage())


def _portable(error: BaseException | None) -> BaseException | None:
    """The error, or what can be said of it where it does not travel."""
    try:
        loads(dumps(error))
    except Exception:  # noqa: BLE001 - anything may be wrong with a stranger's error
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


_ROOM_BYTES = 32 << 20
_FIRST_OUTPUT_BYTES = 1 << 20
"""What an output is taken for before some were packed: tasks know but the surface of their data."""

_SOURCES_AHEAD = 2000
_SHOW_EVERY_S = 0.25


class RunAbortedError(Exception):
    """The run has ended, and answers no more."""


class RemoteStopRequest(StopRequest):
    """One that can also be asked to leave no time at all."""

    hurries = False

    @property
    def is_overdue(self) -> bool:
        return self.hurries or super().is_overdue


class RunProxy:
    """A `Run` while the accounts are kept where the user is.

    Whatever is told goes there in order. Nothing is shown here: outputs are handed on as they are,
    and the run itself sees which of them count.
    """

    plan: Plan
    token: str
    worker_stages: tuple[PlannedStage, ...]

    def __init__(self) -> None:
        self.stopping = RemoteStopRequest()
        self.result = RunResult()
        self.events = Events()
        self.events.listen(self._pass_on)
        self.executor_state: Callable[[], ExecutorState] | None = None
        self._next_show = 0.0
        self._changed = threading.Condition()
        self._notes: deque[DriverMessage] = deque()
        self._credited: set[int] = set()
        self._held = 0.0
        self._output_bytes = float(_FIRST_OUTPUT_BYTES)
        self._ahead: deque[tuple[AnyTask, float]] = deque()
        self._ahead_bytes = 0.0
        self._brought: dict[str, Blame] = {}
        self._has_all = False
        self._answers: deque[Any] = deque()
        self._repeats = False

    # What drivers call

    def sources(self) -> Iterator[AnyTask]:
        while (task := self._next_source()) is not None:
            yield task

    def earlier_blame(self, task: AnyTask) -> Blame | None:
        return self._brought.get(source_of(task.lineage))

    def emit(self, output: AnyTask) -> list[AnyTask]:
        return [output]

    def add_output(self, output: AnyTask) -> list[AnyTask]:
        self._credited.add(id(output))
        return [output]

    def credit(self, lineages: Iterable[Lineage]) -> None:
        self.note("credit", list(lineages))

    def apply_report(self, report: CallReport, sources: Sequence[AnyTask]) -> list[AnyTask]:
        self.note("apply_report", report, tuple(key for task in sources for key in task.lineage))
        return []

    def restart_source(self, source_id: str, reason: str) -> list[AnyTask]:
        self._repeats = True
        tasks: list[AnyTask] = self._ask("restart_source", source_id, reason)
        return tasks

    def take_mixed_sources(self) -> set[str]:
        """Before the first source that is run again, nothing is void."""
        found: set[str] = self._ask("take_mixed_sources") if self._repeats else set()
        return found

    def fail_source(self, source_id: str, reason: str, stage: PlannedStage) -> list[AnyTask]:
        self.note("fail_source", source_id, reason, stage.index, stage.policy)
        return []

    def record_worker_loss(
        self, worker_id: str, reason: str, stage_index: int | None = None
    ) -> None:
        self.note("record_worker_loss", worker_id, reason, stage_index)

    def add_worker_output(self, worker_id: str, text: str) -> None:
        if text:
            self.note("worker_output", worker_id, text)

    def tick(self) -> None:
        if self.executor_state is not None and time.monotonic() > self._next_show:
            self._next_show = time.monotonic() + _SHOW_EVERY_S
            self.note("executor_state", self.executor_state())

    # For the deputy

    def begin(self, errand: DriverJob) -> None:
        self.plan, self.token = errand.plan, errand.run_token
        self.worker_stages = errand.plan.steps_between(errand.first_stage)

    def note(self, kind: str, *told: Any) -> None:
        with self._changed:
            self._notes.append(DriverMessage(kind, told))
            self._changed.notify_all()

    def hand_on(self, output: AnyTask) -> None:
        """Pass on an output that the driver gave; waits where the run does not take them."""
        kind = "add_output" if id(output) in self._credited else "emit"
        self._credited.discard(id(output))
        with self._changed:
            self._changed.wait_for(lambda: self._held < _ROOM_BYTES or self.stopping.hurries)
            self._held += max(output.num_bytes, self._output_bytes)
            if self._notes and self._notes[-1].kind == kind:
                self._notes[-1].told[0].append(output)
            else:
                self._notes.append(DriverMessage(kind, ([output],)))
            self._changed.notify_all()

    def taken(self, patience_s: float) -> list[DriverMessage]:
        """All that there is to tell; waits a little where there is nothing, and none is in need."""
        with self._changed:
            self._changed.wait_for(lambda: self._notes or self._is_short_of_sources, patience_s)
            notes, self._notes = list(self._notes), deque()
            self._held = 0
            self._changed.notify_all()
        return notes

    def learn_size(self, notes: Sequence[DriverMessage], nbytes: int) -> None:
        outputs = sum(len(note.told[0]) for note in notes if note.kind in ("add_output", "emit"))
        if outputs:
            self._output_bytes = nbytes / outputs

    def heed(self, word: RunMessage) -> int:
        """Take in what the run says; how many sources it may send."""
        with self._changed:
            if word.stops is not None:
                self.stopping.request(*word.stops)
            if word.breaks_off:
                self.stopping.request("the run")
                self.stopping.hurries = True
            self._stock(word.sources)
            self._has_all = self._has_all or word.has_all
            self._answers.extend(word.answers)
            self._changed.notify_all()
            return self._wanted

    # Inside

    @property
    def _wanted(self) -> int:
        is_full = self._has_all or self._ahead_bytes > _ROOM_BYTES
        return 0 if is_full else max(0, _SOURCES_AHEAD - len(self._ahead))

    @property
    def _is_short_of_sources(self) -> bool:
        return self._wanted > _SOURCES_AHEAD / 2

    def _stock(self, letter: bytes) -> None:
        sources: list[tuple[AnyTask, Blame | None]] = loads(letter) if letter else []
        for task, blame in sources:
            self._ahead.append((task, len(letter) / len(sources)))
            if blame is not None:
                self._brought[source_of(task.lineage)] = blame
        self._ahead_bytes += len(letter)

    def _next_source(self) -> AnyTask | None:
        with self._changed:
            self._changed.wait_for(
                lambda: self._ahead or self._has_all or self.stopping.is_requested
            )
            if not self._ahead or self.stopping.is_requested:
                return None
            task, nbytes = self._ahead.popleft()
            self._ahead_bytes -= nbytes
            self._changed.notify_all()
            return task

    def _ask(self, kind: str, *told: Any) -> Any:
        self.note(kind, *told)
        with self._changed:
            self._changed.wait_for(lambda: self._answers or self.stopping.hurries)
            if not self._answers:
                raise RunAbortedError
            return self._answers.popleft()

    def _pass_on(self, event: Event) -> None:
        if event["event"] == "connected":
            return  # the run knows better how
        facts = {name: fact for name, fact in event.items() if name not in ("time", "event")}
        self.note("tell", event["event"], facts)
