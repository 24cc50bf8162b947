"""Provenance: the model and weights that produced a record."""

from typing import Any

from curator_core.model.tasks import Task

_KEY = "curator_core.model"


def attach_model(task: Task[Any], known_as: str) -> None:
    """Record that a stage made `task` with a model.

    `known_as` uniquely identifies the model: its name, weights and runtime.
    """
    task.derived[_KEY] = known_as


def take_model(task: Task[Any]) -> str | None:
    """Return the model that the stage recorded, once: the record is removed."""
    model: str | None = task.derived.pop(_KEY, None)
    return model
