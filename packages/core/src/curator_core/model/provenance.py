"""Provenance: the model and weights that produced a record."""

from typing import Any

from curator_core.model.tasks import Task

_TOLD = "curator_core.model"


def tell_model(task: Task[Any], known_as: str) -> None:
    """Record that a stage made `task` with a model.

    `known_as` uniquely identifies the model: its name, weights and runtime.
    """
    task.derived[_TOLD] = known_as


def told_model(task: Task[Any]) -> str | None:
    """Return the model that the stage recorded, once: the record is removed."""
    told: str | None = task.derived.pop(_TOLD, None)
    return told
