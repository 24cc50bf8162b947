"""The options of a stage or an executor, as its own class declares them."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from curator_core.errors import PluginError
from curator_core.model.policies import SETUP_TIMEOUT_S, OnError
from curator_core.model.resources import Resources
from curator_core.model.secrets import hidden, is_credential
from curator_core.plan.plan import plain


class Required:
    """Stands where an option has no default."""

    def __repr__(self) -> str:
        return "required"


REQUIRED: Final = Required()


@dataclass(frozen=True)
class Option:
    """One option: its type, its default and what it is for."""

    name: str
    annotation: Any = Any
    default: Any = REQUIRED
    doc: str = ""

    @property
    def required(self) -> bool:
        return isinstance(self.default, Required)

    @property
    def type_name(self) -> str:
        return _type_name(self.annotation)

    def hides(self, value: Any) -> bool:
        """Whether it is named like a credential, and the value is none of those it offers itself:
        `token: Literal["words", "characters"]` has no secrets."""
        return is_credential(self.name) and value not in _choices(self.annotation)

    def shown(self, value: Any) -> Any:
        """A value of it as plain data that people may see."""
        return hidden(plain(value), self.name if self.hides(value) else "")


@dataclass(frozen=True, eq=False)
class OptionTable:
    """All options of something. `is_open` where it takes others besides."""

    options: Mapping[str, Option] = field(default_factory=dict)
    is_open: bool = False
    takes_name: bool = False

    def over(self, settings: "OptionTable") -> "OptionTable":
        """These options with general settings beside them; of one name, its own counts."""
        both = {**settings.options, **self.options}
        return OptionTable(both, self.is_open, self.takes_name)


@cache
def settings() -> OptionTable:
    """What may be said about any stage. A runtime_env may run any code, so no recipe has one."""
    from pydantic import Field as Bounds

    count = Annotated[int, Bounds(ge=1)]
    return _table(
        Option("resources", Resources, Resources(), "What one worker of it needs."),
        Option("batch_size", count, 1, "How many tasks it is given at once."),
        Option("num_workers", count | None, None, "A fixed number of workers."),
        Option("on_error", OnError | None, None, "What happens to a task that fails."),
        Option("retries", Annotated[int, Bounds(ge=0)] | None, None, "How often to try again."),
        Option("timeout_s", Annotated[float, Bounds(gt=0)] | None, None, "Seconds for one call."),
        Option(
            "setup_timeout_s",
            Annotated[float, Bounds(gt=0)] | None,
            SETUP_TIMEOUT_S,
            "Seconds for setting it up in a worker.",
        ),
        Option("hints", dict[str, dict[str, Any]], {}, "Settings for single executors, by name."),
    )


@cache
def pipeline_settings() -> OptionTable:
    """What stands under `errors:`, for all stages that do not say otherwise."""
    from pydantic import Field as Bounds

    share = Annotated[float, Bounds(ge=0, le=1)]
    return _table(
        Option("on_error", OnError, "quarantine", "What happens to a task that fails."),
        Option("retries", Annotated[int, Bounds(ge=0)] | None, None, "How often to try again."),
        Option("timeout_s", Annotated[float, Bounds(gt=0)] | None, None, "Seconds for one call."),
        Option(
            "max_failures",
            Annotated[int, Bounds(ge=0)] | share | None,
            0.1,
            "A count (10), or a share of one stage's tasks (0.01), that ends the run.",
        ),
    )


@cache
def run_settings() -> OptionTable:
    """What stands under `run:`."""
    from pydantic import Field as Bounds

    return _table(
        Option("run_dir", str | None, None, "Where the run keeps its journal."),
        Option("resume", bool, True, "Whether to go on where an earlier run stopped."),
        Option("allow_empty", bool, False, "Whether no input, or no output, is fine."),
        Option("samples", bool, True, "Whether the report shows a few changed or dropped records."),
        Option(
            "metrics",
            bool | Annotated[int, Bounds(gt=0, lt=65536)] | str,
            False,
            "Serve metrics to Prometheus: true, a port, or HOST:PORT.",
        ),
    )


@cache
def options_of(kind: Any) -> OptionTable:
    """The options of a class: the parameters it is made with, typed as it says itself.

    What the source code says of them is added by `with_docs`, for those who show it to people.
    """
    hints = _type_hints(kind)
    declared: dict[str, Field[Any]] = {}
    if is_dataclass(kind):
        declared = {found.name: found for found in fields(kind)}
    options, is_open, takes_name = {}, False, False
    for parameter in inspect.signature(kind).parameters.values():
        if parameter.name == "name":
            takes_name = True
        elif parameter.kind is parameter.VAR_KEYWORD:
            is_open = True
        elif parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            options[parameter.name] = Option(
                parameter.name,
                hints.get(parameter.name, Any),
                _default(parameter, declared.get(parameter.name)),
                _doc(declared.get(parameter.name)),
            )
    return OptionTable(options, is_open, takes_name)


def with_docs(table: OptionTable, kind: type) -> OptionTable:
    """The table with the docstrings below the options in the source code of their class.

    For help, schemas and documentation only. Where the source code cannot be read, they are empty.
    """
    docs = _docs_of(kind)
    documented = {
        name: option if option.doc else replace(option, doc=docs.get(name, ""))
        for name, option in table.options.items()
    }
    return replace(table, options=documented)


def _table(*options: Option) -> OptionTable:
    return OptionTable({option.name: option for option in options})


def _type_hints(kind: Any) -> dict[str, Any]:
    """The types of a class's options; an __init__ written by hand has the last word."""
    try:
        hints = get_type_hints(kind, include_extras=True) if is_dataclass(kind) else {}
        if not is_dataclass(kind) or "__init__" in _handwritten(kind):
            hints |= get_type_hints(kind.__init__, include_extras=True)
    except (NameError, TypeError) as error:
        raise PluginError(
            f"the options of {kind.__module__}:{kind.__qualname__} cannot be checked: {error}; "
            "import the types of options outside of `if TYPE_CHECKING`"
        ) from None
    return hints


