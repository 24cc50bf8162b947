"""Stage checks: rules that hold for every stage, checked on a few sample tasks."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import cloudpickle
import pyarrow as pa

from curator_core.errors import StageError
from curator_core.execution.run_stages import as_source, run_in_worker, run_stage
from curator_core.model.documents import DocumentBatch
from curator_core.model.files import FileGroup
from curator_core.model.resources import NodeInfo, WorkerInfo
from curator_core.model.stages import AnyStage, ProcessingStage, flatten
from curator_core.model.tasks import AnyTask, Dropped, Mixed, Rejected, Task
from curator_core.plan.plan import stage_options
from curator_core.testing.comparison import has_same_content, is_deeply_equal


def check_stage(stage: AnyStage, *samples: AnyTask) -> None:
    """Raise an AssertionError if a stage breaks a rule that holds for every stage.

    A stage must be picklable, leave its input unchanged, declare its columns correctly, accept
    empty tasks, be deterministic, and treat a task the same in a batch as alone. In a composite,
    every part is checked on the output of the part before it.
    """
    if not samples:
        raise TypeError(f"check_stage({stage.name!r}): give it at least one sample task")
    _check_with(stage)
    given = list(samples)
    for part in flatten([stage]):
        _require(part, bool(given), "was given nothing: the part before it dropped every sample")
        for check in _CHECKS:
            check(part, given)
        given = _outputs(_pickled_copy(part), given)


def _require(stage: AnyStage, kept: bool, broken: str) -> None:
    if not kept:
        raise AssertionError(f"stage {stage.name!r} {broken}")


def _copies(samples: Sequence[AnyTask]) -> list[AnyTask]:
    return [as_source(deepcopy(task), position) for position, task in enumerate(samples)]


def _outputs(stage: AnyStage, samples: Sequence[AnyTask]) -> list[AnyTask]:
    return run_stage(stage, *_copies(samples))


def _pickled_copy(stage: AnyStage) -> AnyStage:
    """Return the stage as a worker receives it."""
    twin: AnyStage = cloudpickle.loads(cloudpickle.dumps(stage))
    return twin


# The checks, ordered so that an early failure is not reported as a later, misleading one


def _check_configured(stage: AnyStage, samples: Sequence[AnyTask]) -> None:
    problems = "; ".join(stage.check())
    _require(stage, not problems, f"has invalid options: {problems}")


def _check_pickles(stage: AnyStage, samples: Sequence[AnyTask]) -> None:
    try:
        twin = _pickled_copy(stage)
    except Exception as error:
        raise AssertionError(
            f"stage {stage.name!r} cannot be pickled, so it cannot be sent to workers; create "
            f"such objects in setup(): {type(error).__name__}: {error}"
        ) from error
    for option, value in stage_options(stage).items():
        found = stage_options(twin).get(option)
        broken = f"loses its option {option} in pickling: {value!r} became {found!r}"
        _require(stage, found == value, broken)


def _check_works(stage: AnyStage, samples: Sequence[AnyTask]) -> None:
    try:
        outputs = _outputs(_pickled_copy(stage), samples)
    except StageError as error:
        raise AssertionError(f"{error} (on a sample task)\n{error.detail}".rstrip()) from error
    for output in outputs:
        problem = (
            f"gives a {type(output).__name__}, but says that it gives {stage.output_type.__name__}"
        )
        _require(stage, isinstance(output, stage.output_type), problem)


def _check_worker_life(stage: AnyStage, samples: Sequence[AnyTask]) -> None:
    for tasks, problem in (([], "gets no task"), (samples, "was given the samples")):
        try:
            with _in_worker(_pickled_copy(stage)) as up:
                for task in _copies(tasks):
                    [*map(_as_list, up.process_batch([task]))]  # runs generators
        except Exception as error:
            raise AssertionError(
                f"stage {stage.name!r} fails in a worker that {problem}, between setup() and the "
                f"end of teardown(): {type(error).__name__}: {error}"
            ) from error


class _Recorder(ProcessingStage[AnyTask, AnyTask]):
    """Records the tasks that the next stage gets, because a worker copies them."""

    def __init__(self, seen: list[AnyTask]) -> None:
        self._seen = seen

    def process(self, task: AnyTask) -> AnyTask:
        self._seen.append(task)
        return task


def _check_leaves_input(stage: AnyStage, samples: Sequence[AnyTask]) -> None:
    given: list[AnyTask] = []
    run_in_worker([_Recorder(given), _pickled_copy(stage)], _copies(samples), "fail")
    for before, after in zip(samples, given, strict=True):
        changed = [
            name
            for name in ("data", "metadata", "dataset_name")
            if not is_deeply_equal(getattr(before, name), getattr(after, name))
        ]
        broken = (
            f"changes the {' and '.join(changed)} of the task it is given, so a second attempt "
            "would meet another task; return a changed copy (with_data)"
        )
        _require(stage, not changed, broken)


def _check_columns(stage: AnyStage, samples: Sequence[AnyTask]) -> None:
    for sample in samples:
        for problem in misdeclared_columns(stage, _pickled_copy, *_copies([sample])):
            raise AssertionError(f"stage {stage.name!r} {problem}")


def _check_empty(stage: AnyStage, samples: Sequence[AnyTask]) -> None:
    for sample in samples:
        empty = _empty_copy(sample)
        if empty is None:
            continue
        try:
            _outputs(_pickled_copy(stage), [empty])
        except StageError as error:
            raise AssertionError(f"{error} (on a task with nothing in it)") from error


def _empty_copy(task: AnyTask) -> AnyTask | None:
    if isinstance(task, DocumentBatch):
        return task.with_data(task.data.slice(0, 0))
    return task.with_data([]) if isinstance(task, FileGroup) else None


def _check_repeats(stage: AnyStage, samples: Sequence[AnyTask]) -> None:
    used = _pickled_copy(stage)
    first = _outputs(used, samples)
    try:
        second = _outputs(used, samples)
    except Exception as error:
        raise AssertionError(
            f"stage {stage.name!r} fails when it is set up again after teardown(): {error}"
        ) from error
    for again in (second, _outputs(_pickled_copy(stage), samples)):
        same = [task.task_id for task in first] == [task.task_id for task in again]
        if not stage.writes:  # file names and times may differ
            same = same and all(map(has_same_content, first, again))
        broken = (
            "gives something else when it runs over the same tasks again, so a resumed run would "
            "not match; fix its seed and its order"
        )
        _require(stage, same, broken)


def _check_batches(stage: AnyStage, samples: Sequence[AnyTask]) -> None:
    if not stage.works_on_batches:
        return
    tasks = [*samples, *samples] if len(samples) == 1 else samples
    with _in_worker(_pickled_copy(stage)) as up:
        together = up.process_batch(_copies(tasks))
        if isinstance(together, Mixed):
            return
        results = list(together)
        broken = (
            f"returned {len(results)} results for {len(tasks)} tasks from process_batch; return "
            "one for each, or Mixed([...]) where outputs are made of all together"
        )
        _require(stage, len(results) == len(tasks), broken)
        for task, result in zip(_copies(tasks), results, strict=True):
            [alone] = up.process_batch([task])
            broken = (
                "makes something else of a task among others than of the same task alone; return "
                "Mixed([...]) where outputs are made of several tasks"
            )
            _require(stage, is_deeply_equal(_as_list(result), _as_list(alone)), broken)


@contextmanager
def _in_worker(stage: AnyStage) -> Iterator[AnyStage]:
    stage.setup_on_node(NodeInfo())
    stage.setup(WorkerInfo())
    try:
        yield stage
    finally:
        stage.teardown()


def _as_list(result: Any) -> list[Any]:
    if result is None or isinstance(result, Task | Dropped | Rejected):
        result = [] if result is None else [result]
    return [
        item if isinstance(item, Task) else (type(item), item.reason, item.items) for item in result
    ]


def _check_with(stage: AnyStage) -> None:
    before = dict(vars(stage))
    wanted = {"name": f"{stage.name}_2", "batch_size": stage.batch_size + 1, "num_workers": 3}
    changed = stage.with_(**wanted)
    after = vars(stage)
    untouched = before.keys() == after.keys() and all(after[k] is v for k, v in before.items())
    broken = "is changed by with_(), which must leave it alone and return a changed copy"
    _require(stage, changed is not stage and untouched, broken)
    found = {
        "name": changed.name,
        "batch_size": changed.batch_size,
        "num_workers": changed.requested_workers,
    }
    ignored = [name for name, value in wanted.items() if found[name] != value]
    _require(stage, not ignored, f"ignores what with_() sets: {', '.join(ignored)}")


_CHECKS: tuple[Callable[[AnyStage, Sequence[AnyTask]], None], ...] = (
    _check_configured,
    _check_pickles,
    _check_works,
    _check_worker_life,
    _check_leaves_input,
    _check_columns,
    _check_empty,
    _check_repeats,
    _check_batches,
)


_STRANGER = "a_column_of_no_meaning"


def misdeclared_columns(
    stage: AnyStage, fresh: Callable[[AnyStage], AnyStage], sample: AnyTask
) -> Iterator[str]:
    """Yield problems: columns read, added or removed without declaration, or not added."""
    yield from _added_and_removed(stage, sample, run_stage(fresh(stage), sample))
    if isinstance(sample, DocumentBatch):
        yield from _read_undeclared(stage, fresh, sample)


def _added_and_removed(
    stage: AnyStage, sample: AnyTask, outputs: Sequence[AnyTask]
) -> Iterator[str]:
    before = sample.columns()
    for output in outputs:
        after = output.columns()
        if after is None:
            continue
        missing = sorted(set(stage.outputs()) - set(after))
        if missing:
            yield f"declares columns in outputs() that it does not add: {', '.join(missing)}"
        expected = stage.columns_after(None if before is None else frozenset(before))
        if expected is not None:
            yield from _unexpected_columns(expected, frozenset(after))


def _unexpected_columns(expected: frozenset[str], after: frozenset[str]) -> Iterator[str]:
    if after - expected:
        yield f"adds columns that outputs() does not declare: {', '.join(sorted(after - expected))}"
    if expected - after:
        removed = ", ".join(sorted(expected - after))
        yield f"removes columns that columns_after() still lists: {removed}"


def _read_undeclared(
    stage: AnyStage, fresh: Callable[[AnyStage], AnyStage], sample: DocumentBatch
) -> Iterator[str]:
    declared = set(stage.inputs())
    others = [name for name in sample.columns() if name not in declared]
    if not others or _works_with(fresh(stage), sample, declared):
        return
    culprits = [
        name
        for name in others
        if not _works_with(fresh(stage), sample, {*sample.columns()} - {name})
    ]
    yield f"reads columns that inputs() does not declare: {', '.join(culprits or others)}"


def _works_with(stage: AnyStage, sample: DocumentBatch, columns: set[str]) -> bool:
    """Whether the stage runs on these columns alone.

    An unrelated column is added, because a table without columns has no rows.
    """
    table = sample.data.select([name for name in sample.columns() if name in columns])
    table = table.append_column(_STRANGER, pa.array(range(table.num_rows)))
    try:
        run_stage(stage, sample.with_data(table))
    except StageError:
        return False
    return True
