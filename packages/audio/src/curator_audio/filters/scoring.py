"""Scoring and filtering as separate stages, with the same names as for text and pictures.

A rule is a filter, or a function of a `Waveform`: all samples of a recording, as they were encoded.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa
from curator_core import (
    AnyStage,
    CompositeStage,
    DocumentBatch,
    Dropped,
    ProcessingStage,
    Rejected,
)
from curator_core.io.filesystems import StorageOptions
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

from curator_audio.audio_batch import PATH, AudioBatch
from curator_audio.filters.base import AudioFilter, FunctionAccumulator, numbers_in, score_rows
from curator_audio.row_selection import apply_drop_reasons
from curator_audio.spans import Accumulator
from curator_audio.waveform import Waveform

Rule: TypeAlias = AudioFilter | Callable[[Waveform], Any]


@dataclass
class ScoreFilter(CompositeStage[AudioBatch, AudioBatch]):
    """Keep the recordings that pass a rule, or all of several rules, which run in order."""

    filter_obj: Rule | Sequence[Rule]
    """A filter, a function of a waveform that returns True, False or a number, or a list of
    them."""

    score_field: str | Sequence[str | None] | None = None
    """Column to write the score to, or one for each rule. Not written by default."""

    invert: bool = False
    """Drop the recordings that would be kept, and keep those that would be dropped."""

    storage_options: StorageOptions | None = field(default=None, repr=False, kw_only=True)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def __post_init__(self) -> None:
        self.decompose()  # fail early on mistakes

    def decompose(self) -> Sequence[AnyStage]:
        rules = list_rules(self.filter_obj, "filter_obj")
        columns = score_columns(self.score_field, len(rules))
        stages = [self._stage(rule, name) for rule, name in zip(rules, columns, strict=True)]
        return with_unique_names(stages)

    def _stage(self, rule: Rule, score_field: str | None) -> AnyStage:
        require_rule(rule)
        stage = copy(rule) if isinstance(rule, AudioFilter) else FunctionFilter(rule)
        stage.score_field = score_field or stage.score_field
        stage.invert = stage.invert != self.invert
        stage.storage_options = stage.storage_options or self.storage_options
        return stage


@dataclass
class FunctionFilter(FunctionRule, AudioFilter):
    """Keep the recordings for which a function returns a true value."""

    function: Callable[[Waveform], Any]
    """A function of a waveform."""

    @property
    def accumulator(self) -> Callable[[], Accumulator[Any]]:
        return partial(FunctionAccumulator, partial(call_rule, self.function))

    def keeps(self, score: Any) -> bool:
        return bool(score)


@dataclass
class Score(ProcessingStage[AudioBatch, AudioBatch]):
    """Add the score of a filter or function as a column, without dropping anything."""

    score_fn: Rule
    """A filter, whose score is used, or a function of a waveform."""

    score_field: str
    """Column for the score."""

    score_type: str = field(default="double", kw_only=True)
    """Arrow type of the column: double, int64, bool or string."""

    storage_options: StorageOptions | None = field(default=None, repr=False, kw_only=True)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def __post_init__(self) -> None:
        require_rule(self.score_fn)
        self.name = f"{(rule_name(self.score_fn) or 'function').removesuffix('_filter')}_score"

    def inputs(self) -> Sequence[str]:
        return (PATH,)

    def outputs(self) -> Sequence[str]:
        return (self.score_field,)

    def check(self) -> Iterable[str]:
        if self.score_type not in SCORE_TYPES:
            yield f"score_type is {self.score_type!r}, but must be one of {', '.join(SCORE_TYPES)}"

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Dropped | Rejected]:
        rule = self.score_fn
        accumulator = (
            rule.accumulator
            if isinstance(rule, AudioFilter)
            else partial(FunctionAccumulator, rule)
        )
        scored = score_rows(task, accumulator, self.storage_options)
        values = [convert_score(score, self.score_type) for score in scored.values]
        column = pa.array(values, pa.type_for_alias(self.score_type))
        batch = scored.batch.with_columns({self.score_field: column})
        keep_all = [None] * batch.num_items
        yield from apply_drop_reasons(batch, keep_all, {"score": numbers_in(values)})
        yield from scored.rejected


@dataclass
class Filter(ColumnRule, ProcessingStage[DocumentBatch, DocumentBatch]):
    """Keep the rows whose value in a column passes a rule, such as an earlier score.

    Missing values do not pass.
    """

    filter_fn: AnyStage | Callable[[Any], bool]
    """A function of the value, or a filter, of which only the limits are used."""

    filter_field: str
    """Column with the value."""

    invert: bool = False
    """Drop the rows that would be kept, and keep those that would be dropped."""

    def get_rule(self) -> AnyStage | Callable[[Any], bool]:
        return self.filter_fn

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        values = task.data.column(self.filter_field).to_pylist()
        reasons = [None if self.passes(value) else self.reason for value in values]
        yield from apply_drop_reasons(task, reasons, {self.filter_field: numbers_in(values)})
