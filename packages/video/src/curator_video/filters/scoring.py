"""Scoring and filtering as separate stages, with the same names as for text and pictures.

A rule is a filter, or a function of a clip: of its duration, scores and facts. A rule over frames
is a filter, since it says which frames it needs.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from curator_core import AnyStage, CompositeStage, Dropped, ProcessingStage
from curator_core.errors import PipelineError
from curator_core.model.rules import (
    ColumnRule,
    FunctionRule,
    call_rule,
    list_rules,
    require_rule,
    score_columns,
    with_unique_names,
)

from curator_video.analysis.measurements import FrameNeeds
from curator_video.filters.base import ClipFilter, ClipRuleSet, record_score
from curator_video.tasks import Clip, ScoreValue

Rule: TypeAlias = ClipRuleSet | Callable[[Clip], Any]


@dataclass
class ScoreFilter(CompositeStage[Clip, Clip]):
    """Keep the clips that pass a rule, or all of several rules, which run in order."""

    filter_obj: Rule | Sequence[Rule]
    """A filter, a function of a clip that returns True or False, or a list of them."""

    score_field: str | Sequence[str | None] | None = None
    """Name of the score on the clip, or one for each rule. By default that of the filter, or the
    name of the function."""

    invert: bool = False
    """Drop the clips that would be kept, and keep those that would be dropped."""

    def __post_init__(self) -> None:
        self.decompose()  # fail early on mistakes

    def decompose(self) -> Sequence[AnyStage]:
        rules = list_rules(self.filter_obj, "filter_obj")
        names = score_columns(self.score_field, len(rules))
        stages = [_stage_for(rule, name) for rule, name in zip(rules, names, strict=True)]
        for stage in stages:
            stage.invert = stage.invert != self.invert
        return with_unique_names(stages)


@dataclass
class Score(CompositeStage[Clip, Clip]):
    """Add the score of a filter or function to each clip, without dropping anything."""

    score_fn: Rule
    """A filter, whose score is used, or a function of a clip."""

    score_field: str
    """Name of the score on the clip."""

    def __post_init__(self) -> None:
        self.decompose()

    def decompose(self) -> Sequence[AnyStage]:
        stage = _stage_for(self.score_fn, self.score_field)
        stage.score_only = True
        return [stage.with_(name=f"{stage.name.removesuffix('_filter')}_score")]


@dataclass
class FunctionFilter(FunctionRule, ClipFilter):
    """Keep the clips for which a function returns True."""

    function: Callable[[Clip], Any]
    """A function of a clip."""

    score_field: str = field(default="", kw_only=True)
    """Name of the result on the clip. The name of the stage by default."""

    def frame_needs(self) -> FrameNeeds:
        return FrameNeeds()

    def score(self, clip: Clip) -> ScoreValue:
        result = call_rule(self.function, clip)
        return result if isinstance(result, str | int | float) else float(result)

    def scores(self, clip: Clip) -> dict[str, ScoreValue]:
        return {self.score_field or self.name: self.score(clip)}

    def broken_rule(self, scores: dict[str, Any]) -> str | None:
        [score] = scores.values()
        return None if self.keeps(score) else self.reason

    def keeps(self, score: Any) -> bool:
        return bool(score)


@dataclass
class Filter(ColumnRule, ProcessingStage[Clip, Clip]):
    """Keep the clips with a score, such as one of an earlier stage, that passes a rule.

    Clips without this score do not pass.
    """

    filter_fn: ClipFilter | Callable[[Any], bool]
    """A function of the score, or a filter, of which only the limits are used."""

    filter_field: str
    """Name of the score."""

    invert: bool = False
    """Drop the clips that would be kept, and keep those that would be dropped."""

    def get_rule(self) -> ClipFilter | Callable[[Any], bool]:
        return self.filter_fn

    def inputs(self) -> Sequence[str]:
        return ()  # a score is part of the clip, not a column

    def process(self, task: Clip) -> Clip | Dropped:
        score = task.scores.get(self.filter_field)
        is_kept = self.passes(score)
        record_score(task, self.filter_field, score, is_kept=is_kept)
        return task if is_kept else Dropped(self.reason, records=task)


def _stage_for(rule: Rule, score_field: str | None) -> Any:
    """Return a copy of a filter, or a filter for a function."""
    require_rule(rule)
    stage: Any = copy(rule) if isinstance(rule, ClipRuleSet) else FunctionFilter(rule)
    if score_field is not None:
        if not isinstance(stage, ClipFilter):
            raise PipelineError(
                f"{stage.name} adds several scores, under their own names: leave out score_field"
            )
        stage.score_field = score_field
    return stage
