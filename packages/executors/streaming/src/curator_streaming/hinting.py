"""Hints: what a stage may say to this executor with `hints={"streaming": {...}}`."""

from collections.abc import Iterator

from curator_core import Plan
from curator_core.errors import hint

KNOWN = ("fuse",)


def wrong_hints(plan: Plan) -> Iterator[str]:
    """What is no hint, or has no value that could be meant."""
    for planned in plan.stages:
        at = f"stage {planned.index + 1} {planned.name!r}"
        for name, value in planned.hints.get("streaming", {}).items():
            if name not in KNOWN:
                yield f"{at}: no streaming hint {name!r}{hint(name, KNOWN)}"
            elif not isinstance(value, bool):
                yield f"{at}: the streaming hint {name!r} is {value!r}, but must be True or False"
