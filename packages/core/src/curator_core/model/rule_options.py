"""Options that accept one rule or several, each of which becomes a stage."""

from collections.abc import Callable, Sequence
from os.path import basename
from typing import Any

from curator_core.errors import PipelineError
from curator_core.model.stages import AnyStage


def rules_in(given: Any, option: str) -> list[Any]:
    """Return the rules of an option as a list; the option is one rule or a list."""
    if not isinstance(given, list | tuple):
        return [given]
    if not given:
        raise PipelineError(f"{option} is an empty list; give it a rule")
    return list(given)


def answer_of(function: Callable[..., Any], value: Any) -> Any:
    """Call a user's rule. Raise if it returns None, usually a forgotten `return`."""
    answer = function(value)
    if answer is None:
        code = getattr(function, "__code__", None)
        place = f" ({basename(code.co_filename)}:{code.co_firstlineno})" if code else ""
        name = getattr(function, "__name__", type(function).__name__)
        raise TypeError(f"{name}{place} returned None; it must return True, False or a number")
    return answer


def score_fields(given: str | Sequence[str | None] | None, rules: int) -> list[str | None]:
    """Return the score column of each rule. No two rules may share one."""
    if given is None:
        return [None] * rules
    listed: list[str | None] = [given] if isinstance(given, str) else list(given)
    if len(listed) != rules:
        raise PipelineError(
            f"score_field has {len(listed)} entries for {rules} rules; give each its own column"
        )
    named = [name for name in listed if name is not None]
    if len(set(named)) < len(named):
        raise PipelineError(f"score_field names a column twice: {', '.join(named)}")
    return listed


def told_apart(stages: Sequence[AnyStage]) -> list[AnyStage]:
    """Return the stages with unique names: repeated names get a number, from `_2` on."""
    seen: dict[str, int] = {}
    told = []
    for stage in stages:
        seen[stage.name] = times = seen.get(stage.name, 0) + 1
        told.append(stage if times == 1 else stage.with_(name=f"{stage.name}_{times}"))
    return told
