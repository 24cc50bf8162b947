"""Deep comparison, for payloads that `==` cannot compare: tables, arrays, NaN."""

from collections.abc import Mapping
from typing import Any

from curator_core.model.tasks import AnyTask, Task

_BY_IDENTITY: Any = object.__eq__


def is_deeply_equal(one: Any, other: Any) -> bool:
    """Whether two values are deeply equal. NaN equals NaN; arrays are compared by element."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, Task):
        return has_same_content(one, other)
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(
            is_deeply_equal(one[key], other[key]) for key in one
        )
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(is_deeply_equal, one, other))
    return _alike_inside(one, other)


def has_same_content(one: AnyTask, other: AnyTask) -> bool:
    """Whether two tasks carry the same content, ignoring the framework's attributes."""
    return (
        one.dataset_name == other.dataset_name
        and is_deeply_equal(one.metadata, other.metadata)
        and is_deeply_equal(one.data, other.data)
    )


def _alike_inside(one: Any, other: Any) -> bool:
    if hasattr(one, "to_pylist"):  # Arrow, where NaN is not equal to NaN
        kinds = [getattr(value, "schema", None) or value.type for value in (one, other)]
        return bool(kinds[0] == kinds[1]) and is_deeply_equal(one.to_pylist(), other.to_pylist())
    if hasattr(one, "shape") and hasattr(one, "dtype"):  # == compares by element
        same_form = bool(one.shape == other.shape and one.dtype == other.dtype)
        return same_form and bool(((one == other) | ((one != one) & (other != other))).all())
    if type(one).__eq__ is _BY_IDENTITY and hasattr(one, "__dict__"):
        return is_deeply_equal(vars(one), vars(other))
    return bool(one == other or (one != one and other != other))
