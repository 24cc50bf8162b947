"""Samples: a few records that stages changed, dropped or wrote, shortened for reports.

Each worker samples only a few rows of its first tasks, and then stops.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from curator_core.model.documents import DocumentBatch
from curator_core.model.tasks import AnyTask

if TYPE_CHECKING:
    import pyarrow as pa

MAX_CHANGES, MAX_DROPS, MAX_REASONS, MAX_KEPT = 3, 2, 12, 4
"""Limits: changes per stage, drops per reason, reasons per stage, and records kept per writer."""

_MOST_LOOKS, _MOST_ROWS = 10, 200
_LONGEST, _BEFORE, _LABEL = 900, 200, 160


@dataclass(frozen=True)
class Sample:
    """A text from `start` on, before and after a stage.

    Records that were dropped, or kept until the end, have no `after`.
    """

    stage_index: int
    column: str
    before: str
    after: str | None = None
    reason: str = ""
    label: str = ""
    start: int = 0
    length: int = 0
    is_kept: bool = False


class Sampler:
    """Take the samples of one worker, up to a limit for each kind."""

    def __init__(self) -> None:
        self._looks: Counter[int] = Counter()
        self._changes: Counter[int] = Counter()
        self._drops: dict[int, Counter[str]] = {}
        self._kept: Counter[int] = Counter()

    def wants_changes(self, stage_index: int) -> bool:
        """Return whether more changes of this stage are to be sampled."""
        return self._changes[stage_index] < MAX_CHANGES and self._looks[stage_index] < _MOST_LOOKS

    def changes(self, stage_index: int, before: Any, task: AnyTask) -> Iterator[Sample]:
        """Yield records that a stage changed, if it kept all records of the task.

        `before` is the input table. Lazily created payloads are not created for this.
        """
        after = vars(task).get("data")
        if not (isinstance(task, DocumentBatch) and _is_table(before) and _is_table(after)):
            return
        self._looks[stage_index] += 1
        for sample in _find_changes(stage_index, before, after):
            if not self.wants_changes(stage_index):
                return
            self._changes[stage_index] += 1
            yield sample

    def drops(
        self, stage_index: int, reason: str, records: AnyTask | Callable[[], AnyTask],
        inputs: Sequence[str],
    ) -> Iterator[Sample]:  # fmt: skip
        """Yield the first of some dropped records. `inputs` are the columns the stage reads."""
        seen = self._drops.setdefault(stage_index, Counter())
        if seen[reason] >= MAX_DROPS or (reason not in seen and len(seen) >= MAX_REASONS):
            return
        table = _table_of(records)
        if table is None:
            seen[reason] = MAX_DROPS
            return
        column = _main_column(table, inputs)
        for row in range(min(table.num_rows, MAX_DROPS - seen[reason]) if column else 0):
            seen[reason] += 1
            yield _record(stage_index, table, column, row, reason)

    def kept(self, stage_index: int, task: AnyTask) -> Iterator[Sample]:
        """Yield a few records that reach a writer, from all over its first batch."""
        room = MAX_KEPT - self._kept[stage_index]
        table = _table_of(task) if room > 0 else None
        column = "" if table is None else text_column(task, table)
        if table is None or not column or not table.num_rows:
            return
        for row in range(0, table.num_rows, max(1, -(-table.num_rows // room))):
            self._kept[stage_index] += 1
            yield _record(stage_index, table, column, row, is_kept=True)


_TEXT_COLUMNS = ("text", "content", "caption")


def text_column(task: AnyTask, table: "pa.Table") -> str:
    """Return the column of the records' texts, or "".

    If none has one of the usual names, it is the largest text column of documents. Those of images
    and recordings hold names and paths.
    """
    named = [name for name in _TEXT_COLUMNS if name in _texts_in(table)]
    is_document = task.item_name == DocumentBatch.item_name
    return _main_column(table, named) if named or is_document else ""


def _record(
    stage_index: int,
    table: "pa.Table",
    column: str,
    row: int,
    reason: str = "",
    *,
    is_kept: bool = False,
) -> Sample:
    text = _text(table, column, row)
    label = _label(table, column, row)
    return Sample(stage_index, column, text[:_LONGEST], None, reason, label, 0, len(text), is_kept)


def _is_table(data: object) -> bool:
    import pyarrow as pa

    return isinstance(data, pa.Table)


def _table_of(records: AnyTask | Callable[[], AnyTask]) -> "pa.Table | None":
    try:
        task = records() if callable(records) else records
        return task.data if isinstance(task, DocumentBatch) and _is_table(task.data) else None
    except Exception:  # noqa: BLE001 - a stage's code; a failed sample must not fail the run
        return None


def _find_changes(stage_index: int, before: Any, after: Any) -> Iterator[Sample]:
    if before is after or before.num_rows != after.num_rows:
        return
    first, then = before.slice(0, _MOST_ROWS), after.slice(0, _MOST_ROWS)
    for column in _texts_in(then):
        if column not in _texts_in(first):
            continue
        for row in _different(first.column(column), then.column(column)):
            texts = _text(first, column, row), _text(then, column, row)
            start = max(0, _first_difference(*texts) - _BEFORE)
            old, new = (text[start : start + _LONGEST] for text in texts)
            yield Sample(stage_index, column, old, new, "", _label(then, column, row), start,
                         len(texts[0]))  # fmt: skip


def _different(before: "pa.ChunkedArray", after: "pa.ChunkedArray") -> list[int]:
    import pyarrow.compute as pc

    differs = pc.not_equal(before.cast(after.type), after)
    return list(pc.indices_nonzero(pc.fill_null(differs, False)).to_pylist())


def _texts_in(table: "pa.Table") -> list[str]:
    """Return the text columns whose name is unique."""
    import pyarrow.types as types

    names = Counter(table.column_names)
    return [
        name
        for name, kind in zip(table.column_names, table.schema.types, strict=True)
        if names[name] == 1 and (types.is_string(kind) or types.is_large_string(kind))
    ]


def _main_column(table: "pa.Table", inputs: Sequence[str]) -> str:
    """Return the text column that the stage reads, or else the largest one."""
    found = _texts_in(table)
    read = [name for name in inputs if name in found]
    return (read or sorted(found, key=lambda name: -table.column(name).nbytes) or [""])[0]


def _text(table: "pa.Table", column: str, row: int) -> str:
    """Return a text, with invalid UTF-8 replaced."""
    buffer = table.column(column)[row].as_buffer()
    return "" if buffer is None else bytes(buffer).decode("utf-8", "replace")


def _label(table: "pa.Table", column: str, row: int) -> str:
    """Return the other short texts of a record, to identify it."""
    parts = []
    for name in _texts_in(table):
        text = "" if name == column else _text(table, name, row)
        if 0 < len(text) <= _LABEL:
            parts.append(f"{name} {text}")
    return ", ".join(parts)[:_LABEL]


def _first_difference(one: str, other: str) -> int:
    """Return the length of the common prefix. Binary search, because texts may be long."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
