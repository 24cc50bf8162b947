"""Judging a column by several rules: rules with a compiled form judge all rows at once.

The other rules run in Python, document by document, in their position, on the documents that are
left.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from curator_core.model.scores import Scores, bounded

from curator_text.compiled.documents import Documents
from curator_text.compiled.forms import form_of
from curator_text.compiled.kernels import Array
from curator_text.compiled.opinions import ASK, STAYS, Asked, Form, Opinion
from curator_text.judging import Ending, Hearing, Rule, Verdicts


def judged_at_once(column: pa.ChunkedArray, rules: Sequence[tuple[str, Rule]]) -> Verdicts:
    """Return the same verdicts as `curator_text.judging.judged` for these texts."""
    documents = Documents(column)
    record = Record(rules, len(documents))
    judge(documents, record, range(len(rules)))
    return record.verdicts()


def judge(documents: Documents, record: "Record", places: Sequence[int]) -> None:
    """Apply the rules at these positions to the rows that are left."""
    record.end_blank(documents, places)
    rules = record.rules
    for form, group in groupby(places, lambda place: form_of(rules[place])):
        if form is None:
            _ask_in_python(documents, record, list(group))
            continue
        for place in group:
            _ask_at_once(documents, record, place, form)


def _ask_at_once(documents: Documents, record: "Record", place: int, form: Form) -> None:
    rows = record.left()
    if not len(rows):
        return
    opinion = form.opinion(record.rules[place], Asked(documents, record.rules, rows))
    record.note(place, rows, opinion)
    unsure = rows[opinion.codes == ASK]
    if len(unsure):
        _hear(documents, record, [place], unsure)


def _ask_in_python(documents: Documents, record: "Record", places: Sequence[int]) -> None:
    rows = record.left()
    if len(rows):
        _hear(documents, record, places, rows)


def _hear(documents: Documents, record: "Record", places: Sequence[int], rows: Array) -> None:
    hearing = Hearing([record.rules[place] for place in places])
    for text in documents.texts(rows):
        hearing.hear(text)
    record.merge(hearing.verdicts([str(place) for place in places]), places, rows)


class Record:
    """The state of each row of a batch while rules are applied one after another."""

    def __init__(self, rules: Sequence[tuple[str, Rule]], rows: int) -> None:
        self.tokens = [token for token, _ in rules]
        self.rules: list[Any] = [rule for _, rule in rules]
        self.by = np.full(rows, len(rules), np.int32)
        self._how = np.full(rows, -1, np.int64)
        self._endings: dict[Ending, int] = {}
        self._floats: dict[int, Array] = {}
        self._others: dict[int, list[Any]] = {}
        self._told: dict[int, Scores] = {}

    def left(self) -> Array:
        """Return the rows that are not blank and that no rule has ended."""
        return np.flatnonzero(self._is_open)

    def end_blank(self, documents: Documents, places: Sequence[int]) -> None:
        """End blank rows at the first rule with a reason for them; other rules skip them."""
        blank = documents.blank() & (self.by == len(self.rules))
        self._is_open = ~blank & (self.by == len(self.rules))
        for place in places:
            reason = self.rules[place].blank_reason
            if reason is not None:
                self.end(place, np.flatnonzero(blank), Ending(reason))
                return

    def end(self, place: int, rows: Array, ending: Ending) -> None:
        if len(rows):
            self.by[rows] = place
            self._how[rows] = self._endings.setdefault(ending, len(self._endings))
            self._is_open[rows] = False

    def note(self, place: int, rows: Array, opinion: Opinion) -> None:
        """Record the results of a compiled rule."""
        for code, reason in enumerate(opinion.reasons):
            self.end(place, rows[opinion.codes == code], Ending(reason))
        if opinion.scores is not None:
            kept, dropped = opinion.codes == STAYS, opinion.codes >= 0
            self._tell(place, Scores(_bins(opinion.scores[kept]), _bins(opinion.scores[dropped])))
        if self.rules[place].score_kind is not None and opinion.scores is not None:
            scores = np.full(len(self.by), np.nan)
            scores[rows] = opinion.scores
            self._floats[place] = scores

    def merge(self, verdicts: Verdicts, places: Sequence[int], rows: Array) -> None:
        """Record the results of rules that ran in Python."""
        by = verdicts.rows["by"].to_numpy()
        how = verdicts.rows["how"].to_numpy()
        for number, ending in enumerate(verdicts.endings):
            found = how == number
            for step in np.unique(by[found]).tolist():
                self.end(places[step], rows[found & (by == step)], ending)
        for place in places:
            self._tell(place, verdicts.scores.get(str(place), Scores()))
            if str(place) in verdicts.rows.column_names:
                self._add_scores(place, rows, verdicts.rows[str(place)].to_pylist())

    def _tell(self, place: int, scores: Scores) -> None:
        self._told[place] = self._told.get(place, Scores()).plus(scores)

    def _add_scores(self, place: int, rows: Array, scores: Sequence[Any]) -> None:
        if place in self._floats:
            self._floats[place][rows] = [np.nan if one is None else one for one in scores]
            return
        column = self._others.setdefault(place, [None] * len(self.by))
        for row, score in zip(rows.tolist(), scores, strict=True):
            column[row] = score

    def verdicts(self) -> Verdicts:
        columns = {"by": pa.array(self.by), "how": pa.array(self._how)}
        for place, rule in enumerate(self.rules):
            if rule.score_kind is not None:
                columns[self.tokens[place]] = self._scores_of(place, rule.score_kind)
        scores = {self.tokens[place]: told for place, told in self._told.items()}
        return Verdicts(tuple(self.tokens), pa.table(columns), list(self._endings), scores)

    def _scores_of(self, place: int, kind: str) -> pa.Array:
        if place in self._floats:
            scores = self._floats[place]
            return pa.array(scores, pa.float64(), mask=np.isnan(scores))
        others = self._others.get(place, [None] * len(self.by))
        return pa.array(others, pa.type_for_alias(kind))


def _bins(scores: Array) -> dict[int, int]:
    """Return the same as `bins_of`, in half the time."""
    if not len(scores):
        return {}
    numbers = np.ascontiguousarray(scores, "<f8").view("<i2")[3::4]
    least = int(numbers.min())
    times = np.bincount(numbers.astype(np.int64) - least)
    found = np.flatnonzero(times)
    return bounded(dict(zip((found + least).tolist(), times[found].tolist(), strict=True)))


__all__ = ["STAYS", "Record", "judge", "judged_at_once"]
