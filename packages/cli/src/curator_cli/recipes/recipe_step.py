"""A step of a recipe, as it is written there."""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from curator_cli.recipes.problems import Path

Kind: TypeAlias = Literal["stage", "workflow", "python"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""The key that names what a step is."""


@dataclass(frozen=True)
class RecipeStep:
    """One step of the recipe. Its id becomes the name of its stage."""

    id: str
    stage: str
    """The name of its stage or workflow, or `FILE.py:FUNCTION`."""

    path: Path
    values: dict[str, Any] = field(default_factory=dict, repr=False)
    kind: Kind = "stage"

    @property
    def label(self) -> str:
        head = f"step {self.id!r}" if self.path[0] == "steps" else str(self.path[0])
        return f"{head} ({self.stage})"