def _handwritten(kind: Any) -> set[str]:
    """Methods of a dataclass that it did not get from `dataclass` itself."""
    names = [function for function in vars(kind).values() if inspect.isfunction(function)]
    return {made.__name__ for made in names if made.__code__.co_filename != "<string>"}


def _default(parameter: inspect.Parameter, declared: "Field[Any] | None") -> Any:
    if declared is not None and declared.default_factory is not MISSING:
        return declared.default_factory()
    if parameter.default is parameter.empty:
        return REQUIRED
    return parameter.default


def _doc(declared: "Field[Any] | None") -> str:
    return str(declared.metadata.get("doc", "")) if declared is not None else ""


def _docs_of(kind: type) -> dict[str, str]:
    """The text that stands under each option in the class, its own before its parents'."""
    docs: dict[str, str] = {}
    for parent in reversed(kind.__mro__):
        if parent.__module__ != "builtins":
            docs |= _texts_under_names(parent)
    return docs


@cache
def _texts_under_names(kind: type) -> dict[str, str]:
    body = _classes_in(kind.__module__).get(kind.__qualname__) or _body_alone(kind)
    found = {}
    for above, below in pairwise(body):
        if isinstance(above, ast.AnnAssign) and isinstance(above.target, ast.Name):
            text = below.value if isinstance(below, ast.Expr) else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                found[above.target.id] = inspect.cleandoc(text.value)
    return found


@cache
def _classes_in(module: str) -> dict[str, list[ast.stmt]]:
    """The bodies of a module's classes by name: many stages share few modules and parents."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except Exception:  # noqa: BLE001 - no failure is worth more than the help text it costs
        return {}
    return {node.name: node.body for node in tree.body if isinstance(node, ast.ClassDef)}


def _body_alone(kind: type) -> list[ast.stmt]:
    """For classes within functions, and those of notebooks."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except Exception:  # noqa: BLE001 - as above
        return []
    return tree.body[0].body if tree.body and isinstance(tree.body[0], ast.ClassDef) else []


def _choices(annotation: Any) -> tuple[Any, ...]:
    """The values that a type names one by one, whatever else it takes."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return tuple(choice for part in get_args(annotation) for choice in _choices(part))


def _type_name(annotation: Any) -> str:
    """A type as people write it: `int | None`, without its bounds and module names."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type_name(parts[0])
    if origin is Literal:
        return " | ".join(map(repr, parts))
    if origin in (Union, UnionType):
        return " | ".join(map(_type_name, parts))
    if annotation is NoneType:
        return "None"
    if annotation is ...:
        return "..."
    if isinstance(annotation, list):
        return f"[{', '.join(map(_type_name, annotation))}]"
    name = getattr(origin or annotation, "__name__", None) or str(annotation)
    return f"{name}[{', '.join(map(_type_name, parts))}]" if parts else name
