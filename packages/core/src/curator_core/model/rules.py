"""Rules: filters and functions that score or drop records, and the options that accept them.

`ScoreFilter`, `Score` and `Filter` of each modality are built from this.
"""

from collections.abc import Callable, Sequence
from typing import Any

from curator_core.errors import PipelineError, code_location, reason_of
from curator_core.model.stages import AnyStage, ProcessingStage, snake_case

SCORE_TYPES: dict[str, Callable[[Any], Any]] = {
    "double": float,
    "int64": int,
    "bool": bool,
    "string": lambda value: str(value).encode().decode(),  # rejects lone surrogates
}
"""The Arrow types of score columns, and how to convert a score to them."""


def list_rules(given: Any, option: str) -> list[Any]:
    """Return the rules of an option as a list; the option is one rule or a list."""
    if not isinstance(given, list | tuple):
        return [given]
    if not given:
        raise PipelineError(f"{option} is an empty list; give it a rule")
    return list(given)


def one_per_rule(values: Any, rules: int, option: str) -> list[Any]:
    """Return one value per rule; a single value applies to all."""
    if not isinstance(values, list | tuple):
        return [values] * rules
    if len(values) == 1:
        return list(values) * rules
    if len(values) != rules:
        raise PipelineError(f"{option} has {len(values)} entries for {rules} rules")
    return list(values)


def score_columns(given: str | Sequence[str | None] | None, rules: int) -> list[str | None]:
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


def with_unique_names(stages: Sequence[AnyStage]) -> list[AnyStage]:
    """Return the stages with unique names: repeated names get a number, from `_2` on."""
    seen: dict[str, int] = {}
    unique = []
    for stage in stages:
        seen[stage.name] = times = seen.get(stage.name, 0) + 1
        unique.append(stage if times == 1 else stage.with_(name=f"{stage.name}_{times}"))
    return unique


def require_rule(rule: object, what: str = "a rule") -> None:
    """Raise unless this is a filter or a function."""
    is_filter = isinstance(rule, ProcessingStage)
    if isinstance(rule, type) or not (is_filter or callable(rule)):
        call = f": call it to make one, {rule.__name__}(...)" if isinstance(rule, type) else ""
        raise PipelineError(f"{what} must be a filter or a function, but is {rule!r}{call}")


def rule_name(rule: object) -> str | None:
    """Return the name of a filter, or of a function if it is valid as a stage name."""
    if isinstance(rule, ProcessingStage):
        return rule.name
    inner = getattr(rule, "func", rule)  # of a functools.partial
    name = str(getattr(inner, "__name__", type(inner).__name__))
    return snake_case(name) if name.isidentifier() else None


def call_rule(function: Callable[..., Any], value: Any) -> Any:
    """Call a user's rule. Raise if it returns None, usually a forgotten `return`."""
    answer = function(value)
    if answer is None:
        code = getattr(function, "__code__", None)
        place = f" ({code_location(code, code.co_firstlineno)})" if code else ""
        name = getattr(function, "__name__", type(function).__name__)
        raise TypeError(f"{name}{place} returned None; it must return True, False or a number")
    return answer


def convert_score(value: Any, score_type: str) -> Any:
    """Convert a score to a type of `SCORE_TYPES`; None stays None."""
    try:
        return None if value is None else SCORE_TYPES[score_type](value)
    except (TypeError, ValueError) as error:
        raise PipelineError(
            f"the score {value!r:.60} cannot be stored as {score_type}: {reason_of(error)}; "
            "set score_type"
        ) from None


class FunctionRule:
    """A rule that is a function. It has the function's name."""

    name: str
    function: Callable[..., Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            kind = type(self).__name__
            raise PipelineError(f"{kind} takes a function, but was given {self.function!r}")
        self.name = rule_name(self.function) or self.name

    @property
    def reason(self) -> str:
        return f"rejected by {rule_name(self.function) or 'the function'}"


class ColumnRule:
    """A rule over the value of a column, such as an earlier score. Missing values do not pass.

    It is a function of the value, or a filter, of which only the limits are used.
    """

    name: str
    invert: bool
    filter_field: str

    def get_rule(self) -> Any:
        """Return the filter or function."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_rule")

    def __post_init__(self) -> None:
        self.name = rule_name(self.get_rule()) or self.name

    @property
    def reason(self) -> str:
        rule = self.get_rule()
        if isinstance(rule, ProcessingStage):
            reason = str(rule.reason)  # type: ignore[attr-defined]
        else:
            function = rule_name(rule) or "the function"
            reason = f"rejected by {function} of {self.filter_field}"
        return f"not: {reason}" if self.invert else reason

    def inputs(self) -> Sequence[str]:
        return (self.filter_field,)

    def passes(self, value: Any) -> bool:
        if value is None:
            return False
        rule = self.get_rule()
        if isinstance(rule, ProcessingStage):
            return bool(rule.keeps(value)) != self.invert  # type: ignore[attr-defined]
        return bool(call_rule(rule, value)) != self.invert
