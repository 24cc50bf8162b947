"""Rules over existing columns, such as scores from an earlier stage."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from curator_core import DocumentBatch, ProcessingStage
from curator_core.errors import place_of, reason_of
from curator_core.execution.timeouts import TaskTimeoutError
from curator_core.model.rule_options import answer_of

from curator_text.chosen_rows import Rows
from curator_text.filtering import TextFilter
from curator_text.filters.functions import name_of
from curator_text.judging import Ending, Hearing, scores_of
from curator_text.settling import Outcomes, Settling


@dataclass
class FieldFilter(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Keeps documents whose value in a column passes a rule.

    A missing value never passes.
    """

    rule: TextFilter | Callable[[Any], bool]
    """A function of the value, or a filter (only its limits are used, on the value as a score)."""

    filter_field: str
    """The column that holds the value."""

    invert: bool = field(default=False, kw_only=True)
    """Invert the rule: drop the documents that it would keep, and keep the others."""

    def __post_init__(self) -> None:
        rule = self.rule
        self.name = rule.name if isinstance(rule, TextFilter) else name_of(rule) or self.name

    @property
    def reason(self) -> str:
        if isinstance(self.rule, TextFilter):
            said = self.rule.reason
        else:
            said = f"rejected by {name_of(self.rule) or 'the function'} of {self.filter_field}"
        return f"not: {said}" if self.invert else said

    def inputs(self) -> Sequence[str]:
        return (self.filter_field,)

    def process(self, task: DocumentBatch) -> Outcomes:
        hearing = Hearing([])
        kept: list[Any] = []
        dropped: list[Any] = []
        for value in task.data.column(self.filter_field).to_pylist():
            ending = self._ending(value)
            hearing.note(int(ending is None), ending)
            (kept if ending is None else dropped).append(value)
        token = uuid4().hex
        verdicts = hearing.verdicts([token])
        verdicts.scores[token] = scores_of(kept, dropped)
        return Settling(task, Rows(task.data), score=self.filter_field).by(verdicts, token)

    def _ending(self, value: Any) -> Ending | None:
        try:
            keeps = value is not None and self._keeps(value) != self.invert
        except TaskTimeoutError:  # applies to the whole call
            raise
        except Exception as error:  # noqa: BLE001 - runs a user's function
            return Ending(reason_of(error) + place_of(error), True)
        return None if keeps else Ending(self.reason)

    def _keeps(self, value: Any) -> bool:
        if isinstance(self.rule, TextFilter):
            return self.rule.keeps(value)
        return bool(answer_of(self.rule, value))
