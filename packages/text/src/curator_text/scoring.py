"""Scoring: filters and functions as stages, under NeMo Curator's names.

Each composite stage becomes one stage per rule, named after the rule, with its own counts. In a
pipeline these stages share one pass over each text with the adjacent filters.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from curator_core import AnyStage, CompositeStage, DocumentBatch, WorkerInfo
from curator_core.errors import PipelineError
from curator_core.model.resources import NodeInfo
from curator_core.model.rule_options import rules_in, score_fields, told_apart

from curator_text.filtering import JudgingStage, TextFilter
from curator_text.filters.fields import FieldFilter
from curator_text.filters.functions import ColumnFilter, FunctionFilter, name_of
from curator_text.judging import Said
from curator_text.settling import Outcomes
from curator_text.texts import Text

Rule: TypeAlias = TextFilter | ColumnFilter | Callable[[str], bool | float]


class RuleRow(CompositeStage[DocumentBatch, DocumentBatch]):
    """Several stages with separate names, which can be tried on a batch as one."""

    def parts(self) -> Sequence[AnyStage]:
        """Apply a name set by `with_(name=...)`: as the name of a single stage, or as a prefix."""
        parts = super().parts()
        if "name" in vars(self):
            alone = len(parts) == 1
            named = [self.name if alone else f"{self.name}_{part.name}" for part in parts]
            parts = [part.with_(name=name) for part, name in zip(parts, named, strict=True)]
        return told_apart(parts)

    def process(self, task: DocumentBatch) -> Outcomes:
        """Apply all stages to one batch, for a notebook or a test."""
        stages = list(self.parts())
        notes: Outcomes = []
        for place, stage in enumerate(stages):
            aware = stage.followed_by(stages[place + 1 :])
            aware.setup_on_node(NodeInfo())
            aware.setup(WorkerInfo())
            outcomes: Any = aware.process(task)
            aware.teardown()
            task, *more = outcomes
            notes += more
        return [task, *notes]


@dataclass
class ScoreFilter(RuleRow):
    """Keeps the documents that pass a rule, or several rules applied in order."""

    filter_obj: Rule | Sequence[Rule]
    """A filter, a function of a text that returns True, False or a number, or a list of them. Use
    `ColumnFilter(function)` for a function of a whole column."""

    text_field: str | Sequence[str] | None = None
    """The column that holds the text, or one per rule. None uses each rule's own column, or
    `text`."""

    score_field: str | Sequence[str | None] | None = None
    """A column for the score, or one per rule, if scores should be kept."""

    invert: bool | Sequence[bool] = False
    """Invert the rule: drop what it would keep, and keep the rest; or one value per rule."""

    def __post_init__(self) -> None:
        self.decompose()  # report mistakes where they are made

    def decompose(self) -> Sequence[AnyStage]:
        rules = rules_in(self.filter_obj, "filter_obj")
        columns = _each(self.text_field, len(rules), "text_field")
        scores = score_fields(self.score_field, len(rules))
        inverted = _each(self.invert, len(rules), "invert")
        return [_filter(*facts) for facts in zip(rules, columns, scores, inverted, strict=True)]


def _filter(rule: Rule, column: str | None, score: str | None, invert: bool) -> AnyStage:
    stage: Any
    if isinstance(rule, TextFilter | ColumnFilter):
        stage = rule.with_()
    else:
        _demand_rule(rule)
        stage = FunctionFilter(rule)
    stage.text_field = column or stage.text_field
    stage.score_field = score or stage.score_field
    stage.invert = stage.invert != invert
    return stage  # type: ignore[no-any-return]


@dataclass
class Score(RuleRow):
    """Adds the score of a filter or function as a column, and drops nothing.

    Missing and blank texts get null.
    """

    score_fn: Rule | Callable[[str], Any] | Sequence[Any]
    """A filter (its score is used), a function of a text, or a list of them."""

    score_field: str | Sequence[str]
    """The column for the score, or one per rule."""

    text_field: str | Sequence[str] = "text"
    """The column that holds the text, or one per rule."""

    score_type: str = field(default="double", kw_only=True)
    """The Arrow type of the column: `double`, `int64`, `bool` or `string`."""

    def __post_init__(self) -> None:
        self.decompose()

    def decompose(self) -> Sequence[AnyStage]:
        if self.score_type not in _CASTS:
            known = ", ".join(_CASTS)
            raise PipelineError(f"score_type is {self.score_type!r}, but must be one of {known}")
        rules = rules_in(self.score_fn, "score_fn")
        columns = _each(self.text_field, len(rules), "text_field")
        scores = score_fields(self.score_field, len(rules))
        if None in scores:
            raise PipelineError("score_field is missing; name the column for the score")
        return [
            TextScore(rule, str(score), text_field=column, score_type=self.score_type)
            for rule, score, column in zip(rules, scores, columns, strict=True)
        ]


_CASTS: dict[str, Callable[[Any], Any]] = {
    "double": float,
    "int64": int,
    "bool": bool,
    "string": lambda value: str(value).encode().decode(),  # rejects lone surrogates
}


@dataclass
class TextScore(JudgingStage):
    """Adds the score of one rule as a column."""

    rule: TextFilter | Callable[[str], Any]
    """A filter (its score is used) or a function of a text."""

    score_field: str
    """The column for the score."""

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    score_type: str = field(default="double", kw_only=True)
    """The Arrow type of the column: `double`, `int64`, `bool` or `string`."""

    def __post_init__(self) -> None:
        rule = self.rule
        if isinstance(rule, type) or not (isinstance(rule, TextFilter) or callable(rule)):
            raise PipelineError(
                f"a score is made by a filter or a function, but here is {rule!r}{_call(rule)}"
            )
        named = rule.name if isinstance(rule, TextFilter) else name_of(rule)
        self.name = f"{(named or 'function').removesuffix('_filter')}_score"

    @property
    def blank_reason(self) -> None:
        return None

    @property
    def score_kind(self) -> str:
        return self.score_type

    def judge(self, text: Text) -> Said:
        said = self.rule.score(text) if isinstance(self.rule, TextFilter) else self.rule(text)
        return None if said is None else _CASTS[self.score_type](said), None

    def needs_no_setup(self) -> bool:
        return not isinstance(self.rule, TextFilter) or self.rule.needs_no_setup()

    def setup_on_node(self, node: NodeInfo) -> None:
        if isinstance(self.rule, TextFilter):
            self.rule.setup_on_node(node)

    def setup(self, worker: WorkerInfo) -> None:
        super().setup(worker)
        if isinstance(self.rule, TextFilter):
            self.rule.setup(worker)

    def teardown(self) -> None:
        if isinstance(self.rule, TextFilter):
            self.rule.teardown()


@dataclass
class Filter(RuleRow):
    """Keeps documents whose value in a column, such as a score, passes a rule."""

    filter_fn: TextFilter | Callable[[Any], bool] | Sequence[Any]
    """A function of the value, a filter (only its limits are used), or a list of them."""

    filter_field: str | Sequence[str]
    """The column that holds the value, or one per rule."""

    invert: bool | Sequence[bool] = False
    """Invert the rule: drop what it would keep, and keep the rest; or one value per rule."""

    def __post_init__(self) -> None:
        self.decompose()

    def decompose(self) -> Sequence[AnyStage]:
        rules = rules_in(self.filter_fn, "filter_fn")
        columns = _each(self.filter_field, len(rules), "filter_field")
        for rule, column in zip(rules, columns, strict=True):
            _demand_rule(rule)
            if not isinstance(column, str):
                raise PipelineError(f"filter_field must name a column, but is {column!r:.60}")
        inverted = _each(self.invert, len(rules), "invert")
        return [
            FieldFilter(rule, column, invert=flip)
            for rule, column, flip in zip(rules, columns, inverted, strict=True)
        ]


def _demand_rule(rule: object) -> None:
    if isinstance(rule, type) or not (isinstance(rule, TextFilter) or callable(rule)):
        raise PipelineError(f"a rule is a filter or a function, but here is {rule!r}{_call(rule)}")


def _call(rule: object) -> str:
    return f": call it to make one, {rule.__name__}(...)" if isinstance(rule, type) else ""


def _each(values: Any, count: int, option: str) -> list[Any]:
    """Return one value per rule; a single value applies to all."""
    if not isinstance(values, list | tuple):
        return [values] * count
    if len(values) == 1:
        return list(values) * count
    if len(values) != count:
        raise PipelineError(f"{option} has {len(values)} entries for {count} rules")
    return list(values)
