"""Distance: a run as its deputy has it, who drives it on a cluster far from its user."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from curator_core import AnyTask, Plan, PlannedStage, RunResult
from curator_core.model.crash_attribution import Blame
from curator_core.model.lineage import Lineage, source_of
from curator_core.model.reports import CallReport
from curator_core.plan.events import Event, Events
from curator_core.plan.stop_request import StopRequest

from curator_ray.letters import Errand, Note, Word, opened

if TYPE_CHECKING:
    from curator_core.model.snapshot import ExecutorState

_ROOM_BYTES = 32 << 20
_FIRST_OUTPUT_BYTES = 1 << 20
"""What an output is taken for before some were packed: tasks know but the surface of their data."""

_SOURCES_AHEAD = 2000
_SHOW_EVERY_S = 0.25


class BrokenOffError(Exception):
    """The run has ended, and answers no more."""


class HurriedStopping(StopRequest):
    """One that can also be asked to leave no time at all."""

    hurries = False

    @property
    def is_overdue(self) -> bool:
        return self.hurries or super().is_overdue


class DistantRun:
    """A `Run` while the accounts are kept where the user is.

    Whatever is told goes there in order. Nothing is shown here: outputs are handed on as they are,
    and the run itself sees which of them count.
    """

    plan: Plan
    token: str
    worker_stages: tuple[PlannedStage, ...]

    def __init__(self) -> None:
        self.stopping = HurriedStopping()
        self.result = RunResult()
        self.events = Events()
        self.events.listen(self._pass_on)
        self.executor_state: Callable[[], ExecutorState] | None = None
        self._next_show = 0.0
        self._changed = threading.Condition()
        self._notes: deque[Note] = deque()
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

    def begin(self, errand: Errand) -> None:
        self.plan, self.token = errand.plan, errand.run_token
        self.worker_stages = errand.plan.steps_between(errand.first_stage)

    def note(self, kind: str, *told: Any) -> None:
        with self._changed:
            self._notes.append(Note(kind, told))
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
                self._notes.append(Note(kind, ([output],)))
            self._changed.notify_all()

    def taken(self, patience_s: float) -> list[Note]:
        """All that there is to tell; waits a little where there is nothing, and none is in need."""
        with self._changed:
            self._changed.wait_for(lambda: self._notes or self._is_short_of_sources, patience_s)
            notes, self._notes = list(self._notes), deque()
            self._held = 0
            self._changed.notify_all()
        return notes

    def learn_size(self, notes: Sequence[Note], nbytes: int) -> None:
        outputs = sum(len(note.told[0]) for note in notes if note.kind in ("add_output", "emit"))
        if outputs:
            self._output_bytes = nbytes / outputs

    def heed(self, word: Word) -> int:
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
        sources: list[tuple[AnyTask, Blame | None]] = opened(letter) if letter else []
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
                raise BrokenOffError
            return self._answers.popleft()

    def _pass_on(self, event: Event) -> None:
        if event["event"] == "connected":
            return  # the run knows better how
        facts = {name: fact for name, fact in event.items() if name not in ("time", "event")}
        self.note("tell", event["event"], facts)
