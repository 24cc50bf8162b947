"""Kinds: find options that must be numbers or booleans and have another type.

Values from recipes and the command line are already checked; those from Python are not.
"""

from collections.abc import Iterator
from dataclasses import fields
from numbers import Integral, Real
from types import NoneType
from typing import Any, get_args, get_type_hints

_KINDS: dict[type, tuple[type, str]] = {
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    bool: (bool, "True or False"),
    NoneType: (NoneType, "None"),
}


def wrong_kinds(options: Any) -> Iterator[str]:
    """Yield a problem for each field of a dataclass whose value has the wrong type."""
    declared = get_type_hints(type(options))
    for option in fields(options):
        kinds = get_args(declared[option.name]) or (declared[option.name],)
        value = getattr(options, option.name)
        if _all_known(kinds) and not any(_is(value, kind) for kind in kinds):
            wanted = " or ".join(_KINDS[kind][1] for kind in kinds)
            yield f"{option.name} is {value!r}, but must be {wanted}"


def _all_known(kinds: tuple[Any, ...]) -> bool:
    return all(isinstance(kind, type) and kind in _KINDS for kind in kinds)


def _is(value: Any, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, _KINDS[kind][0])
