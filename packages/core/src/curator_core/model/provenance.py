"""Provenance: which model, with which weights, produced a record."""

from typing import Any

from curator_core.model.tasks import Task

_TOLD = "curator_core.model"


def tell_model(task: Task[Any], known_as: str) -> None:
    """Have it written down that what a stage gives was made with a model.

    `known_as` says all that tells it from others: its name, its weights, what it runs on.
    """
    task.derived[_TOLD] = known_as


def told_model(task: Task[Any]) -> str | None:
    """What its stage told of it, which is told once."""
    told: str | None = task.derived.pop(_TOLD, None)
    return told
