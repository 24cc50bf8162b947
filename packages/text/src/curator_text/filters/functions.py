"""Rules from user functions."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from curator_core import DocumentBatch
from curator_core.errors import PipelineError
from curator_core.model.rules import FunctionRule, call_rule, rule_name

from curator_text.document_text import DocumentText
from curator_text.filters.base import TextFilter, TextRule
from curator_text.filters.fusion import RuleOutputs, split_results
from curator_text.rule_evaluator import evaluate_texts
from curator_text.rule_results import Evaluation
from curator_text.text_columns import read_texts

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class FunctionFilter(FunctionRule, TextFilter):
    """Keeps documents for whose text a function returns a true value.

    Its result, as a number, is the score. Any value except 0, False and NaN keeps the document. The
    function never gets a missing or blank text.
    """

    cost: ClassVar[float] = 200.0  # unknown, so filters with a known cost run first

    function: Callable[[str], bool | float]
    """Takes a text; returns True, False or a number."""

    def score(self, text: DocumentText) -> float:
        return float(call_rule(self.function, text))

    def keeps(self, score: float) -> bool:
        return bool(score) and not math.isnan(score)


@dataclass
class ColumnFilter(FunctionRule, TextRule):
    """Keeps documents by a function of a whole column.

    The function gets an Arrow column of a batch's texts, without missing and blank ones.
    It returns one value per text, in the same order. If it fails, it is called for each text alone,
    and only the texts that fail are quarantined.
    """

    function: Callable[["pa.ChunkedArray"], Iterable[Any]]
    """Takes an Arrow column of texts; returns one boolean or number per text, as a column or
    list."""

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    score_field: str | None = field(default=None, kw_only=True)
    """A column for the returned values as numbers, if they should be kept."""

    invert: bool = field(default=False, kw_only=True)
    """Invert the rule: drop the documents that it would keep, and keep the others."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._replies: Iterator[Any] = iter(())

    @property
    def blank_reason(self) -> str:
        return f"not: {self.reason}" if self.invert else self.reason

    def evaluate(self, text: DocumentText) -> Evaluation:
        reply = next(self._replies)
        if isinstance(reply, Exception):
            raise reply
        score = None if reply is None else float(reply)
        keeps = score is not None and bool(score) and not math.isnan(score)
        is_kept = score is not None and keeps != self.invert
        return score, None if is_kept else self.blank_reason

    def process(self, task: DocumentBatch) -> RuleOutputs:
        texts = read_texts(task, self.text_field)
        present = [text for text in texts if isinstance(text, str) and text and not text.isspace()]
        self._replies = iter(self._answers(present))
        [outputs] = split_results(task, [self], evaluate_texts([self], texts))
        return outputs

    def _answers(self, texts: list[str]) -> list[Any]:
        if not texts:
            return []
        try:
            return self._call_function(texts)
        except _WrongCountError:
            raise
        except Exception:  # noqa: BLE001 - runs a user's function
            return [self._answer(text) for text in texts]

    def _answer(self, text: str) -> Any:
        try:
            return self._call_function([text])[0]
        except Exception as error:  # noqa: BLE001 - runs a user's function
            return error

    def _call_function(self, texts: list[str]) -> list[Any]:
        import pyarrow as pa

        replies = self.function(pa.chunked_array([pa.array(texts, pa.large_string())]))
        listed = replies.to_pylist() if hasattr(replies, "to_pylist") else list(replies)
        if len(listed) != len(texts):
            raise _WrongCountError(
                f"{rule_name(self.function) or 'the function'} gave {len(listed)} values for "
                f"{len(texts)} texts; it must give one for each"
            )
        return listed


class _WrongCountError(PipelineError):
    """The function returned a wrong number of values."""
