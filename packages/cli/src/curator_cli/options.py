"""Options that several commands share."""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, get_args

import click

from curator_cli.output import Screen

if TYPE_CHECKING:
    from curator_core import Executor

    from curator_cli.recipes import Permissions, Recipe
    from curator_cli.recipes.problems import Path

Command = Callable[..., Any]


def with_output(function: Command) -> Command:
    """Add --json and --debug to a command, and pass it its `Screen`."""

    @click.option("--json", "as_json", is_flag=True, help="Print only JSON on stdout.")
    @click.option("--debug", is_flag=True, help="Show the full traceback of an error.")
    @wraps(function)
    def command(
        as_json: bool, debug: bool, **options: Any
    ) -> Any:  # main() itself looks for --debug
        return function(Screen(as_json), **options)

    return command


def permitting(function: Command) -> Command:
    """Add the options that permit what an untrusted recipe may do."""

    @click.option(
        "--trust-code", is_flag=True, help="Let the recipe run code that comes with models."
    )
    @click.option(
        "--allow-python",
        is_flag=True,
        help="Let the recipe call functions of Python files beside it.",
    )
    @click.option(
        "--allow-protocol",
        "protocols",
        multiple=True,
        metavar="NAME",
        help="Let the recipe use a protocol such as ftp or zip; repeatable.",
    )
    @click.option(
        "--env",
        "variables",
        multiple=True,
        metavar="NAME",
        help="Let the recipe read an environment variable; repeatable.",
    )
    @wraps(function)
    def command(
        *given: Any,
        trust_code: bool,
        allow_python: bool,
        protocols: tuple[str, ...],
        variables: tuple[str, ...],
        **options: Any,
    ) -> Any:
        from curator_cli.recipes import Permissions

        _refuse_unknown(_names(protocols))
        permissions = Permissions.of_environment().widened(
            trust_code=trust_code,
            allow_python=allow_python,
            protocols=_names(protocols),
            variables=_names(variables),
        )
        return function(*given, permissions=permissions, **options)

    return command


def _names(given: tuple[str, ...]) -> list[str]:
    """Return the names of all options; one option may hold several, separated by commas."""
    return [name.strip() for text in given for name in text.split(",") if name.strip()]


def _refuse_unknown(protocols: list[str]) -> None:
    from curator_core.errors import hint

    if protocols:
        from curator_cli.recipes.permissions import known_protocols

        known = known_protocols()
        for name in protocols:
            if name not in known:
                raise click.UsageError(
                    f"--allow-protocol: no protocol named {name!r}{hint(name, known)}"
                )


def on_recipe(function: Command) -> Command:
    """Add the RECIPE argument, and the options that change the recipe and choose its executor."""

    @click.argument("recipe", metavar="RECIPE")
    @click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="Change an option: steps.<id>.<option>=<value>, input.…, output.…; repeatable.",
    )
    @click.option("--executor", metavar="NAME", help="Run on this executor: see `curate plugins`.")
    @click.option("--workers", type=click.IntRange(0), help="Number of worker processes.")
    @permitting
    @wraps(function)
    def command(
        *given: Any,
        recipe: str,
        settings: tuple[str, ...],
        executor: str | None,
        workers: int | None,
        permissions: "Permissions",
        **options: Any,
    ) -> Any:
        arguments = RecipeArguments(recipe, permissions, settings, executor, workers)
        return function(*given, arguments=arguments, **options)

    return command


@dataclass(frozen=True)
class RecipeArguments:
    """A recipe, and how the command line changes it."""

    path: str
    permissions: "Permissions"
    settings: tuple[str, ...] = ()
    executor: str | None = None
    workers: int | None = None

    def recipe(self, *more: str) -> "Recipe":
        """Return the recipe with all changes applied, or raise with every problem in it."""
        from curator_core.plugins.registry import plugins

        from curator_cli.recipes import load_recipe

        if self.executor:
            plugins().executors.load(self.executor)  # else its problems would be blamed on --set
        named = [f"executor={self.executor}"] if self.executor else []  # before its own options
        settings = [*named, *self.settings, *more]
        recipe = load_recipe(self.path, settings, permissions=self.permissions)
        if self.workers is None:
            return recipe
        return with_executor_option(recipe, "workers", str(self.workers))


