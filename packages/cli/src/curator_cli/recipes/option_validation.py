"""Check the options of one stage, executor or workflow, and describe the problems."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_args

from curator_core.errors import PluginError, hint
from curator_core.model.secrets import MASK, Secret, is_credential, redact

from curator_cli.recipes.interpolation import Substitution
from curator_cli.recipes.options import OptionTable
from curator_cli.recipes.problems import Path, Problems, option_problems

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails


@dataclass(frozen=True)
class OptionContext:
    """Whose options are checked, and their path in the recipe."""

    path: Path
    label: str = ""
    noun: str = "option"

    def prefix(self, text: str) -> str:
        """Put the label, if there is one, before a message."""
        return f"{self.label}: {text}" if self.label else text


def validated(
    table: OptionTable, given: Substitution, values: Mapping[str, Any], context: OptionContext
) -> dict[str, Any] | None:
    """Return the values converted to their types, or None if there are problems."""
    from pydantic import ValidationError

    problems = given.problems
    before = len(problems)
    resolved = given.apply(dict(values), context.path)
    if context.path:  # the recipe's own name and description need no permission
        for path, text in option_problems(resolved, context.path, problems):
            problems.add(path, context.prefix(redact(text)))
    try:
        model = model_of(table)
    except PluginError as error:
        problems.add(context.path, context.prefix(redact(str(error))))
        return None
    try:
        made = model.model_validate_json(json.dumps(resolved), strict=True)
    except ValidationError as error:
        _Findings(table, values, context, problems).add(error.errors(include_url=False))
        return None
    if len(problems) > before:
        return None
    found = {name: getattr(made, at) for at, name in _names(model) if at in made.model_fields_set}
    return {
        n: _keep_secret(v, given.secrets) for n, v in {**found, **(made.model_extra or {})}.items()
    }


@lru_cache(maxsize=1024)
def model_of(table: OptionTable) -> "type[BaseModel]":
    """Return a pydantic model of the options. Fields are numbered: options may have any name."""
    from pydantic import ConfigDict, Field, PydanticUserError, create_model

    declared: dict[str, Any] = {}
    for at, option in enumerate(table.options.values()):
        default = ... if option.required else option.default
        described: Any = Field(default, alias=option.name, description=option.doc or None)
        declared[f"option{at}"] = (option.annotation, described)
    extra = "allow" if table.is_open else "forbid"
    config = ConfigDict(extra=extra, arbitrary_types_allowed=True)  # type: ignore[typeddict-item]
    try:
        made: type[BaseModel] = create_model("Options", __config__=config, **declared)
    except PydanticUserError as error:
        name = _find_unsupported(declared, config)
        raise PluginError(f"option {name!r} cannot be checked: {error.message}") from None
    return made


def _find_unsupported(declared: Mapping[str, Any], config: Any) -> str:
    """Return the name of the first option for which pydantic cannot make a field."""
    from pydantic import PydanticUserError, create_model

    for option in declared.values():
        try:
            create_model("Option", __config__=config, option=option)
        except PydanticUserError:
            return str(option[1].alias)
    return ""


def _names(model: "type[BaseModel]") -> Iterator[tuple[str, str]]:
    return ((at, str(found.alias)) for at, found in model.model_fields.items())


def _keep_secret(value: Any, secrets: Mapping[str, Secret]) -> Any:
    """Wrap the secret texts in a value so that no repr shows them."""
    if not secrets:
        return value
    if isinstance(value, str):
        return secrets.get(value, value)
    if isinstance(value, dict):
        return {key: _keep_secret(item, secrets) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return type(value)(_keep_secret(item, secrets) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        changed = copy(value)
        for found in fields(changed):
            kept = _keep_secret(getattr(changed, found.name), secrets)
            object.__setattr__(changed, found.name, kept)
        return changed
    return value


class _Findings:
    """Turns pydantic's errors into messages."""

    def __init__(
        self,
        table: OptionTable,
        values: Mapping[str, Any],
        context: OptionContext,
        problems: Problems,
    ) -> None:
        self.table = table
        self.values = values
        self.context = context
        self.problems = problems

    def add(self, errors: "Iterable[ErrorDetails]") -> None:
        mismatches: dict[Path, list[ErrorDetails]] = {}
        for error in errors:
            path = self._path(error["loc"])
            if error["type"] in _MESSAGES:
                self._add_problem(path, _MESSAGES[error["type"]](self, path, error))
            else:
                mismatches.setdefault(path, []).append(error)
        for path, found in mismatches.items():
            self._add_problem(path, self._mismatch(path, found))

    def _add_problem(self, path: Path, text: str) -> None:
        self.problems.add((*self.context.path, *path), self.context.prefix(redact(text)))

    def _path(self, location: Iterable[str | int]) -> Path:
        """Return the path in the recipe: pydantic's location also names members of unions."""
        path: list[str | int] = []
        value: Any = self.values
        for part in location:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                continue
            path.append(part)
        return tuple(path)

    def _label(self, path: Path) -> str:
        return f"{self.context.noun} {_format_path(path)}" if path else self.context.noun

    def unknown(self, path: Path, error: "ErrorDetails") -> str:
        *around, name = path
        known = self._known_at(tuple(around))
        inside = f" in {_format_path(tuple(around))}" if around else ""
        return f"no {self.context.noun} named {str(name)[:80]!r}{inside}{hint(str(name), known)}"

    def missing(self, path: Path, error: "ErrorDetails") -> str:
        name = error["loc"][-1]
        return f"{self._label((*path, name))} is missing, and has no default"

    def refused(self, path: Path, error: "ErrorDetails") -> str:
        return f"{self._label(path)}: {error['ctx']['error']}"

    def only_python(self, path: Path, error: "ErrorDetails") -> str:
        return f"{self._label(path)} can be given in Python only, not in a recipe"

    def _mismatch(self, path: Path, errors: "list[ErrorDetails]") -> str:
        value = self._at(path)
        expected = " or ".join(dict.fromkeys(_describe_expected(error) for error in errors))
        expected = expected.replace("a whole number or a number", "a number")
        words = [word for error in errors for word in re.findall(r"'([^']*)'", _choices(error))]
        near = hint(value, words) if isinstance(value, str) and words else ""
        near = near if "did you mean" in near else ""
        shown = _format_value(value, path)
        return (
            f"{self._label(path)} must be {expected}, but is {shown}{near}{_tip(value, expected)}"
        )

    def _at(self, path: Path) -> Any:
        value: Any = self.values
        for part in path:
            value = value[part]
        return value

    def _known_at(self, path: Path) -> list[str]:
        """Return the option names that are declared at `path`."""
        if not path:
            return list(self.table.options)
        option = self.table.options.get(str(path[0]))
        kinds = list(_dataclasses_in(option.annotation)) if option else []
        for part in path[1:]:
            if isinstance(part, str):
                kinds = [inner for kind in kinds for inner in _dataclasses_of_field(kind, part)]
        return [found.name for kind in kinds for found in fields(kind) if found.init]


