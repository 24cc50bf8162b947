"""Outputs: the folders that the writers of a plan publish to."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from curator_core.plan.plan import Plan


@dataclass(frozen=True)
class Output:
    """A folder that a writer publishes to."""

    folder: str
    stage: str
    mode: str = "error"
    storage_options: dict[str, Any] = field(default_factory=dict, repr=False)
    is_tree: bool = False
    """Whether the writer also writes to subfolders."""


def outputs_of(plan: Plan) -> list[Output]:
    """Return the folders that the plan's writers publish to, including those of dropped records."""
    found = []
    for planned in plan.stages:
        if not planned.stage.writes:
            continue
        options = dict(getattr(planned.stage, "storage_options", None) or {})
        mode = getattr(planned.stage, "mode", "error")
        for name in ("output_path", "dropped_path"):
            folder = getattr(planned.stage, name, None)
            if folder:
                is_tree = name == "output_path" and getattr(planned.stage, "output_is_tree", False)
                found.append(Output(str(folder), planned.name, mode, options, is_tree))
    return found


def does_append(outputs: Iterable[Output]) -> bool:
    return any(output.mode == "append" for output in outputs)
