"""Sources: listed by the first stage, given as tasks, or loaded from a quarantine."""

import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from curator_core.errors import NothingFoundError, PipelineError, StageError
from curator_core.execution.worker import StageWorker
from curator_core.io.filesystems import StorageOptions
from curator_core.model.crash_attribution import Blame
from curator_core.model.ids import fingerprint
from curator_core.model.lineage import whole_credit
from curator_core.model.records import QuarantineRecord, StageCounts, payload_of
from curator_core.model.resources import WorkerInfo
from curator_core.model.tasks import AnyTask, Empty, Origin
from curator_core.plan.plan import Plan, PlannedStage


@dataclass(frozen=True)
class Source:
    """One unit of work: its id, its task, and the record that it replaces, if any."""

    source_id: str
    task: AnyTask
    origins: list[Origin] = field(default_factory=list)
    replaces: QuarantineRecord | None = None

    def start_task(self, attempt: int) -> AnyTask:
        """Return the source's task for this attempt."""
        task = self.task.__copy__()
        task.lineage = whole_credit(self.source_id, attempt)
        task.timings = {}
        return task

    def blame(self) -> Blame:
        record = self.replaces
        if record is None or not record.seen:
            return Blame()
        return Blame(passed={(record.stage_index, record.task_id): (record.passed, record.seen)})

    @property
    def label(self) -> str:
        """Its name in messages: its file, if it has one."""
        if not self.origins:
            return self.source_id[:12]
        more = f" and {len(self.origins) - 1} more" if len(self.origins) > 1 else ""
        return f"{self.origins[0].name}{more}"


class Listing(Protocol):
    """Iterates over the sources of a run."""

    first_stage: int
    """Index of the first stage that workers run."""

    lists_all: bool
    """Whether anything not listed (any more) is no input of the pipeline."""

    may_be_empty: bool
    """Whether an empty listing is valid."""

    storage_options: StorageOptions | None
    """Options of the file system of its files."""

    def __iter__(self) -> Iterator[Source]: ...

    def counts(self) -> dict[int, StageCounts]:
        """Return the counts of the listing itself, by stage."""
        ...


class TaskListing:
    """Tasks from the caller. If the run is recorded, their content identifies them."""

    first_stage = 0
    storage_options: StorageOptions | None = None
    lists_all = False
    may_be_empty = False

    def __init__(self, tasks: Iterable[AnyTask], *, kept: bool = False, salt: str = "") -> None:
        self._tasks = tasks
        self._kept = kept
        self._salt = salt

    def __iter__(self) -> Iterator[Source]:
        return _with_ids(self._tasks, self._salt, by_content=self._kept)

    def counts(self) -> dict[int, StageCounts]:
        return {}


class StageListing:
    """Lists sources by running the first stage of the plan in the driver."""

    first_stage = 1
    lists_all = True
    may_be_empty = False

    def __init__(self, plan: Plan, run_token: str, salt: str = "") -> None:
        lister = plan.stages[0]
        self._lister = replace(lister, policy=replace(lister.policy, on_error="fail"))
        self._worker = StageWorker(plan, WorkerInfo("driver", run_token=run_token), [self._lister])
        self._counts = StageCounts()
        self._may_find_nothing = plan.allow_empty
        self._salt = salt
        self.storage_options = getattr(lister.stage, "storage_options", None)

    def __iter__(self) -> Iterator[Source]:
        return _with_ids(self._list_tasks(), self._salt)

    def counts(self) -> dict[int, StageCounts]:
        return {self._lister.index: self._counts}

    def _list_tasks(self) -> Iterator[AnyTask]:
        seed = Empty()
        seed.lineage = whole_credit("", 0)
        call = self._worker.call([seed])
        self._counts = call.report.part(seed.lineage).of(self._lister.index)
        try:
            self._worker.setup_on_node()
            self._worker.setup()
            yield from call.outputs()
        except StageError as error:
            if not (self._may_find_nothing and isinstance(error.__cause__, NothingFoundError)):
                raise
            found = self._counts.tasks_out > 0
            self._counts.tasks_passed, self._counts.tasks_dropped = int(found), int(not found)
        finally:
            self._worker.teardown()