_MESSAGES = {
    "missing": _Findings.missing,
    "missing_argument": _Findings.missing,
    "extra_forbidden": _Findings.unknown,
    "unexpected_keyword_argument": _Findings.unknown,
    "value_error": _Findings.refused,
    "assertion_error": _Findings.refused,
    "callable_type": _Findings.only_python,
    "is_instance_of": _Findings.only_python,
    "is_subclass_of": _Findings.only_python,
    "needs_python_object": _Findings.only_python,
}

_WORDS = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "path_type": "text",
    "bool_type": "true or false",
    "none_required": "null",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "dataclass_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
}


def _format_path(path: Path) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")[:200]


def _describe_expected(error: "ErrorDetails") -> str:
    return _WORDS.get(error["type"]) or error["msg"].removeprefix("Input should be ")


def _choices(error: "ErrorDetails") -> str:
    return str(error.get("ctx", {}).get("expected", ""))


def _format_value(value: Any, path: Path) -> str:
    """Return a value as the recipe has it, with `${secret:…}` unresolved and credentials masked."""
    if isinstance(value, str):
        if path and is_credential(str(path[-1])):
            return MASK
        text = redact(value)
        return repr(text if len(text) <= 60 else f"{text[:60]}…")
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a mapping"
    return json.dumps(value)


def _tip(value: Any, expected: str) -> str:
    if expected == "a list" and isinstance(value, dict):
        return " (begin each entry with `- `)"
    if expected == "text" and isinstance(value, bool | int | float):
        return " (quotes make it text)"
    if "number" in expected and isinstance(value, str):
        if re.fullmatch(r"[+-]?\d+[eE][+-]?\d+", value):
            return " (YAML takes that for text; write it with a point, as 1.0e-3)"
        if value.startswith("${"):
            return " (environment variables are text)"
    return ""


def _dataclasses_in(annotation: Any) -> Iterator[type]:
    if isinstance(annotation, type) and is_dataclass(annotation):
        yield annotation
    for part in get_args(annotation):
        yield from _dataclasses_in(part)


def _dataclasses_of_field(kind: type, name: str) -> Iterator[type]:
    from typing import get_type_hints

    yield from _dataclasses_in(get_type_hints(kind).get(name))
