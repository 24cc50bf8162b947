"""Fanning out: whether a stage may make several tasks of one, as far as its code says."""

import inspect
import re
from collections.abc import Iterable, Mapping
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from curator_core.outcomes import Dropped, Rejected
from curator_core.stages import AnyStage, ProcessingStage

_SEVERAL = re.compile(r"(typing\.)?(list|List|Iterator|Iterable|Generator|Sequence|tuple)\[")
_NOTES = re.compile(r"\b(Dropped|Rejected)\b")


def may_fan_out(stage: AnyStage) -> bool:
    """What the stage says of itself; else what its code says.

    A generator may, and so may what is annotated to return a list. A list that has room for notes
    and for the very type of task that went in is a filter's: the task, and what it left out.
    """
    said = stage.makes_several()
    said = stage.fans_out if said is None else said
    if said is not None:
        return said
    function = _function_of(stage)
    if inspect.isgeneratorfunction(function):
        return True
    given = _annotation(function)
    if stage.works_on_batches and not isinstance(given, str):  # a row of results, one for each task
        given = next(iter(get_args(given)), None)
    return _is_several(given) and not (stage.gives is stage.takes and _has_notes(given))


def _function_of(stage: AnyStage) -> Any:
    function: Any = getattr(stage, "function", None)
    if function is None:
        is_plain = type(stage).process is ProcessingStage.process
        function = type(stage).process_batch if is_plain else type(stage).process
    return inspect.unwrap(function)


@cache
def _annotation(function: Any) -> Any:
    """What it is said to return: as text where its names are only known to a type checker."""
    try:
        return get_type_hints(function).get("return")
    except (NameError, TypeError, AttributeError):
        annotations: Mapping[str, Any] = getattr(function, "__annotations__", {})
        return annotations.get("return")


def _is_several(given: Any) -> bool:
    if isinstance(given, str):
        return _SEVERAL.match(given) is not None
    if get_origin(given) in (Union, UnionType):
        return any(_is_several(one) for one in get_args(given))
    origin = get_origin(given)
    return isinstance(origin, type) and issubclass(origin, Iterable)


def _has_notes(given: Any) -> bool:
    if isinstance(given, str):
        return _NOTES.search(given) is not None
    return given in (Dropped, Rejected) or any(_has_notes(one) for one in get_args(given))
