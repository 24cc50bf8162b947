"""Scoring and filtering as separate stages, with the same names as for text."""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from curator_core import AnyStage, CompositeStage, PipelineError, ProcessingStage
from curator_core.errors import reason_of
from curator_core.model.rule_options import answer_of, rules_in, score_fields, told_apart

from curator_image.batches import IMAGE, ImageBatch
from curator_image.measuring.filtering import ImageFilter
from curator_image.measuring.judging import Outcomes, kept, scored, tell, with_scores
from curator_image.measuring.pictures import Picture
from curator_image.views import WORKING

Rule: TypeAlias = ImageFilter | Callable[[Picture], Any]

_KINDS = ("double", "int64", "bool", "string")


@dataclass
class ScoreFilter(CompositeStage[ImageBatch, ImageBatch]):
    """Keep the pictures that pass a rule, or all of several rules, which run in order."""

    filter_obj: Rule | Sequence[Rule]
    """A filter, a function of a picture that returns True or False, or a list of them."""

    score_field: str | Sequence[str | None] | None = None
    """Column to write the score to, or one for each rule. Not written by default."""

    invert: bool = False
    """Drop the pictures that would be kept, and keep those that would be dropped."""

    def __post_init__(self) -> None:
        self.decompose()  # fail early on mistakes

    def decompose(self) -> Sequence[AnyStage]:
        rules = rules_in(self.filter_obj, "filter_obj")
        fields = score_fields(self.score_field, len(rules))
        made = [self._stage(rule, name or None) for rule, name in zip(rules, fields, strict=True)]
        return told_apart(made)

    def _stage(self, rule: Rule, score_field: str | None) -> AnyStage:
        stage = copy(rule) if isinstance(rule, ImageFilter) else FunctionFilter(_called(rule))
        stage.score_field = score_field or stage.score_field
        stage.invert = stage.invert != self.invert
        return stage


@dataclass
class FunctionFilter(ImageFilter):
    """Keep the pictures for which a function returns True."""

    function: Callable[[Picture], Any]
    """A function of a picture."""

    def __post_init__(self) -> None:
        self.name = _name_of(self.function) or self.name

    @property
    def reason(self) -> str:
        return f"rejected by {_name_of(self.function) or 'the function'}"

    def score(self, picture: Picture) -> Any:
        return answer_of(self.function, picture)

    def keeps(self, score: Any) -> bool:
        return bool(score)


@dataclass
class Score(ProcessingStage[ImageBatch, ImageBatch]):
    """Add the score of a filter or function as a column, without dropping anything."""

    score_fn: Rule
    """A filter, whose score is used, or a function of a picture."""

    score_field: str
    """Column for the score."""

    score_type: str | None = field(default=None, kw_only=True)
    """Arrow type of the column: double, int64, bool or string. By default that of the filter, or
    double."""

    def __post_init__(self) -> None:
        self.name = f"{(_name_of(self.score_fn) or 'function').removesuffix('_filter')}_score"

    def inputs(self) -> Sequence[str]:
        return (IMAGE,)

    def outputs(self) -> Sequence[str]:
        return (self.score_field,)

    def check(self) -> Iterable[str]:
        if self.score_type not in (None, *_KINDS):
            yield f"score_type is {self.score_type!r}, but must be one of {', '.join(_KINDS)}"

    def process(self, task: ImageBatch) -> Outcomes:
        rule = self.score_fn
        is_filter = isinstance(rule, ImageFilter)
        view = rule.view if isinstance(rule, ImageFilter) else WORKING
        kind = self.score_type or (rule.score_kind if isinstance(rule, ImageFilter) else "double")
        function = rule.score if isinstance(rule, ImageFilter) else _called(rule)
        found = scored(task, view, function)
        values = found.scores if is_filter else [_cast(value, kind) for value in found.scores]
        batch = with_scores(found.batch, self.score_field, values, kind)
        tell(batch, values)
        return [batch, *found.rejected]


@dataclass
class Filter(ProcessingStage[ImageBatch, ImageBatch]):
    """Keep the pictures whose value in a column passes a rule, such as an earlier score.

    Missing values do not pass.
    """

    filter_fn: ImageFilter | Callable[[Any], bool]
    """A function of the value, or a filter, of which only the limits are used."""

    filter_field: str
    """Column with the value."""

    invert: bool = False
    """Drop the pictures that would be kept, and keep those that would be dropped."""

    def __post_init__(self) -> None:
        self.name = _name_of(self.filter_fn) or self.name

    @property
    def reason(self) -> str:
        if isinstance(self.filter_fn, ImageFilter):
            said = self.filter_fn.reason
        else:
            name = _name_of(self.filter_fn) or "the function"
            said = f"rejected by {name} of {self.filter_field}"
        return f"not: {said}" if self.invert else said

    def inputs(self) -> Sequence[str]:
        return (self.filter_field,)

    def process(self, task: ImageBatch) -> Outcomes:
        values = task.data.column(self.filter_field).to_pylist()
        flags = [self._passes(value) for value in values]
        return [*kept(task, flags, self.reason, values)]

    def _passes(self, value: Any) -> bool:
        if value is None:
            return False
        if isinstance(self.filter_fn, ImageFilter):
            return self.filter_fn.keeps(value) != self.invert
        return bool(answer_of(self.filter_fn, value)) != self.invert


def _cast(value: Any, kind: str) -> Any:
    casts: dict[str, Callable[[Any], Any]] = {
        "double": float, "int64": int, "bool": bool, "string": str,
    }  # fmt: skip
    try:
        return None if value is None else casts[kind](value)
    except (TypeError, ValueError) as error:
        raise PipelineError(f"a score is no {kind}: {reason_of(error)}; set score_type") from None


def _called(rule: Rule) -> Callable[[Picture], Any]:
    if isinstance(rule, type) or not callable(rule):
        more = f": call it to make one, {rule.__name__}(...)" if isinstance(rule, type) else ""
        raise PipelineError(f"a rule is a filter or a function, but here is {rule!r}{more}")
    return rule


def _name_of(rule: object) -> str:
    if isinstance(rule, ImageFilter):
        return rule.name
    name = str(getattr(rule, "__name__", ""))
    return name if name.isidentifier() else ""
