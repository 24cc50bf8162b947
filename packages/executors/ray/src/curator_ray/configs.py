"""Configs: options as plain names and values, and what is wrong with them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from curator_core.errors import PipelineError, hint

Options = TypeVar("Options")


def from_config(kind: type[Options], config: Mapping[str, Any], executor: str) -> Options:
    """Options of this kind; what is no option is named, with what may have been meant."""
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    problems = [
        f"the {executor} executor has no option {name!r}{hint(name, known)}"
        for name in config
        if name not in known
    ]
    if problems:
        raise PipelineError(problems)
    return kind(**config)


def wrong_numbers(options: object, names: Iterable[str], whole: Iterable[str]) -> Iterator[str]:
    """What stands for another type than a number, as numbers in quotes do."""
    for name in names:
        value = getattr(options, name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if name in whole and value is not None and not isinstance(value, int):
            yield f"{name} is {value!r}, but must be a whole number"
        elif value is not None and not is_number:
            yield f"{name} is {value!r}, but must be a number"


def wrong_choice(name: str, value: object, choices: Mapping[str, str]) -> Iterator[str]:
    """What is none of the choices; their meanings stand beside them."""
    if value not in choices:
        told = " or ".join(f"{choice!r} ({meaning})" for choice, meaning in choices.items())
        yield f"{name} is {value!r}, but must be {told}{hint(str(value), list(choices))}"
