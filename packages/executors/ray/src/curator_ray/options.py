"""Executor options: given as a dataclass or by name, with checks of their values."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, Protocol, TypeVar, cast

from curator_core.errors import PipelineError, hint


class RayOptions(Protocol):
    """What the options of all executors on Ray have in common; they are dataclasses."""

    @property
    def address(self) -> str | None:
        """The cluster to join, unless this process is connected to one already."""

    @property
    def object_store_gb(self) -> float | None:
        """Size of the object store of a private cluster."""


Options = TypeVar("Options")


def resolve_options(
    options: Options | None, config: Mapping[str, Any] | None, kind: Any, executor: str
) -> Options:
    """Return the options, or make them from a config with the same names."""
    if options is not None and config is not None:
        raise PipelineError(f"give the {executor} executor options or a config, not both")
    return options or cast(Options, kind.from_config(config or {}))


def options_from_config(kind: type[Options], config: Mapping[str, Any], executor: str) -> Options:
    """Make options of this dataclass; refuse unknown names, with a suggestion."""
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    problems = [
        f"the {executor} executor has no option {name!r}{hint(name, known)}"
        for name in config
        if name not in known
    ]
    if problems:
        raise PipelineError(problems)
    return kind(**config)


def number_problems(options: object, names: Iterable[str], whole: Iterable[str]) -> Iterator[str]:
    """Yield a problem for each option of the wrong numeric type."""
    for name in names:
        value = getattr(options, name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if name in whole and value is not None and not isinstance(value, int):
            yield f"{name} is {value!r}, but must be a whole number"
        elif value is not None and not is_number:
            yield f"{name} is {value!r}, but must be a number"


def choice_problems(name: str, value: object, choices: Mapping[str, str]) -> Iterator[str]:
    """Yield a problem if the value is not one of the choices, which map to their meanings."""
    if value not in choices:
        known = " or ".join(f"{choice!r} ({meaning})" for choice, meaning in choices.items())
        yield f"{name} is {value!r}, but must be {known}{hint(str(value), list(choices))}"
