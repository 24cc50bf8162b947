"""Filters and functions as stages, under NeMo Curator's names.

Each composite stage becomes one stage per rule, named after the rule, with its own counts. The plan
fuses them with the neighbouring filters.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from curator_core import (
    AnyStage,
    CompositeStage,
    DocumentBatch,
    NodeInfo,
    ProcessingStage,
    WorkerInfo,
    flatten,
)
from curator_core.errors import PipelineError, TaskTimeoutError, reason_of, user_code_location
from curator_core.model.rules import (
    SCORE_TYPES,
    ColumnRule,
    list_rules,
    one_per_rule,
    require_rule,
    rule_name,
    score_columns,
    with_unique_names,
)

from curator_text.document_text import DocumentText
from curator_text.filters.base import TextFilter, TextRule
from curator_text.filters.functions import ColumnFilter, FunctionFilter
from curator_text.filters.fusion import RuleOutputs, split_results
from curator_text.rule_evaluator import RuleEvaluator
from curator_text.rule_results import Evaluation, Outcome, distribution_of

Rule: TypeAlias = TextFilter | ColumnFilter | Callable[[str], bool | float]


class RuleSequence(CompositeStage[DocumentBatch, DocumentBatch]):
    """Several stages with separate names, which can be tried on a batch as one."""

    def parts(self) -> Sequence[AnyStage]:
        """Apply a name set by `with_(name=...)`: as the name of a single stage, or as a prefix."""
        parts = super().parts()
        if "name" in vars(self):
            alone = len(parts) == 1
            named = [self.name if alone else f"{self.name}_{part.name}" for part in parts]
            parts = [part.with_(name=name) for part, name in zip(parts, named, strict=True)]
        return with_unique_names(parts)

    def process(self, task: DocumentBatch) -> RuleOutputs:
        """Apply all stages to one batch, for a notebook or a test."""
        notes: RuleOutputs = []
        for stage in self.parts():
            stage.setup_on_node(NodeInfo())
            stage.setup(WorkerInfo())
            outputs: Any = stage.process(task)
            stage.teardown()
            task, *more = outputs
            notes += more
        return [task, *notes]


@dataclass
class ScoreFilter(RuleSequence):
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
        rules = list_rules(self.filter_obj, "filter_obj")
        columns = one_per_rule(self.text_field, len(rules), "text_field")
        scores = score_columns(self.score_field, len(rules))
        inverted = one_per_rule(self.invert, len(rules), "invert")
        return [_filter(*facts) for facts in zip(rules, columns, scores, inverted, strict=True)]


def _filter(rule: Rule, column: str | None, score: str | None, invert: bool) -> AnyStage:
    stage: Any
    if isinstance(rule, TextFilter | ColumnFilter):
        stage = rule.with_()
    else:
        require_rule(rule)
        stage = FunctionFilter(rule)
    stage.text_field = column or stage.text_field
    stage.score_field = score or stage.score_field
    stage.invert = stage.invert != invert
    return stage  # type: ignore[no-any-return]


@dataclass
class Score(RuleSequence):
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
        if self.score_type not in SCORE_TYPES:
            known = ", ".join(SCORE_TYPES)
            raise PipelineError(f"score_type is {self.score_type!r}, but must be one of {known}")
        rules = list_rules(self.score_fn, "score_fn")
        columns = one_per_rule(self.text_field, len(rules), "text_field")
        scores = score_columns(self.score_field, len(rules))
        if None in scores:
            raise PipelineError("score_field is missing; name the column for the score")
        return [
            TextScore(rule, str(score), text_field=column, score_type=self.score_type)
            for rule, score, column in zip(rules, scores, columns, strict=True)
        ]


@dataclass
class TextScore(TextRule):
    """Adds the score of one rule as a column."""

    kernel: ClassVar[str | None] = "score_only"

    rule: TextFilter | Callable[[str], Any]
    """A filter (its score is used) or a function of a text."""

    score_field: str
    """The column for the score."""

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    score_type: str = field(default="double", kw_only=True)
    """The Arrow type of the column: `double`, `int64`, `bool` or `string`."""

    def __post_init__(self) -> None:
        require_rule(self.rule, "the rule of a score")
        self.name = f"{(rule_name(self.rule) or 'function').removesuffix('_filter')}_score"

    def has_kernel(self) -> bool:
        rule = self.rule
        return self.score_type == "double" and isinstance(rule, TextFilter) and rule.has_kernel()

    @property
    def blank_reason(self) -> None:
        return None

    def evaluate(self, text: DocumentText) -> Evaluation:
        score = self.rule.score(text) if isinstance(self.rule, TextFilter) else self.rule(text)
        return None if score is None else SCORE_TYPES[self.score_type](score), None

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
class Filter(RuleSequence):
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
        rules = list_rules(self.filter_fn, "filter_fn")
        columns = one_per_rule(self.filter_field, len(rules), "filter_field")
        for rule, column in zip(rules, columns, strict=True):
            require_rule(rule)
            if not isinstance(column, str):
                raise PipelineError(f"filter_field must name a column, but is {column!r:.60}")
        inverted = one_per_rule(self.invert, len(rules), "invert")
        return [
            FieldFilter(rule, column, invert=flip)
            for rule, column, flip in zip(rules, columns, inverted, strict=True)
        ]


@dataclass
class FieldFilter(ColumnRule, ProcessingStage[DocumentBatch, DocumentBatch]):
    """Keeps documents whose value in a column passes a rule.

    A missing value never passes.
    """

    rule: TextFilter | Callable[[Any], bool]
    """A function of the value, or a filter (only its limits are used, on the value as a score)."""

    filter_field: str
    """The column that holds the value."""

    invert: bool = field(default=False, kw_only=True)
    """Invert the rule: drop the documents that it would keep, and keep the others."""

    def get_rule(self) -> TextFilter | Callable[[Any], bool]:
        return self.rule

    def process(self, task: DocumentBatch) -> RuleOutputs:
        evaluator = RuleEvaluator([])
        values: dict[bool, list[Any]] = {True: [], False: []}
        for value in task.data.column(self.filter_field).to_pylist():
            outcome = self._outcome(value)
            evaluator.record(int(outcome is None), outcome)
            values[outcome is None].append(value)
        results = evaluator.results()
        results.distributions[0] = distribution_of(values[True], values[False])
        [outputs] = split_results(task, [self], results)
        return outputs

    @property
    def score_field(self) -> str:
        """The name of its values in the report."""
        return self.filter_field

    def _outcome(self, value: Any) -> Outcome | None:
        try:
            keeps = self.passes(value)
        except TaskTimeoutError:  # applies to the whole call
            raise
        except Exception as error:  # noqa: BLE001 - runs a user's function
            return Outcome(reason_of(error) + user_code_location(error), failed=True)
        return None if keeps else Outcome(self.reason)


@dataclass
class CheapestFirst(RuleSequence):
    """Runs the cheapest filters first, so that expensive ones see fewer documents.

    The same documents are kept, with the same scores. A document that fails several rules is
    counted under the first one it fails, so counts per rule depend on the new order.
    """

    filters: Sequence[TextFilter | ScoreFilter | Callable[[str], bool | float]]
    """Text filters and functions of a text. No filter may read a column that another one adds."""

    def __post_init__(self) -> None:
        self.decompose()

    def decompose(self) -> Sequence[AnyStage]:
        stages = flatten([_stage(rule) for rule in self.filters])
        rules = [rule for rule in stages if isinstance(rule, TextFilter)]
        others = [getattr(s, "name", repr(s)) for s in stages if not isinstance(s, TextFilter)]
        if others:
            raise PipelineError(
                f"CheapestFirst cannot move {', '.join(others)}: the result may depend on the "
                "place; leave it where it is in the pipeline"
            )
        read = {rule.text_field for rule in rules}
        for rule in rules:
            if rule.score_field in read:
                raise PipelineError(
                    f"{rule.name} adds {rule.score_field!r}, which another filter reads, so "
                    "their order matters; take it out of CheapestFirst"
                )
        return sorted(rules, key=lambda rule: rule.cost)


def _stage(rule: AnyStage | Callable[[str], bool | float]) -> AnyStage:
    return rule if isinstance(rule, ProcessingStage | CompositeStage) else ScoreFilter(rule)
