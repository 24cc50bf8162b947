"""Settings: change single options of a recipe from outside, as `steps.<id>.<option>=<value>`."""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import replace
from typing import Any

from curator_core.errors import PipelineError, hint

from curator_cli.recipes.parsing import parse_value
from curator_cli.recipes.permissions import Permissions
from curator_cli.recipes.problems import Document, Path, Problems
from curator_cli.recipes.recipe_step import RecipeStep
from curator_cli.recipes.steps import find_steps

_SECTIONS = ("input", "output", "options", "executor", "errors", "run")
_WHOLE = ("name", "description", "executor")
_SHORT_FORM = {"executor": "name"}
"""The key for the text of a part when it becomes a mapping; for steps, `stage`."""


def with_settings(document: Document, settings: Iterable[str]) -> Document:
    """Apply every setting to the document, or raise with all problems in the settings."""
    steps = find_steps(document, Problems(document, Permissions()))
    problems = []
    for setting in settings:
        key, equals, text = setting.partition("=")
        try:
            if not (equals and key.strip()):
                raise _RefusedError("write it as steps.<id>.<option>=<value>")
            path = _path(key.strip(), steps, document)
            document = _apply_change(document, path, parse_value(text), f"--set {key.strip()}")
        except _RefusedError as refused:
            problems.append(f"--set {key.strip()[:200] or repr(setting)}: {refused}")
    if problems:
        raise PipelineError(problems)
    return document


class _RefusedError(Exception):
    """A setting that cannot be applied."""


def _path(key: str, steps: list[RecipeStep], document: Document) -> Path:
    head, _, rest = key.partition(".")
    if head == "steps" and rest:
        return _path_in_steps(rest, steps)
    if head in _SECTIONS and rest:
        needed = "workflow" if head == "options" else head
        if head in ("input", "output", "options") and needed not in document.data:
            raise _RefusedError(f"this recipe has no `{needed}:`")
        return head, *_parts(rest)
    if key in _WHOLE:
        return (key,)
    if head in (*_SECTIONS, "steps"):
        raise _RefusedError(
            "name the option, too" if head != "steps" else "write steps.<id>.<option>"
        )
    raise _RefusedError(f"no section named {head!r}{hint(head, ('steps', *_SECTIONS, *_WHOLE))}")


def _path_in_steps(rest: str, steps: list[RecipeStep]) -> Path:
    """Return the path of a step's option. Ids may contain dots: the longest that matches wins."""
    for step in sorted(steps, key=lambda step: len(step.id), reverse=True):
        if rest == step.id:
            raise _RefusedError("name the option, too")
        if rest.startswith(f"{step.id}."):
            return *step.path, *_parts(rest[len(step.id) + 1 :])
    name = rest.partition(".")[0]
    raise _RefusedError(f"no step named {name!r}{hint(name, [step.id for step in steps])}")


def _parts(text: str) -> list[str]:
    parts = text.split(".")
    if not all(parts):
        raise _RefusedError("there is nothing between two of its dots")
    return parts


def _apply_change(document: Document, path: Path, value: Any, place: str) -> Document:
    data = deepcopy(document.data)
    around: Any = data
    for at, part in enumerate(path[:-1]):
        inner = around.setdefault(part, {}) if isinstance(around, dict) else around[part]
        if isinstance(inner, str) and path[: at + 1] in _short_forms(document):
            inner = around[part] = {_SHORT_FORM.get(str(part), "stage"): inner}
        if not isinstance(inner, dict | list) or (isinstance(inner, list) and path[at] != "steps"):
            raise _RefusedError(f"{'.'.join(map(str, path[: at + 1]))} is not a mapping")
        around = inner
    around[path[-1]] = value
    places = {old: line for old, line in document.places.items() if old[: len(path)] != path}
    return replace(document, data=data, places={**places, path: place})


def _short_forms(document: Document) -> set[Path]:
    steps = document.data.get("steps")
    count = len(steps) if isinstance(steps, list) else 0
    return {("input",), ("output",), ("executor",), *(("steps", at) for at in range(count))}
