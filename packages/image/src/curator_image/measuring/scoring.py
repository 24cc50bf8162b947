"""Scoring apart from filtering: rules and functions as stages, by the names that texts have too."""

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
    """Keeps the pictures that pass a rule, or all of several rules, asked in order."""

    filter_obj: Rule | Sequence[Rule]
    """A filter, or a function of a picture that returns True or False; or a list of them."""

    score_field: str | Sequence[str | None] | None = None
    """A column for the score, or one for each rule, if scores are to be kept."""

    invert: bool = False
    """Drop what would be kept, and keep what would be dropped."""

    def __post_init__(self) -> None:
        self.decompose()  # so that mistakes show where they are made

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
    """Keeps the pictures of which a function says True."""

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
    """Adds what a filter or a function says about a picture as a column, and drops nothing."""

    score_fn: Rule
    """A filter, of which the score is taken, or a function of a picture."""

    score_field: str
    """The column for the score."""

    score_type: str | None = field(default=None, kw_only=True)
    """The Arrow type of the column: double, int64, bool or string; the filter's own, or double."""

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
    """Keeps the pictures whose value in a column passes a rule, such as a score made before.

    A missing value passes none.
    """

    filter_fn: ImageFilter | Callable[[Any], bool]
    """A function of the value, or a filter, of which only the limits are used."""

    filter_field: str
    """The column that holds the value."""

    invert: bool = False
    """Drop what would be kept, and keep what would be dropped."""

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
