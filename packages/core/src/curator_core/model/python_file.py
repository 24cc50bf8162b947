"""Python files: functions of a file of the user's, as stages that filter or change records."""

import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from os.path import basename
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from curator_core.errors import PipelineError, hint, reason_of, user_code_location
from curator_core.model.documents import DocumentBatch
from curator_core.model.resources import WorkerInfo
from curator_core.model.rules import call_rule
from curator_core.model.stages import ProcessingStage
from curator_core.model.tasks import Dropped, Rejected

if TYPE_CHECKING:
    import pyarrow as pa

Over: TypeAlias = Literal["text", "column", "batch"]


@dataclass
class PythonFunction(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Call a function of a Python file.

    A function over a text is called for each value of `column`, one over a column with the Arrow
    column, and one over a batch with the Arrow table, which it may return changed. True and False
    say which records to keep; any other answers are new values.
    """

    source: str = field(repr=False)
    """Content of the file. Workers on other machines do not need the file itself."""

    file: str
    """Path of the file, for messages."""

    function: str
    """Name of the function."""

    column: str = "text"
    """Column that the function gets, and that new text replaces."""

    into: str | None = None
    """Column for the answers. If unset, True and False filter, text replaces `column`, and other
    answers go to a column with the function's name."""

    over: Over = "text"
    """What the function is called with: each text, a column or a batch."""

    def __post_init__(self) -> None:
        self.name = self.function
        self._call: Callable[[Any], Any] | None = None

    def inputs(self) -> Sequence[str]:
        return () if self.over == "batch" else (self.column,)

    def check(self) -> Iterable[str]:
        try:
            load_function(self.source, self.file, self.function)
        except PipelineError as error:
            yield str(error)
        if self.over not in ("text", "column", "batch"):
            yield f"over is {self.over!r}, but must be text, column or batch"

    def setup(self, worker: WorkerInfo) -> None:
        self._call = load_function(self.source, self.file, self.function)

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped | Rejected]:
        assert self._call is not None
        if self.over == "text":
            yield from self._each_text(task, self._call)
            return
        given = task.data if self.over == "batch" else task.data[self.column]
        yield from self._apply(task, self._checked(call_rule(self._call, given), task.data))

    def _each_text(
        self, task: DocumentBatch, function: Callable[[Any], Any]
    ) -> Iterator[DocumentBatch | Dropped | Rejected]:
        answers: list[Any] = []
        good: list[int] = []
        for row, value in enumerate(task.data[self.column].to_pylist()):
            try:
                answers.append(call_rule(function, value))
                good.append(row)
            except Exception as error:  # noqa: BLE001 - the function may raise anything
                reason = f"{self.function}: {reason_of(error)}{user_code_location(error)}"
                yield Rejected(reason, f"row {row} of its batch", row=row)
        rest = task if len(good) == task.num_items else task.take(good)
        if good:
            yield from self._apply(rest, answers)

    def _checked(self, answer: Any, table: "pa.Table") -> Any:
        """Return the answer to a column or a batch; raise unless there is one for each record."""
        import pyarrow as pa

        if isinstance(answer, pa.Table):
            if self.over == "batch":
                return answer
            raise TypeError(f"{self._place} returned a table; return a column, or set over: batch")
        try:
            count = len(answer)
        except TypeError:
            count = -1
        if isinstance(answer, str) or count != table.num_rows:
            found = type(answer).__name__ if count < 0 else f"{count} values"
            raise TypeError(
                f"{self._place} returned {found} for {table.num_rows} records; return one for each"
            )
        return answer

    def _apply(self, task: DocumentBatch, answer: Any) -> "Iterator[DocumentBatch | Dropped]":
        import pyarrow as pa

        if isinstance(answer, pa.Table):
            yield task.with_data(answer)
            if (missing := task.num_items - answer.num_rows) > 0:
                yield Dropped(self._reason, missing)
            return
        try:
            found = answer if isinstance(answer, pa.Array | pa.ChunkedArray) else pa.array(answer)
        except pa.ArrowException as error:
            raise TypeError(
                f"{self._place} returned values of several types: {reason_of(error)}"
            ) from None
        if self.into is None and pa.types.is_boolean(found.type):
            yield from task.keep(found, self._reason)
            return
        is_text = pa.types.is_string(found.type) or pa.types.is_large_string(found.type)
        name = self.into or (self.column if is_text else self.function)
        yield task.with_data(_with_column(task.data, name, found))

    @property
    def _reason(self) -> str:
        return f"rejected by {self.function}"

    @property
    def _place(self) -> str:
        return f"{self.function} ({basename(self.file)})"


def _with_column(table: "pa.Table", name: str, values: Any) -> "pa.Table":
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, values)
    return table.append_column(name, values)


@lru_cache(maxsize=64)
def load_function(source: str, file: str, function: str) -> Callable[[Any], Any]:
    """Run the source of a file and return one of its functions."""
    module = types.ModuleType(f"python_file_{basename(file).removesuffix('.py')}")
    module.__file__ = file
    try:
        exec(compile(source, file, "exec"), vars(module))  # noqa: S102 - the user allowed it
    except SyntaxError as error:
        raise PipelineError(f"{file}:{error.lineno}: {error.msg}") from None
    except Exception as error:  # noqa: BLE001 - the file may raise anything
        place = user_code_location(error) or f" ({basename(file)})"
        raise PipelineError(f"{file} cannot be loaded: {reason_of(error)}{place}") from None
    found: Any = vars(module).get(function)
    if callable(found):
        chosen: Callable[[Any], Any] = found
        return chosen
    known = [
        name
        for name, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", None) == module.__name__
    ]
    raise PipelineError(f"{file} has no function {function!r}{hint(function, known)}")