class QuarantineListing:
    """Tasks from the quarantine of an earlier run, each starting at the stage where it failed."""

    storage_options: StorageOptions | None = None
    lists_all = False
    may_be_empty = True

    def __init__(self, first_stage: PlannedStage, sources: Iterable[Source]) -> None:
        self.first_stage = first_stage.index
        self._sources = sources

    def __iter__(self) -> Iterator[Source]:
        return iter(self._sources)

    def counts(self) -> dict[int, StageCounts]:
        return {}


def _with_ids(tasks: Iterable[AnyTask], salt: str, *, by_content: bool = False) -> Iterator[Source]:
    """Yield tasks with ids from their identity, or from their position if they have none."""
    salted = [salt] if salt else []
    seen: dict[str, int] = {}
    for position, task in enumerate(tasks):
        task = task.__copy__()  # do not mark the caller's task
        identity = task.identity() or (_content(task) if by_content else None)
        if identity is None:
            task.task_id = fingerprint("position", str(position), *salted)
        else:
            repeats = seen[identity] = seen.get(identity, 0) + 1
            again = [str(repeats)] if repeats > 1 else []
            task.task_id = fingerprint(identity, *again, *salted)
        yield Source(task.task_id, task, task.origins())


def _content(task: AnyTask) -> str | None:
    """Return a hash of the payload: other data must not be mistaken for finished work."""
    payload = payload_of(task)
    return None if payload is None else fingerprint(type(task).__name__, payload)


def listing_for(
    plan: Plan,
    tasks: Iterable[AnyTask] | None,
    run_token: str,
    *,
    kept: bool = False,
    appends: bool = False,
) -> Listing:
    """Return the listing of the given tasks, or of the first stage without tasks.

    A pipeline that appends may read the same inputs as other runs, so its source ids differ.
    """
    salt = plan.fingerprint if appends else ""
    if tasks is not None:
        return TaskListing(tasks, kept=kept, salt=salt)
    return StageListing(plan, run_token, salt)


def refuse_no_reader(plan: Plan) -> None:
    """Raise if the first stage needs an input task."""
    first = plan.stages[0]
    if not issubclass(Empty, first.input_type):
        raise PipelineError(
            f"stage {first.name!r} takes {first.input_type.__name__}, but nothing comes before it; "
            "begin with a reader, or give run(tasks=[...])"
        )


LOOK_AHEAD_S = 0.02
MAX_AHEAD = 20_000
"""Listed sources kept in memory: enough to estimate how long a run will take."""


class SourceQueue(Iterator[Source]):
    """Iterates over the sources in order. Call `close` if not all of them were taken."""

    def __init__(self, left: Generator[Source, None, None]) -> None:
        self._left = left
        self._ahead: deque[Source] = deque()
        self._has_seen_all = False

    def __next__(self) -> Source:
        if self.is_empty:
            raise StopIteration
        return self._ahead.popleft()

    @property
    def known(self) -> int | None:
        """The number of sources not yet taken; None until all are listed."""
        return len(self._ahead) if self._has_seen_all else None

    @property
    def is_empty(self) -> bool:
        """Whether no source is left; lists the next one to find out."""
        return not self._ahead and not self._list_one()

    def list_ahead(self) -> None:
        """List sources ahead of need, to learn how many there are.

        Only file names are held that way: stop at a source that carries its own data.
        """
        until = time.monotonic() + LOOK_AHEAD_S
        while len(self._ahead) < MAX_AHEAD and self._list_one():
            if not self._ahead[-1].origins or time.monotonic() > until:
                return

    def _list_one(self) -> bool:
        """List one more source; return False if there is none."""
        source = next(self._left, None)
        if source is None:
            self._has_seen_all = True
            return False
        self._ahead.append(source)
        return True

    def close(self) -> None:
        self._left.close()
