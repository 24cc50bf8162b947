"""Vetting: whether what a stage returned is something that a stage may return."""

from collections.abc import Iterator
from typing import Any

from curator_core.outcomes import Dropped, Rejected
from curator_core.tasks import Task


class BadOutputError(Exception):
    """A stage returned what no stage may return."""


def check_item(item: Any, stage: str) -> None:
    if isinstance(item, Task):
        _check_payload(item, stage)
    elif not isinstance(item, Dropped | Rejected):
        raise BadOutputError(
            f"stage {stage!r} returned a {type(item).__name__}; "
            "it may return a task, a list or generator of tasks, or None"
        )


def _check_payload(task: Task[Any], stage: str) -> None:
    """A payload of the wrong type is found here, where it is still known who made it."""
    try:
        _ = task.num_items, task.num_bytes
    except Exception as error:
        raise BadOutputError(
            f"stage {stage!r} returned a {type(task).__name__} around a "
            f"{type(task.data).__name__}, which cannot be counted: {type(error).__name__}: {error}"
        ) from error


def checked(result: Any, stage: str) -> Any:
    """A result as a task, a list, None or an iterator; anything else is the stage's mistake."""
    if isinstance(result, Task):  # first, since nearly all are
        _check_payload(result, stage)
        return result
    if result is None or isinstance(result, Iterator):
        return result
    if isinstance(result, Dropped | Rejected):
        return [result]
    if isinstance(result, list | tuple):
        for item in result:
            check_item(item, stage)
        return list(result)
    check_item(result, stage)
    return result


def aligned(given: Any, expected: int, stage: str) -> list[Any]:
    """The results of a batch, one for each of its tasks."""
    results = list(given)
    if len(results) != expected:
        raise BadOutputError(
            f"process_batch of stage {stage!r} got {expected} tasks and returned "
            f"{len(results)} results; return one for each (None drops it), or Mixed([...]) "
            "where outputs are made of all tasks together"
        )
    return results
