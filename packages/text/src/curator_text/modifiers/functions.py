"""User functions as modifiers."""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
from curator_core import AnyStage, DocumentBatch, NodeInfo, ProcessingStage, Rejected, WorkerInfo
from curator_core.model.arrow import with_column

from curator_text.modifiers.base import TextModifier, TextRewriter
from curator_text.row_errors import RowErrors, storable

Function: TypeAlias = Callable[..., Any]
Modifier: TypeAlias = TextModifier | TextRewriter | Function
Fields: TypeAlias = str | Sequence[str] | Sequence[Sequence[str]]


@dataclass(frozen=True)
class _Step:
    """One function, the columns that it reads and the column that it writes."""

    modifier: Modifier
    inputs: tuple[str, ...]
    output: str


@dataclass
class Modify(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Rewrites or adds columns by your own functions or by modifiers, in order.

    A function of one column gets its value; a function of several columns gets keyword arguments:
    `Modify(join, [["title", "body"]], "text")` calls `join(title=..., body=...)`. If all of its
    inputs are missing, the function is not called and the result is missing. A document that makes
    a function fail is quarantined alone.
    """

    modifier_fn: Modifier | Sequence[Modifier]
    """A function, a modifier, or a list of them."""

    input_fields: Fields = "text"
    """The column to read, or one per function, or a list of columns per function."""

    output_fields: str | Sequence[str | None] | None = None
    """The column to write, or one per function. None writes the column that was read."""

    batched: bool = False
    """Call functions once per batch, with lists; they return lists of the same length."""

    def __post_init__(self) -> None:
        self.name = _name_stage(self._modifiers())

    def check(self) -> Iterable[str]:
        try:
            self._steps()
        except ValueError as error:
            yield str(error)

    def inputs(self) -> Sequence[str]:
        """Return the columns that are read before a function of this stage writes them."""
        written: set[str] = set()
        needed: dict[str, None] = {}
        for step in self._steps():
            needed.update((name, None) for name in step.inputs if name not in written)
            written.add(step.output)
        return tuple(needed)

    def outputs(self) -> Sequence[str]:
        return tuple(dict.fromkeys(step.output for step in self._steps()))

    def setup_on_node(self, node: NodeInfo) -> None:
        for stage in self._stages():
            stage.setup_on_node(node)

    def setup(self, worker: WorkerInfo) -> None:
        for stage in self._stages():
            stage.setup(worker)

    def teardown(self) -> None:
        for stage in self._stages():
            stage.teardown()

    def process(self, task: DocumentBatch) -> Iterable[DocumentBatch | Rejected]:
        rejected: list[Rejected] = []
        for step in self._steps():
            for given in self._run(step, task):
                if isinstance(given, Rejected):
                    rejected.append(given)
                else:
                    task = given
        return [task, *rejected]

    def _run(self, step: _Step, task: DocumentBatch) -> Iterable[DocumentBatch | Rejected]:
        if isinstance(step.modifier, TextModifier | TextRewriter):
            return _run_modifier(step.modifier, step, task)
        work = _in_one_go if self.batched else _one_by_one
        columns = [task.data.column(name).to_pylist() for name in step.inputs]
        errors = RowErrors(task)
        values = work(step.modifier, step.inputs, columns, errors)
        return errors.apply(
            lambda table: with_column(table, step.output, _column(values, table, step))
        )

    def _modifiers(self) -> list[Modifier]:
        listed = self.modifier_fn
        return list(listed) if isinstance(listed, Sequence) else [listed]

    def _stages(self) -> list[AnyStage]:
        return [one for one in self._modifiers() if isinstance(one, TextModifier | TextRewriter)]

    def _steps(self) -> list[_Step]:
        modifiers = self._modifiers()
        if not modifiers:
            raise ValueError("modifier_fn is empty; give at least one modifier")
        for one in modifiers:
            _demand_modifier(one)
        inputs = _inputs(self.input_fields, len(modifiers))
        outputs = _outputs(self.output_fields, inputs)
        return [_Step(*each) for each in zip(modifiers, inputs, outputs, strict=True)]


def _demand_modifier(given: object) -> None:
    if isinstance(given, type) and issubclass(given, TextModifier | TextRewriter):
        raise ValueError(
            f"modifier_fn holds the class {given.__name__}: call it to make one, "
            f"{given.__name__}(...)"
        )
    if not (isinstance(given, TextModifier | TextRewriter) or callable(given)):
        raise ValueError(f"modifier_fn must be functions or modifiers, but one is {given!r:.60}")


def _name_stage(modifiers: Sequence[Modifier]) -> str:
    names = [str(getattr(one, "name", getattr(one, "__name__", ""))) for one in modifiers]
    return "_".join(["modify", *(name for name in names if name.isidentifier())])


def _inputs(fields: Fields, number: int) -> list[tuple[str, ...]]:
    """Return the columns that each function reads."""
    if isinstance(fields, str):
        return [(fields,)] * number
    listed = fields if isinstance(fields, Sequence) else [fields]
    each = [(one,) if isinstance(one, str) else one for one in listed]
    for one in each:
        if not isinstance(one, Sequence) or not all(isinstance(name, str) for name in one):
            raise ValueError(f"input_fields must be names of columns, but one is {one!r:.60}")
    if len(each) not in (1, number):
        raise ValueError(
            f"input_fields names {len(each)} columns for {number} functions; give one for each "
            'of them, or a list of lists for functions of several columns: [["title", "body"]]'
        )
    named = [tuple(one) for one in each]
    return named * number if len(named) == 1 else named


def _outputs(
    fields: str | Sequence[str | None] | None, inputs: Sequence[tuple[str, ...]]
) -> list[str]:
    """Return the column that each function writes."""
    number = len(inputs)
    listed = [fields] if fields is None or isinstance(fields, str) else list(fields)
    if len(listed) not in (1, number):
        raise ValueError(
            f"output_fields names {len(listed)} columns for {number} functions; give one for each"
        )
    outputs = []
    for read, wanted in zip(inputs, listed * number if len(listed) == 1 else listed, strict=True):
        if wanted is None and len(read) > 1:
            raise ValueError(
                f"output_fields does not say where to write what is made of {', '.join(read)}"
            )
        outputs.append(read[0] if wanted is None else wanted)
    return outputs


def _run_modifier(
    modifier: TextModifier | TextRewriter, step: _Step, task: DocumentBatch
) -> Iterable[DocumentBatch | Rejected]:
    """Run a modifier on a copy of its input column, under the name of its output column."""
    [source] = step.inputs
    copied = with_column(task.data, step.output, task.data.column(source))
    prepared = copy(modifier)  # a copy keeps what setup() prepared
    object.__setattr__(prepared, "text_field", step.output)
    given = prepared.process(task.with_data(copied))
    return [given] if isinstance(given, DocumentBatch) else given


def _one_by_one(
    function: Function, names: Sequence[str], columns: Sequence[list[Any]], errors: RowErrors
) -> list[Any]:
    values = []
    for row, record in enumerate(zip(*columns, strict=True)):
        with errors.of(row):
            values.append(_value(function, names, record))
    return values


def _value(function: Function, names: Sequence[str], record: Sequence[Any]) -> Any:
    if all(value is None for value in record):
        return None
    if len(names) == 1:
        return storable(function(record[0]))
    return storable(function(**dict(zip(names, record, strict=True))))


def _in_one_go(
    function: Function, names: Sequence[str], columns: Sequence[list[Any]], errors: RowErrors
) -> list[Any]:
    """Call the function once for all rows; if it fails, once per row to find the bad rows."""

    def called(rows: Sequence[Sequence[Any]]) -> list[Any]:
        lists = [list(column) for column in zip(*rows, strict=True)]
        named = dict(zip(names, lists, strict=True))
        found = function(lists[0]) if len(names) == 1 else function(**named)
        values = [storable(value) for value in found]
        if len(values) != len(rows):
            raise ValueError(f"the function returned {len(values)} values for {len(rows)}")
        return values

    rows = list(zip(*columns, strict=True))
    present = [row for row in rows if any(value is not None for value in row)]
    try:
        values = iter(called(present) if present else [])
    except Exception:  # noqa: BLE001 - runs a user's function
        return _one_by_one(
            lambda *args, **named: called([tuple(args) or tuple(named.values())])[0],
            names,
            columns,
            errors,
        )
    return [next(values) if any(v is not None for v in row) else None for row in rows]


def _column(values: Sequence[Any], table: pa.Table, step: _Step) -> pa.Array:
    """Convert new values to the type of the column that they replace or come from, if they fit."""
    kinds = [table.schema.field(name).type for name in (step.output, *step.inputs)
             if name in table.column_names]  # fmt: skip
    if not pa.types.is_null(kinds[0]):
        try:
            return pa.array(values, kinds[0])
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            pass
    return pa.array(values)
