"""The results of rules over documents: which rule dropped each of them, why, and its scores."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from curator_core.model.scores import Scores

from curator_text.document_text import DocumentText

ScoreValue: TypeAlias = float | str | None
Evaluation: TypeAlias = tuple[ScoreValue, str | None]
"""The score of a text, and the reason to drop it (None to keep it)."""


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

    def rows_decided_by(self, position: int) -> dict[Outcome, list[int]]:
        """Return the rows that this rule dropped or could not process, by outcome."""
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


def distribution_of(kept: Sequence[ScoreValue], dropped: Sequence[ScoreValue]) -> Scores:
    """Return the scores for the report; none if the first value found is not a number."""
    first = next((score for score in (*kept[:9], *dropped[:9]) if score is not None), None)
    return Scores.of(kept, dropped) if isinstance(first, int | float) else Scores()
