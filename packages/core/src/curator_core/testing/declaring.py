"""Column declarations: check a stage's inputs() and outputs() against what it does."""

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from curator_core.errors import StageError
from curator_core.execution.direct import run_stage
from curator_core.model.documents import DocumentBatch
from curator_core.model.stages import AnyStage
from curator_core.model.tasks import AnyTask

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
            yield f"declares in outputs() what it does not add: {', '.join(missing)}"
        expected = stage.columns_after(None if before is None else frozenset(before))
        if expected is not None:
            yield from _unexpected(expected, frozenset(after))


def _unexpected(expected: frozenset[str], after: frozenset[str]) -> Iterator[str]:
    if after - expected:
        yield f"adds columns that outputs() does not declare: {', '.join(sorted(after - expected))}"
    if expected - after:
        gone = ", ".join(sorted(expected - after))
        yield f"takes away columns without saying so in columns_after(): {gone}"


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
