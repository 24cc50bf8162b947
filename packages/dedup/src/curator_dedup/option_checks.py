"""Checks of option values, with messages that name the option.

Values from recipes and the command line already have the right type; those from Python may not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from numbers import Integral, Real
from types import NoneType
from typing import Any, get_args, get_type_hints

from curator_core.errors import hint

_TYPES: dict[type, tuple[type, str]] = {
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    bool: (bool, "True or False"),
    NoneType: (NoneType, "None"),
}


def wrong_types(options: Any) -> Iterator[str]:
    """Yield a problem for each number or boolean of a dataclass whose value has another type."""
    declared = get_type_hints(type(options))
    for option in fields(options):
        types = get_args(declared[option.name]) or (declared[option.name],)
        value = getattr(options, option.name)
        if _can_check(types) and not any(_is_a(value, kind) for kind in types):
            expected = " or ".join(_TYPES[kind][1] for kind in types)
            yield f"{option.name} is {value!r}, but must be {expected}"


def _can_check(types: tuple[Any, ...]) -> bool:
    return all(isinstance(kind, type) and kind in _TYPES for kind in types)


def _is_a(value: Any, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, _TYPES[kind][0])


def wrong_choices(options: Any, allowed: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """Yield a problem for each option whose value is not an allowed one."""
    for name, values in allowed.items():
        value = getattr(options, name)
        if value not in values:
            yield f"{name} is {value!r}{hint(str(value), filter(None, values))}"


def too_small(options: Any, names: Iterable[str], minimum: int = 1) -> Iterator[str]:
    """Yield a problem for each option that is set to less than the minimum."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value < minimum:
            yield f"{name} is {value}, but must be {minimum} or more"
