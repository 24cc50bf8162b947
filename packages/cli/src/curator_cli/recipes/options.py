"""Options of stages, executors and workflows, as their classes declare them."""

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

from curator_core import Resources
from curator_core.errors import PluginError
from curator_core.model.policies import SETUP_TIMEOUT_S, OnError
from curator_core.model.secrets import is_credential, mask_secrets
from curator_core.plan.plan import to_plain_data


class Required:
    """Marks an option without a default."""

    def __repr__(self) -> str:
        return "required"


REQUIRED: Final = Required()


@dataclass(frozen=True)
class Option:
    """One option: its type, its default and its description."""

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

    @property
    def choices(self) -> tuple[Any, ...]:
        """The values that its type lists."""
        return _choices(self.annotation)

    def hides(self, value: Any) -> bool:
        """Return whether the value is secret.

        It is if the option is named like a credential, and the value is not one of its listed
        choices, as in `token: Literal["words", "characters"]`.
        """
        return is_credential(self.name) and value not in self.choices

    def shown(self, value: Any) -> Any:
        """Return a value of this option as plain data, with secrets hidden."""
        return mask_secrets(to_plain_data(value), self.name if self.hides(value) else "")


@dataclass(frozen=True, eq=False)
class OptionTable:
    """All options of a class. `is_open` if it also accepts options that are not listed."""

    options: Mapping[str, Option] = field(default_factory=dict)
    is_open: bool = False
    takes_name: bool = False

    def over(self, settings: "OptionTable") -> "OptionTable":
        """Return these options and general settings; an option overrides a setting of its name."""
        both = {**settings.options, **self.options}
        return OptionTable(both, self.is_open, self.takes_name)


@cache
def settings() -> OptionTable:
    """Return the settings of every stage. No recipe sets a runtime_env: it may run any code."""
    from pydantic import Field as Bounds

    count = Annotated[int, Bounds(ge=1)]
    return _table(
        Option("resources", Resources, Resources(), "Resources that each worker needs."),
        Option("batch_size", count, 1, "Maximum number of tasks per call."),
        Option("num_workers", count | None, None, "Fixed number of workers."),
        Option("on_error", OnError | None, None, "What to do with a task that fails."),
        Option(
            "retries",
            Annotated[int, Bounds(ge=0)] | None,
            None,
            "Retries of a failed task.",
        ),
        Option(
            "timeout_s",
            Annotated[float, Bounds(gt=0)] | None,
            None,
            "Time limit in seconds per call.",
        ),
        Option(
            "setup_timeout_s",
            Annotated[float, Bounds(gt=0)] | None,
            SETUP_TIMEOUT_S,
            "Time limit of setup in a worker, in seconds.",
        ),
        Option("workers_per_node", count | None, None, "Number of workers on each node."),
        Option("max_workers_per_node", count | None, None, "Limit of workers on a node."),
        Option(
            "worker_max_lifetime_m",
            Annotated[float, Bounds(ge=0)] | None,
            None,
            "Replace workers after this many minutes; 0: never.",
        ),
        Option(
            "worker_max_tasks",
            Annotated[int, Bounds(ge=0)] | None,
            None,
            "Replace workers after this many tasks; 0: never.",
        ),
        Option(
            "worker_max_rss_gb",
            Annotated[float, Bounds(ge=0)] | None,
            None,
            "Replace workers that use more memory; 0: no limit.",
        ),
        Option(
            "hints",
            dict[str, dict[str, Any]],
            {},
            "Settings by executor name.",
        ),
        Option("fuse", bool, True, "Whether it may be merged with neighbours that share work."),
    )


@cache
def pipeline_settings() -> OptionTable:
    """Return the options under `errors:`, the defaults for all stages."""
    from pydantic import Field as Bounds

    share = Annotated[float, Bounds(ge=0, le=1)]
    return _table(
        Option("on_error", OnError, "quarantine", "What to do with a task that fails."),
        Option(
            "retries",
            Annotated[int, Bounds(ge=0)] | None,
            None,
            "Retries of a failed task.",
        ),
        Option(
            "timeout_s",
            Annotated[float, Bounds(gt=0)] | None,
            None,
            "Time limit in seconds per call.",
        ),
        Option(
            "max_failures",
            Annotated[int, Bounds(ge=0)] | share | None,
            0.1,
            "A count (10), or a share of one stage's tasks (0.01), that ends the run.",
        ),
    )


@cache
def run_settings() -> OptionTable:
    """Return the options under `run:`."""
    from pydantic import Field as Bounds

    return _table(
        Option("run_dir", str | None, None, "Where the run keeps its journal."),
        Option("resume", bool, True, "Whether to resume an earlier run."),
        Option(
            "keep_intermediate",
            bool | None,
            None,
            "Whether to keep the files between steps and workflows, to add new input later.",
        ),
        Option("allow_empty", bool, False, "Whether no input, or no output, is fine."),
        Option("samples", bool, True, "Whether the report shows a few changed or dropped records."),
        Option("fuse", bool, True, "Whether neighbouring stages that share work may run as one."),
        Option(
            "metrics",
            bool | Annotated[int, Bounds(gt=0, lt=65536)] | str,
            False,
            "Serve metrics to Prometheus: true, a port, or HOST:PORT.",
        ),
    )


@cache
def options_of(kind: Any) -> OptionTable:
    """Return the options of a class: the parameters of its constructor and their types.

    Docstrings in the source code are not read here; `with_docs` adds them where they are displayed.
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
    """Add the docstrings below the options in the source code of their class.

    Only for help, schemas and documentation. Without readable source code, they stay empty.
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
    """Return the types of a class's options; a handwritten __init__ overrides the fields."""
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
    """Return the names of methods that `dataclass` did not generate."""
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
    """Return the docstring under each option; a class overrides its parents."""
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
    """Return the class bodies of a module by name; cached, as many stages share few modules."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except Exception:  # noqa: BLE001 - a failure here may only cost the help text
        return {}
    return {node.name: node.body for node in tree.body if isinstance(node, ast.ClassDef)}


def _body_alone(kind: type) -> list[ast.stmt]:
    """Parse the source of one class: for classes in functions and notebooks."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except Exception:  # noqa: BLE001 - as above
        return []
    return tree.body[0].body if tree.body and isinstance(tree.body[0], ast.ClassDef) else []


def _choices(annotation: Any) -> tuple[Any, ...]:
    """Return all values of the Literals in a type."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return tuple(choice for part in get_args(annotation) for choice in _choices(part))


def _type_name(annotation: Any) -> str:
    """Write a type as in source code: `int | None`, without bounds and module names."""
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
