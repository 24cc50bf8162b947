"""Stages made of plain functions."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

from curator_core.outcomes import AnyTask
from curator_core.resources import Resources
from curator_core.stages import AnyStage, Given, ProcessingStage, task_type
from curator_core.tasks import Task

In = TypeVar("In", bound=AnyTask)
Out = TypeVar("Out", bound=AnyTask)


class FunctionStage(ProcessingStage[In, Out]):
    """A stage that calls one function for each task."""

    def __init__(self, function: Callable[[In], Given[Out]], name: str) -> None:
        self.function = function
        self.name = name
        hints = _hints(function)
        parameter = next(iter(inspect.signature(function).parameters))
        self.takes = task_type(hints.get(parameter, Task))  # type: ignore[misc]
        self.gives = task_type(hints.get("return", Task))  # type: ignore[misc]
        self.__doc__ = function.__doc__

    def process(self, task: In) -> Given[Out]:
        return self.function(task)

    def __call__(self, task: In) -> Given[Out]:
        """The function itself, for tests and other callers."""
        return self.function(task)


def processing_stage(
    *, name: str, resources: Resources | None = None, batch_size: int | None = None
) -> Callable[[Callable[[In], Given[Out]]], AnyStage]:
    """Make a stage of a function that takes one task and returns what `process` may return."""

    def make(function: Callable[[In], Given[Out]]) -> AnyStage:
        parameters = inspect.signature(function).parameters
        if len(parameters) != 1:
            raise TypeError(
                f"@processing_stage(name={name!r}): the function takes exactly one task, "
                f"but {function.__name__} takes {len(parameters)} arguments"
            )
        changes: dict[str, Any] = {}
        if resources is not None:
            changes["resources"] = resources
        if batch_size is not None:
            changes["batch_size"] = batch_size
        return FunctionStage(function, name).with_(**changes)

    return make


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function)
    except (NameError, TypeError):  # names only known to a type checker
        return {}
