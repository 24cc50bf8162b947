"""Evaluate rules over texts in Python, one document after another.

Each document is given to the rules in turn until one of them drops it. Several rules share the
words and lines that they compute from it.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import pyarrow as pa
from curator_core.errors import TaskTimeoutError, reason_of, user_code_location

from curator_text.document_text import DocumentText
from curator_text.rule_results import (
    Edit,
    Evaluation,
    Outcome,
    RuleResults,
    ScoreValue,
    distribution_of,
)
from curator_text.text_columns import Raw, TextColumnBuilder


class EvaluableRule(Protocol):
    """What can be evaluated; see `curator_text.filters.base.TextRule`."""

    @property
    def score_type(self) -> str | None: ...

    @property
    def blank_reason(self) -> str | None: ...

    def evaluate(self, text: DocumentText) -> Evaluation: ...


def evaluate_texts(
    rules: Sequence[EvaluableRule], texts: Iterable[Raw], edited_type: pa.DataType | None = None
) -> RuleResults:
    """Evaluate the rules over texts in Python."""
    evaluator = RuleEvaluator(rules, edited_type)
    for text in texts:
        evaluator.add(text)
    return evaluator.results()


class RuleEvaluator:
    """Evaluates rules text by text and collects the results.

    An exception in a rule ends that text only: it is reported as a failed record of this rule.
    """

    def __init__(self, rules: Sequence[Any], edited_type: pa.DataType | None = None) -> None:
        self._rules = rules
        self._edit = rules[0].edit if rules and getattr(rules[0], "edits", False) else None
        self._edited = TextColumnBuilder(edited_type or pa.large_string()) if self._edit else None
        self._kept: list[list[ScoreValue]] = [[] for _ in rules]
        self._dropped: list[list[ScoreValue]] = [[] for _ in rules]
        self._scores: dict[int, list[ScoreValue]] = {
            place: [] for place, rule in enumerate(rules) if rule.score_type is not None
        }
        self._calls = [(rule.evaluate, kept) for rule, kept in zip(rules, self._kept, strict=True)]
        self._ended_by: list[int] = []
        self._outcome_of: list[int] = []
        self._outcomes: dict[Outcome, int] = {}

    def add(self, raw: Raw) -> None:
        """Evaluate one text."""
        if isinstance(raw, UnicodeDecodeError):
            reason = f"its text is no UTF-8: {raw.reason} at byte {raw.start}"
            self.record(0, Outcome(reason, failed=True, damaged=True))
        elif not raw or raw.isspace():
            self.record(*self._evaluate_blank())
        elif self._edit is not None:
            self._add_edited(DocumentText(raw))
            return
        else:
            self.record(*self._evaluate(DocumentText(raw), 0))
        if self._edited is not None:
            self._edited.add(raw if isinstance(raw, str) else None)

    def record(self, position: int, outcome: Outcome | None) -> None:
        """Record which rule ended the next text, and how."""
        for scores in self._scores.values():
            if len(scores) == len(self._ended_by):
                scores.append(None)
        self._ended_by.append(position)
        number = -1
        if outcome is not None:
            number = self._outcomes.setdefault(outcome, len(self._outcomes))
        self._outcome_of.append(number)

    def _add_edited(self, text: DocumentText) -> None:
        """Edit a text with the first rule, and evaluate the others on the result."""
        assert self._edit is not None
        assert self._edited is not None
        edited: str | None = None
        try:
            edit: Edit = self._edit(text)
            if edit.reason is not None:
                self._dropped[0].append(None)
                ended: tuple[int, Outcome | None] = 0, Outcome(edit.reason)
            else:
                self._kept[0].append(None)
                edited = str(edit.text)  # a plain string, without the cached features
                is_blank = not edited or edited.isspace()
                ended = self._evaluate_blank(1) if is_blank else self._evaluate(edit.text, 1)
        except TaskTimeoutError:
            raise
        except Exception as error:  # noqa: BLE001 - a rule is user code
            ended = 0, _failure(error)
        self.record(*ended)
        self._edited.add(edited)

    def _evaluate_blank(self, first: int = 0) -> tuple[int, Outcome | None]:
        for position, rule in enumerate(self._rules[first:], start=first):
            if rule.blank_reason is not None:
                return position, Outcome(rule.blank_reason)
        return len(self._rules), None

    def _evaluate(self, text: DocumentText, first: int) -> tuple[int, Outcome | None]:
        position = first
        scores = self._scores
        try:
            for position in range(first, len(self._calls)):
                call, kept = self._calls[position]
                score, reason = call(text)
                if position in scores:
                    scores[position].append(score)
                if reason is not None:
                    self._dropped[position].append(score)
                    return position, Outcome(reason)
                kept.append(score)
        except TaskTimeoutError:  # applies to the whole call
            raise
        except Exception as error:  # noqa: BLE001 - a rule is user code
            return position, _failure(error)
        return len(self._calls), None

    def results(self) -> RuleResults:
        """Return the results of all texts so far."""
        both = zip(self._kept, self._dropped, strict=True)
        return RuleResults(
            pa.chunked_array([pa.array(self._ended_by, pa.int32())]),
            pa.chunked_array([pa.array(self._outcome_of, pa.int64())]),
            list(self._outcomes),
            {
                place: pa.chunked_array(
                    [pa.array(scores, pa.type_for_alias(self._rules[place].score_type))]
                )
                for place, scores in self._scores.items()
            },
            {place: distribution_of(*scores) for place, scores in enumerate(both)},
            None if self._edited is None else self._edited.column(),
        )


def _failure(error: Exception) -> Outcome:
    return Outcome(reason_of(error) + user_code_location(error), failed=True)
