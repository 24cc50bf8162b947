"""Stages made from plain functions."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints, overload

from curator_core.model.resources import Resources
from curator_core.model.stages import AnyStage, ProcessingStage, StageResult, task_type
from curator_core.model.tasks import AnyTask, Task

In = TypeVar("In", bound=AnyTask)
Out = TypeVar("Out", bound=AnyTask)


class FunctionStage(ProcessingStage[In, Out]):
    """A stage that calls one function for each task."""

    def __init__(self, function: Callable[[In], StageResult[Out]], name: str) -> None:
        self.function = function
        self.name = name
        hints = _hints(function)
        parameter = next(iter(inspect.signature(function).parameters))
        self.input_type = task_type(hints.get(parameter, Task))  # type: ignore[misc]
        self.output_type = task_type(hints.get("return", Task))  # type: ignore[misc]
        self.__doc__ = function.__doc__

    def process(self, task: In) -> StageResult[Out]:
        return self.function(task)

    def __call__(self, task: In) -> StageResult[Out]:
        """Call the function itself, in tests or elsewhere."""
        return self.function(task)


@overload
def processing_stage(function: Callable[[In], StageResult[Out]], /) -> AnyStage: ...
@overload
def processing_stage(
    *, name: str = "", resources: Resources | None = None, batch_size: int | None = None
) -> Callable[[Callable[[In], StageResult[Out]]], AnyStage]: ...
def processing_stage(
    function: Callable[[In], StageResult[Out]] | None = None,
    /,
    *,
    name: str = "",
    resources: Resources | None = None,
    batch_size: int | None = None,
) -> AnyStage | Callable[[Callable[[In], StageResult[Out]]], AnyStage]:
    """Make a stage of a function that takes one task and returns what `process` may return.

    The stage is named after the function unless `name` is given.
    """
    changes: dict[str, Any] = {"resources": resources, "batch_size": batch_size}
    changes = {setting: value for setting, value in changes.items() if value is not None}

    def make(function: Callable[[In], StageResult[Out]]) -> AnyStage:
        named = name or _name_of(function)
        parameters = inspect.signature(function).parameters
        if len(parameters) != 1:
            raise TypeError(
                f"@processing_stage(name={named!r}): the function takes exactly one task, "
                f"but {function.__name__} takes {len(parameters)} arguments"
            )
        return FunctionStage(function, named).with_(**changes)

    return make if function is None else make(function)


def _name_of(function: object) -> str:
    if isinstance(function, str):
        raise TypeError(f"write @processing_stage(name={function!r})")
    name = str(getattr(function, "__name__", ""))
    if not name.isidentifier():
        raise TypeError(f"{function!r} has no name: give it one with processing_stage(name=...)")
    return name


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function)
    except (NameError, TypeError):  # names that only exist for type checkers
        return {}