_REFUSALS = {
    "workers": "has as many workers as its cluster holds; give a step its num_workers "
    "(--set steps.<id>.num_workers=2), or use --executor local",
    "dashboard": "has no dashboard; use --executor streaming (pip install curator-streaming)",
}


def with_executor_option(recipe: "Recipe", option: str, value: str) -> "Recipe":
    """Return the recipe with an option of its executor, or of the default one."""
    from curator_cli.recipes import apply_settings

    name = executor_name(recipe)
    refuse_without_option(name, option)
    settings = [f"executor.{option}={value}"]
    if recipe.executor_options is None:
        settings.insert(0, f"executor={name}")
    return apply_settings(recipe, settings)


def executor_name(recipe: "Recipe | None" = None) -> str:
    """Return the name of the recipe's executor, or of the default one."""
    from curator_core.pipeline import choose_executor
    from curator_core.plugins.registry import plugins

    chosen = recipe.executor_options if recipe else None
    kind = chosen[0] if chosen else type(choose_executor(None))
    return plugins().executors.name_of(kind) or "local"


def refuse_without_option(executor: str, option: str) -> None:
    """Raise if the executor lacks an option: its own error would not mention the flag."""
    from curator_core.errors import PipelineError
    from curator_core.plugins.registry import plugins

    from curator_cli.recipes.options import options_of

    table = options_of(plugins().executors.load(executor)).options
    names = set(table)
    for kind in get_args(table["options"].annotation) if "options" in table else ():
        names |= {field.name for field in fields(kind)} if is_dataclass(kind) else set()
    if option not in names:
        raise PipelineError(f"--{option}: the executor {executor!r} {_REFUSALS[option]}")


def executor_for(recipe: "Recipe") -> "Executor":
    """Return the recipe's executor, or the default one."""
    from curator_core.pipeline import choose_executor

    return choose_executor(recipe.executor())


def recipe_text(recipe: "Recipe", *, with_sources: bool = True) -> str:
    """Return the recipe as it runs, settings included: a retry of the run starts from it.

    For that it has the content of the Python files that it uses, unless `with_sources` is False.
    Variables are not substituted, and values whose names suggest credentials are masked.
    """
    import yaml

    data = {**recipe.document.data, "name": recipe.name}
    sources = recipe.python_sources() if with_sources else {}
    data["steps"] = [
        {**step, "source": sources["steps", at]} if ("steps", at) in sources else step
        for at, step in enumerate(data.get("steps") or [])
    ]
    masked = _without_credentials(data, _harmless(recipe))
    return str(yaml.safe_dump(masked, sort_keys=False, allow_unicode=True, width=100))


def _harmless(recipe: "Recipe") -> "set[Path]":
    """Return the paths of values that belong to stages' own options and are not credentials."""
    from curator_cli.recipes.steps import table_of

    return {
        (*step.path, option.name)
        for step in recipe.steps
        for option in table_of(step, recipe.plugins).options.values()
        if option.name in step.values and not option.hides(step.values[option.name])
    }


def _without_credentials(value: Any, harmless: "set[Path]", path: "Path" = ()) -> Any:
    from curator_core.model.secrets import MASK, is_credential

    if isinstance(value, dict):
        items = value.items()
        return {k: _without_credentials(v, harmless, (*path, str(k))) for k, v in items}
    if isinstance(value, list):
        return [_without_credentials(v, harmless, (*path, at)) for at, v in enumerate(value)]
    name = next((part for part in reversed(path) if isinstance(part, str)), "")
    is_plain = isinstance(value, str) and "${" not in value and path not in harmless
    return MASK if value and is_plain and is_credential(name) else value


def short_name(name: str) -> str:
    """Return the name of a workflow or command without its plugin's name."""
    return (name.partition(".")[2] or name).replace("_", "-")
