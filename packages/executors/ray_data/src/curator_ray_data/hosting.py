"""Hosting: stages inside of the tasks and actors of Ray Data.

Each process has one host, which runs any stages of the plan; nothing that a stage does is raised.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import ray
from curator_core import AnyTask, PlannedStage
from curator_core.errors import AbortedError, CuratorError, StageError, reason_of
from curator_core.model.crash_attribution import Blame
from curator_core.model.lineage import SourceKey
from curator_ray.worker.actor import StageRunner
from curator_ray.worker.messages import Assignment, CallResult, Step

from curator_ray_data.rows import Told, row_of, rows_of_tasks, tasks_in, told_rows

DRAIN, BREAK = "drain", "break"
"""Files in the folder of a run: begin no more sources; begin nothing at all."""

IN_ACTOR, IN_TASK = "actor", "task"
_SEND_AFTER_S = 0.25
_SEND_AFTER_BYTES = 8 << 20


@dataclass(frozen=True)
class Ticket:
    """What an operator of the job needs to know to run its stages."""

    step: Step
    takes_sources: bool
    assignment: Assignment
    packed_plan: bytes = field(repr=False)
    blame: Blame | None = None

    def is_flagged(self, name: str) -> bool:
        return os.path.exists(os.path.join(self.assignment.folder, name))


class RowHost(StageRunner):
    """A host of stages that takes tasks and gives rows."""

    def walk(self, ticket: Ticket, tasks: list[AnyTask]) -> Iterator[pa.Table]:
        """Push tasks through some stages: their outputs, and behind them what became of the call.

        The first output is not kept waiting.
        """
        told = Told(self._info.worker_id, _keys_of(tasks), CallResult())
        try:
            line = self._worker_for(ticket.step)
            call = line.call(tasks, ticket.blame)
            with closing(call.outputs()) as outputs:
                for few in _few_at_a_time(outputs):
                    yield _packed(few, line.stages[-1])
            told.answer.report = call.report
        except CuratorError as error:
            told.answer.error = error
        except AbortedError:
            told.answer.aborted = True
        self._completed(told.answer)
        yield row_of(told)


_HOSTS: dict[str, RowHost] = {}


def host_for(ticket: Ticket, kind: str) -> RowHost:
    """The host of this process; that of an earlier run is ended."""
    folder = ticket.assignment.folder
    if folder not in _HOSTS:
        end_host()
        worker_id = f"{kind}-{ray.get_runtime_context().get_worker_id()[:12]}"
        assignment = replace(ticket.assignment, worker_id=worker_id)
        _HOSTS[folder] = RowHost(assignment, ticket.packed_plan)
    return _HOSTS[folder]


def end_host(_: object = None) -> None:
    """Tear down; the actor may be given, which is how Ray calls a function in one."""
    while _HOSTS:
        _, host = _HOSTS.popitem()
        host.end()


def _walked(ticket: Ticket, kind: str, rows: pa.Table) -> Iterator[pa.Table]:
    earlier = told_rows(rows)
    if earlier.num_rows:
        yield earlier
    tasks = list(tasks_in(rows))
    del rows
    if not tasks:
        return
    if ticket.takes_sources and ticket.is_flagged(DRAIN):
        yield _skipped(tasks)
        return
    # A host first, and only then a look: whoever breaks off sees one of the two.
    host = None if ticket.is_flagged(BREAK) else host_for(ticket, kind)
    if host is None or ticket.is_flagged(BREAK):
        end_host()
        yield _skipped(tasks)
        return
    yield from host.walk(ticket, tasks)


def _skipped(tasks: Iterable[AnyTask]) -> pa.Table:
    return row_of(Told("", _keys_of(tasks), CallResult(), was_skipped=True))


def _keys_of(tasks: Iterable[AnyTask]) -> tuple[SourceKey, ...]:
    return tuple({key: None for task in tasks for key in task.lineage})


class InTasks:
    """Stages without a state of their own, as a function for `map_batches`."""

    def __init__(self, ticket: Ticket, name: str) -> None:
        self._ticket = ticket
        self.__name__ = name  # Ray Data calls the operator by it

    def __call__(self, rows: pa.Table) -> Iterator[pa.Table]:
        yield from _walked(self._ticket, IN_TASK, rows)


class InActors:
    """Stages that are set up, as a class for `map_batches`; torn down when Ray Data lets it go."""

    def __init__(self, ticket: Ticket) -> None:
        self._ticket = ticket

    def __call__(self, rows: pa.Table) -> Iterator[pa.Table]:
        yield from _walked(self._ticket, IN_ACTOR, rows)

    def __del__(self) -> None:
        end_host()


def _few_at_a_time(outputs: Iterable[AnyTask]) -> Iterator[list[AnyTask]]:
    few: list[AnyTask] = []
    size, sent = 0, perf_counter()
    for output in outputs:
        few.append(output)
        size += output.num_bytes
        del output
        if size > _SEND_AFTER_BYTES or perf_counter() - sent > _SEND_AFTER_S:
            yield few
            few, size, sent = [], 0, perf_counter()
    if few:
        yield few


def _packed(outputs: list[AnyTask], last: PlannedStage) -> pa.Table:
    """Outputs as rows; what cannot be pickled is the mistake of the stage that made it."""
    try:
        return rows_of_tasks(outputs)
    except Exception as error:
        raise StageError(
            f"stage {last.name!r} gave a task that cannot leave its worker process, for it cannot "
            f"be pickled ({reason_of(error)}); give plain data, or run with "
            "LocalExecutor(workers=0)",
            stage=last.name,
        ) from error


def raise_flag(folder: str, name: str) -> None:
    """Tell the workers of a run on this machine to begin no more."""
    path = Path(folder)
    if path.is_dir():  # or nobody works here
        (path / name).touch()


def lower_flag(folder: str, name: str) -> None:
    """They may begin again."""
    Path(folder, name).unlink(missing_ok=True)
