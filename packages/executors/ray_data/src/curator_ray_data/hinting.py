"""Hints: what a stage may say to this executor with `hints={"ray_data": {...}}`."""

from collections.abc import Iterator
from typing import Any

from curator_core import Plan
from curator_core.errors import hint

KNOWN = ("concurrency",)


def wrong_hints(plan: Plan) -> Iterator[str]:
    """What is no hint, or has no value that could be meant."""
    for planned in plan.stages:
        at = f"stage {planned.index + 1} {planned.name!r}"
        for name, value in planned.hints.get("ray_data", {}).items():
            if name not in KNOWN:
                yield f"{at}: no ray_data hint {name!r}{hint(name, KNOWN)}"
            elif not is_concurrency(value):
                yield (
                    f"{at}: the ray_data hint {name!r} is {value!r}, but must be a number of "
                    "workers, or the fewest and the most: [1, 4]"
                )


def is_concurrency(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return len(value) == 2 and all(map(_is_number, value)) and value[0] <= value[1]
    return _is_number(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
