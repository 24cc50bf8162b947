"""Evaluate rules over a column of text, document by document or with the compiled engine.

Each document is given to the rules in turn until one of them drops it. Several rules share the
words and lines that they compute from it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from curator_core.errors import TaskTimeoutError, reason_of, user_code_location
from curator_core.model.scores import Scores

from curator_text.document_text import DocumentText
from curator_text.text_columns import Raw, TextColumnBuilder, each_text, split_column

Score: TypeAlias = float | str | None
Evaluation: TypeAlias = tuple[Score, str | None]
"""The score of a text, and the reason to drop it (None to keep it)."""


class Rule(Protocol):
    """What can be evaluated; see `curator_text.filters.base.TextRule`."""

    @property
    def score_type(self) -> str | None: ...

    @property
    def blank_reason(self) -> str | None: ...

    def evaluate(self, text: DocumentText) -> Evaluation: ...


class Edit(NamedTuple):
    """The result of editing a text: a new text, or the reason to drop the document."""

    text: DocumentText
    reason: str | None = None


class Outcome(NamedTuple):
    """Why a document was dropped; `failed` if the rule raised or the text is unreadable."""

    reason: str
    failed: bool = False
    damaged: bool = False


@dataclass
class RuleResults:
    """The results of several rules for some rows. Rules are numbered by position."""

    ended_by: pa.ChunkedArray
    """For each row, the first rule that dropped it or failed; the number of rules if it is kept."""

    outcome_of: pa.ChunkedArray
    """For each row, a position in `outcomes`; -1 if it is kept."""

    outcomes: list[Outcome]
    scores: dict[int, pa.ChunkedArray] = field(default_factory=dict)
    """A column for each rule whose scores are stored."""

    distributions: dict[int, Scores] = field(default_factory=dict)
    """Scores for the report, of the rules that return numbers."""

    edited: pa.ChunkedArray | None = None
    """The new texts, if the first rule edits them."""

    def rows_ended_by(self, position: int) -> dict[Outcome, list[int]]:
        """Return the rows that this rule ended, by outcome."""
        rows = pc.indices_nonzero(pc.equal(self.ended_by, position))
        found: dict[Outcome, list[int]] = {}
        outcomes = self.outcome_of.take(rows)
        for row, number in zip(rows.to_pylist(), outcomes.to_pylist(), strict=True):
            found.setdefault(self.outcomes[number], []).append(row)
        return found


def concatenate(parts: Sequence[RuleResults]) -> RuleResults:
    """Return the results of consecutive rows as one."""
    if len(parts) == 1:
        return parts[0]
    outcomes: list[Outcome] = []
    outcome_of, distributions = [], dict[int, Scores]()
    for part in parts:
        numbers = part.outcome_of
        outcome_of.append(pc.if_else(pc.less(numbers, 0), numbers, pc.add(numbers, len(outcomes))))
        outcomes += part.outcomes
        for position, more in part.distributions.items():
            distributions[position] = distributions.get(position, Scores()).plus(more)
    return RuleResults(
        _join_columns([part.ended_by for part in parts]),
        _join_columns(outcome_of),
        outcomes,
        {rule: _join_columns([part.scores[rule] for part in parts]) for rule in parts[0].scores},
        distributions,
        None if parts[0].edited is None else _join_columns([part.edited for part in parts]),
    )


def _join_columns(columns: Sequence[Any]) -> pa.ChunkedArray:
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks])


def evaluate(rules: Sequence[Any], column: pa.ChunkedArray) -> RuleResults:
    """Evaluate the rules over a column of text. Only the first of them may edit the texts."""
    from curator_text.compiled import engine

    if engine.supports_any(rules) and engine.is_valid_utf8(column):
        return concatenate([engine.evaluate_compiled(rules, part) for part in split_column(column)])
    return evaluate_texts(rules, each_text(split_column(column)), column.type)


def evaluate_texts(
    rules: Sequence[Rule], texts: Iterable[Raw], edited_type: pa.DataType | None = None
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
        self._kept: list[list[Score]] = [[] for _ in rules]
        self._dropped: list[list[Score]] = [[] for _ in rules]
        self._scores: dict[int, list[Score]] = {
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


def distribution_of(kept: Sequence[Score], dropped: Sequence[Score]) -> Scores:
    """Return the scores for the report; none if the first value found is not a number."""
    first = next((score for score in (*kept[:9], *dropped[:9]) if score is not None), None)
    return Scores.of(kept, dropped) if isinstance(first, int | float) else Scores()


def _failure(error: Exception) -> Outcome:
    return Outcome(reason_of(error) + user_code_location(error), failed=True)
