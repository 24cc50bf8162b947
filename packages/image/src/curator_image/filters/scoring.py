"""Scoring and filtering as separate stages, with the same names as for text."""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from curator_core import AnyStage, CompositeStage, ProcessingStage
from curator_core.model.rules import (
    SCORE_TYPES,
    ColumnRule,
    FunctionRule,
    call_rule,
    convert_score,
    list_rules,
    require_rule,
    rule_name,
    score_columns,
    with_unique_names,
)

from curator_image.filters.base import (
    ImageFilter,
    Outcomes,
    add_score_column,
    keep_by_flags,
    record_scores,
    score_pictures,
)
from curator_image.filters.picture import Picture
from curator_image.image_batch import IMAGE, ImageBatch
from curator_image.pixel_view import WORKING

Rule: TypeAlias = ImageFilter | Callable[[Picture], Any]


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
        rules = list_rules(self.filter_obj, "filter_obj")
        fields = score_columns(self.score_field, len(rules))
        made = [self._stage(rule, name or None) for rule, name in zip(rules, fields, strict=True)]
        return with_unique_names(made)

    def _stage(self, rule: Rule, score_field: str | None) -> AnyStage:
        stage = copy(rule) if isinstance(rule, ImageFilter) else FunctionFilter(_function_of(rule))
        stage.score_field = score_field or stage.score_field
        stage.invert = stage.invert != self.invert
        return stage


@dataclass
class FunctionFilter(FunctionRule, ImageFilter):
    """Keep the pictures for which a function returns True."""

    function: Callable[[Picture], Any]
    """A function of a picture."""

    def score(self, picture: Picture) -> Any:
        return call_rule(self.function, picture)

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
        self.name = f"{(rule_name(self.score_fn) or 'function').removesuffix('_filter')}_score"

    def inputs(self) -> Sequence[str]:
        return (IMAGE,)

    def outputs(self) -> Sequence[str]:
        return (self.score_field,)

    def check(self) -> Iterable[str]:
        if self.score_type not in (None, *SCORE_TYPES):
            yield f"score_type is {self.score_type!r}, but must be one of {', '.join(SCORE_TYPES)}"

    def process(self, task: ImageBatch) -> Outcomes:
        rule = self.score_fn
        is_filter = isinstance(rule, ImageFilter)
        view = rule.view if isinstance(rule, ImageFilter) else WORKING
        own_type = rule.score_kind if isinstance(rule, ImageFilter) else "double"
        kind = self.score_type or own_type
        function = rule.score if isinstance(rule, ImageFilter) else _function_of(rule)
        found = score_pictures(task, view, function)
        values = (
            found.scores if is_filter else [convert_score(value, kind) for value in found.scores]
        )
        batch = add_score_column(found.batch, self.score_field, values, kind)
        record_scores(batch, values)
        return [batch, *found.rejected]


@dataclass
class Filter(ColumnRule, ProcessingStage[ImageBatch, ImageBatch]):
    """Keep the pictures whose value in a column passes a rule, such as an earlier score.

    Missing values do not pass.
    """

    filter_fn: ImageFilter | Callable[[Any], bool]
    """A function of the value, or a filter, of which only the limits are used."""

    filter_field: str
    """Column with the value."""

    invert: bool = False
    """Drop the pictures that would be kept, and keep those that would be dropped."""

    def get_rule(self) -> ImageFilter | Callable[[Any], bool]:
        return self.filter_fn

    def process(self, task: ImageBatch) -> Outcomes:
        values = task.data.column(self.filter_field).to_pylist()
        flags = [self.passes(value) for value in values]
        return [*keep_by_flags(task, flags, self.reason, values)]


def _function_of(rule: Rule) -> Callable[[Picture], Any]:
    require_rule(rule)
    function: Callable[[Picture], Any] = rule  # type: ignore[assignment]
    return function
