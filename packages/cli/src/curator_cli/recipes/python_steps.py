"""Python steps of recipes: functions from a file beside the recipe, if that is allowed."""

from pathlib import Path as FilePath
from typing import Any

from curator_core import PythonFunction
from curator_core.errors import PipelineError, nearest_file

from curator_cli.recipes.interpolation import Substitution
from curator_cli.recipes.option_validation import OptionContext, validated
from curator_cli.recipes.options import Option, OptionTable, options_of
from curator_cli.recipes.problems import Problems
from curator_cli.recipes.recipe_step import RecipeStep

SOURCE = "source"
"""The option with the file's content, in the recipes that runs store for a retry."""

_SET_BY_RECIPE = ("file", "function")


def python_table() -> OptionTable:
    """Return the options of a Python step."""
    options = {
        n: o for n, o in options_of(PythonFunction).options.items() if n not in _SET_BY_RECIPE
    }
    return OptionTable({**options, SOURCE: Option(SOURCE, str | None, None)})


def build_function(
    step: RecipeStep, table: OptionTable, problems: Problems
) -> dict[str, Any] | None:
    """Return the options of the step's `PythonFunction`, or None if there are problems."""
    if not problems.permissions.allow_python:
        problems.add(
            (*step.path, "python"),
            f"{step.label}: a recipe may not run Python by itself; if you trust {step.stage}, run "
            "with --allow-python",
        )
        return None
    values = validated(
        table, Substitution(problems), step.values, OptionContext(step.path, step.label)
    )
    if values is None:
        return None
    try:
        file, function = _split(step.stage)
        source = values.pop(SOURCE, None)
        if source is None:
            source = _read(file, problems.document.file)
    except PipelineError as error:
        problems.add((*step.path, "python"), f"{step.label}: {error}")
        return None
    found = list(PythonFunction(source, file, function).check())
    for text in found:
        problems.add((*step.path, "python"), f"{step.label}: {text}")
    return None if found else {"source": source, "file": file, "function": function, **values}


def _split(text: str) -> tuple[str, str]:
    file, _, function = text.rpartition(":")
    if not file.endswith(".py") or not function.isidentifier():
        raise PipelineError("write it as FILE.py:FUNCTION, such as rules.py:no_fox")
    if FilePath(file).is_absolute() or ".." in FilePath(file).parts:
        raise PipelineError(f"{file} is not beside the recipe; move it into the recipe's folder")
    return file, function


def _read(file: str, recipe: str) -> str:
    folder = FilePath(recipe).parent
    path = folder / file
    if recipe.startswith("<"):
        raise PipelineError(f"{file} is looked for beside the recipe, which is not a file: save it")
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        near = nearest_file(FilePath(file).name, [p.name for p in path.parent.glob("*.py")])
        raise PipelineError(
            f"there is no {path}" + (f" (did you mean {near}?)" if near else "")
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise PipelineError(f"{path} cannot be read: {error}") from None
