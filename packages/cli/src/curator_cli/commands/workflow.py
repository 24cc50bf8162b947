"""Commands of plugins: `curate PLUGIN WORKFLOW IN OUT`, and the commands that plugins define."""

from collections.abc import Callable, Iterable, Sequence
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import click
from curator_core import Resources
from curator_core.errors import CuratorError, hint

from curator_cli.commands.run import RunFlags, run_workflow
from curator_cli.options import short_name, with_output
from curator_cli.output import Screen

if TYPE_CHECKING:
    from curator_core import Workflow

    from curator_cli.recipes.options import Option, OptionTable
    from curator_cli.recipes.problems import Document

_COMMON = (
    click.Option(["--executor"], metavar="NAME", help="Run on this executor."),
    click.Option(["--workers"], type=click.IntRange(0), help="Number of worker processes."),
    click.Option(["--no-resume"], is_flag=True, help="Start over and replace earlier output."),
    click.Option(["--prune"], is_flag=True, help="Delete the output of removed input; see --yes."),
    click.Option(["--yes"], is_flag=True, help="With --prune, delete instead of listing."),
    click.Option(["--keep-removed"], is_flag=True, help="Keep the output of removed input."),
    click.Option(["--shared"], is_flag=True, help="Let other users in your group resume the run."),
    click.Option(["--allow-empty"], is_flag=True, help="Allow runs without input or output."),
    click.Option(["--strict"], is_flag=True, help="Exit with 3 if anything is in quarantine."),
    click.Option(["--logs"], is_flag=True, help="Show what stages print on workers of a cluster."),
    click.Option(["--quiet"], is_flag=True, help="Only print errors."),
)  # fmt: skip


class PluginGroup(click.Group):
    """The workflows and commands of one plugin; `load` returns a command by its full name."""

    def __init__(self, plugin: str, owner: str, load: Callable[[str], click.Command]) -> None:
        super().__init__(plugin, help=f"Workflows and commands of {owner}.")
        self.plugin = plugin
        self._load = load

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args or ["--help"])

    def list_commands(self, ctx: click.Context) -> list[str]:
        return self._names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (name := self._workflows().get(cmd_name)) is not None:
            return workflow_command(name, cmd_name)
        name = self._commands().get(cmd_name)
        return None if name is None else self._load(name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, known = args[0], self.list_commands(ctx)
        if not name.startswith("-") and name not in known:
            raise click.UsageError(
                f"{self.plugin} has no workflow or command {name!r}{hint(name, known)}", ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._sentence(ctx, name)) for name in self._names()])

    def _sentence(self, ctx: click.Context, name: str) -> str:
        """Return the short help of a command; a broken command must not break the whole list."""
        try:
            command = self.get_command(ctx, name)
        except CuratorError as error:
            return f"Is broken: {error}"
        return command.get_short_help_str(limit=100) if command else ""

    def _names(self) -> list[str]:
        return list(self._workflows() | self._commands())

    def _workflows(self) -> dict[str, str]:
        from curator_core.plugins.registry import plugins

        return self._short(plugins().workflows)

    def _commands(self) -> dict[str, str]:
        from curator_core.plugins.registry import plugins

        return self._short(plugins().commands)

    def _short(self, names: Iterable[str]) -> dict[str, str]:
        """Map the last part of each name to the full name."""
        own = (name for name in names if name.partition(".")[0] == self.plugin)
        return {short_name(name): name for name in own}


def workflow_command(name: str, short: str) -> click.Command:
    """Build the command of a workflow from the options of its class."""
    from curator_core.plugins.registry import plugins

    from curator_cli.recipes.help import doc_of
    from curator_cli.recipes.workflows import load_workflow, workflow_table

    kind = load_workflow(name, plugins())
    table = workflow_table(kind)

    @with_output
    def called(screen: Screen, **values: Any) -> None:
        _run(screen, name, table, values)

    own = _parameters(table)
    taken = {parameter.name for parameter in own}
    common = [option for option in _COMMON if option.name not in taken]
    doc = doc_of(kind)
    return _WorkflowCommand(
        short,
        kind=kind,
        callback=called,
        params=[*own, *common, *reversed(getattr(called, "__click_params__", ()))],
        help=doc,
        short_help=doc.partition("\n")[0],
        context_settings={"token_normalize_func": _with_dashes},
    )


class _WorkflowCommand(click.Command):
    """A workflow's command; reads the options' docstrings only to show help."""

    def __init__(self, name: str, *, kind: type["Workflow"], **settings: Any) -> None:
        super().__init__(name, **settings)
        self._kind = kind

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        from curator_cli.recipes.options import options_of, with_docs

        table = with_docs(options_of(self._kind), self._kind)
        documented = {p.name: p for p in _parameters(table) if isinstance(p, click.Option)}
        for parameter in self.params:
            if isinstance(parameter, click.Option) and parameter.name in documented:
                parameter.help = documented[parameter.name].help
        super().format_options(context, formatter)


