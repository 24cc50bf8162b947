"""Runs stages inside the tasks and actors of Ray Data.

Each process has one `RowHost`, which runs any stages of the plan. What a stage raises is returned
in the result of the call.
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
from curator_ray.worker.messages import Assignment, CallResult, StageRange

from curator_ray_data.rows import (
    NO_ROWS,
    ResultRow,
    pack_result,
    pack_tasks,
    select_results,
    unpack_tasks,
)

DRAIN, ABORT = "drain", "abort"
"""Files in the run's folder that say: start no more sources; start no more calls."""

ACTOR, TASK = "actor", "task"
_SEND_AFTER_S = 0.25
_SEND_AFTER_BYTES = 8 << 20


@dataclass(frozen=True)
class OperatorConfig:
    """What the workers of an operator need to run its stages."""

    step: StageRange
    takes_sources: bool
    assignment: Assignment
    packed_plan: bytes = field(repr=False)
    blame: Blame | None = None

    def has_flag(self, name: str) -> bool:
        return os.path.exists(os.path.join(self.assignment.folder, name))


class RowHost(StageRunner):
    """Runs stages on tasks and returns rows."""

    def process(self, config: OperatorConfig, tasks: list[AnyTask]) -> Iterator[pa.Table]:
        """Yield the outputs as they come, then the result of the call."""
        row = ResultRow(self._info.worker_id, _keys_of(tasks), CallResult())
        try:
            worker = self._worker_for(config.step)
            call = worker.call(tasks, config.blame)
            with closing(call.outputs()) as outputs:
                for batch in _batches(outputs):
                    yield _pickle(batch, worker.stages[-1])
            row.result.report = call.report
        except CuratorError as error:
            row.result.error = error
        except AbortedError:
            row.result.is_aborted = True
        self._completed(row.result)
        yield pack_result(row)


_HOSTS: dict[str, RowHost] = {}


def host_for(config: OperatorConfig, kind: str) -> RowHost:
    """Return the host of this process for this run, and end that of an earlier run."""
    folder = config.assignment.folder
    if folder not in _HOSTS:
        end_host()
        worker_id = f"{kind}-{ray.get_runtime_context().get_worker_id()[:12]}"
        assignment = replace(config.assignment, worker_id=worker_id)
        _HOSTS[folder] = RowHost(assignment, config.packed_plan)
    return _HOSTS[folder]


def end_host(_: object = None) -> None:
    """Tear down the stages of this process. `__ray_call__` passes the actor, which is not used."""
    while _HOSTS:
        _, host = _HOSTS.popitem()
        host.end()


def _process(config: OperatorConfig, kind: str, rows: pa.Table) -> Iterator[pa.Table]:
    earlier_results = select_results(rows)
    if earlier_results.num_rows:
        yield earlier_results
    tasks = list(unpack_tasks(rows))
    del rows
    if not tasks:
        return
    if config.takes_sources and config.has_flag(DRAIN):
        yield NO_ROWS
        return
    # Create the host before looking for the flag: then `RunFolder.stop` sees the host, or the host
    # sees the flag.
    host = None if config.has_flag(ABORT) else host_for(config, kind)
    if host is None or config.has_flag(ABORT):
        end_host()
        yield NO_ROWS
        return
    yield from host.process(config, tasks)


def _keys_of(tasks: Iterable[AnyTask]) -> tuple[SourceKey, ...]:
    return tuple({key: None for task in tasks for key in task.lineage})


class TaskStages:
    """Stages without state, as a function for `map_batches`."""

    def __init__(self, config: OperatorConfig, name: str) -> None:
        self._config = config
        self.__name__ = name  # Ray Data names the operator after it

    def __call__(self, rows: pa.Table) -> Iterator[pa.Table]:
        yield from _process(self._config, TASK, rows)


class ActorStages:
    """Stages with state, as a class for `map_batches`. They are torn down with the instance."""

    def __init__(self, config: OperatorConfig) -> None:
        self._config = config

    def __call__(self, rows: pa.Table) -> Iterator[pa.Table]:
        yield from _process(self._config, ACTOR, rows)

    def __del__(self) -> None:
        end_host()


def _batches(outputs: Iterable[AnyTask]) -> Iterator[list[AnyTask]]:
    batch: list[AnyTask] = []
    size, sent = 0, perf_counter()
    for output in outputs:
        batch.append(output)
        size += output.num_bytes
        del output
        if size > _SEND_AFTER_BYTES or perf_counter() - sent > _SEND_AFTER_S:
            yield batch
            batch, size, sent = [], 0, perf_counter()
    if batch:
        yield batch


def _pickle(outputs: list[AnyTask], last: PlannedStage) -> pa.Table:
    """Pickle outputs into rows; raise an error that names the stage if that is impossible."""
    try:
        return pack_tasks(outputs)
    except Exception as error:
        raise StageError(
            f"stage {last.name!r} returned a task that cannot leave its worker process, because it "
            f"cannot be pickled ({reason_of(error)}); return plain data, or run with "
            "LocalExecutor(workers=0)",
            stage=last.name,
        ) from error


def raise_flag(folder: str, name: str) -> None:
    path = Path(folder)
    if path.is_dir():  # otherwise the run has no workers here
        (path / name).touch()


def lower_flag(folder: str, name: str) -> None:
    Path(folder, name).unlink(missing_ok=True)