def _with_dashes(text: str) -> str:
    return text.replace("_", "-")


def _parameters(table: "OptionTable") -> list[click.Parameter]:
    """Turn required options into arguments, in their order, and the others into named options."""
    parameters: list[click.Parameter] = []
    has_list = False
    for option in table.options.values():
        if option.required:
            many = not has_list and _takes_list(option)
            has_list |= many
            parameters.append(_argument(option, many=many))
        else:
            parameters.append(_make_option(option))
    return parameters


def _argument(option: "Option", *, many: bool) -> click.Argument:
    metavar = option.name.upper() + ("..." if many else "")
    return click.Argument([option.name], required=True, nargs=-1 if many else 1, metavar=metavar)


def _make_option(option: "Option") -> click.Option:
    flag = f"--{_with_dashes(option.name)}"
    doc = " ".join(option.doc.split())
    if bool in _kinds(option.annotation):
        default = _describe_default(option.default)
        return click.Option(
            [f"{flag}/--no-{flag[2:]}", option.name], default=None, help=f"{doc}{default}"
        )
    return click.Option(
        [flag, option.name],
        metavar=_metavar(option),
        multiple=_takes_list(option),
        help=f"{doc}{_describe_default(option.default)}",
    )


def _describe_default(default: Any) -> str:
    if default is None or default == {} or default == []:
        return ""
    shown = {True: "yes", False: "no"}.get(default) if isinstance(default, bool) else default
    if isinstance(default, Resources):  # written as on the command line
        shown = "{" + ", ".join(f"{name}: {amount}" for name, amount in default.asked.items()) + "}"
    return f"  [default: {shown}]"


def _metavar(option: "Option") -> str:
    words = [word for kind in _kinds(option.annotation) if isinstance(kind, str) for word in [kind]]
    if words:
        return f"[{'|'.join(words)}]"
    names = {int: "N", float: "X", str: "TEXT"}
    found = [names[kind] for kind in _kinds(option.annotation) if kind in names]
    return "|".join(found) or "YAML"


def _kinds(annotation: Any) -> list[Any]:
    """Return the types an option accepts, without None, and the values of its choices."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kinds(parts[0])
    if origin is Literal:
        return list(parts)
    if origin in (Union, UnionType):
        return [kind for part in parts for kind in _kinds(part)]
    return [] if annotation is type(None) else [origin or annotation]


def _takes_list(option: "Option") -> bool:
    kinds = _kinds(option.annotation)
    return str in kinds and list in kinds


def _run(screen: Screen, name: str, table: "OptionTable", values: dict[str, Any]) -> None:
    from curator_cli.recipes.loading import checked

    given = {
        option.name: _value(option, values[option.name])
        for option in table.options.values()
        if values.get(option.name) not in (None, ())
    }
    common = {key: value for key, value in values.items() if key not in table.options}
    executor, workers = common.pop("executor", None), common.pop("workers", None)
    recipe = checked(_document(name, given, table, _executor(executor, workers)))
    run_workflow(screen, recipe, RunFlags(**common))


def _executor(name: str | None, workers: int | None) -> dict[str, Any] | None:
    from curator_cli.options import executor_name, refuse_without_option

    if name is None and workers is None:
        return None
    name = name or executor_name()
    if workers is None:
        return {"name": name}
    refuse_without_option(name, "workers")
    return {"name": name, "workers": workers}


def _document(
    name: str, given: dict[str, Any], table: "OptionTable", executor: dict[str, Any] | None
) -> "Document":
    """Return the recipe that does what the command line asks for."""
    from curator_cli.recipes.problems import Document, Path
    from curator_cli.recipes.workflows import KEY, OPTIONS

    places: dict[Path, int | str] = {(): name, (OPTIONS,): name, ("executor",): "--executor"}
    for option in given:
        flag = option.upper() if table.options[option].required else f"--{_with_dashes(option)}"
        places[OPTIONS, option] = flag
    data: dict[str, Any] = {KEY: name, OPTIONS: given}
    if executor is not None:
        data["executor"] = executor
    return Document("command line", data, places)


def _value(option: "Option", given: Any) -> Any:
    """Keep text where the option takes only text; otherwise parse it as a recipe would."""
    from curator_cli.recipes.parsing import parse_value

    if isinstance(given, bool):
        return given
    if isinstance(given, Sequence) and not isinstance(given, str):
        return given[0] if len(given) == 1 else list(given)
    kinds = _kinds(option.annotation)
    is_text = all(kind is str or isinstance(kind, str) for kind in kinds)
    return given if is_text else parse_value(given)
