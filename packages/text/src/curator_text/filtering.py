"""Filters over one text column: a rule scores a text, and its score decides."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Self
from uuid import uuid4

import pyarrow as pa
from curator_core import AnyStage, DocumentBatch, Dropped, ProcessingStage

from curator_text.judging import Score, Verdicts, judged
from curator_text.texts import Text

_VERDICTS = "curator_text.verdicts"
_ALIKE = ("resources", "batch_size", "runtime_env", "on_error", "retries", "timeout_s", "hints")


class JudgingStage(ProcessingStage[DocumentBatch, DocumentBatch], ABC):
    """Drops documents by their text. Those that follow each other judge a text in one go.

    The first of a row asks all of them, document by document, and leaves what they said beside
    the data. Each still drops its own rows, so counts and reasons are as if it had been alone.
    """

    text_field: str
    score_field: str | None
    _token: str | None = None
    _row: "tuple[JudgingStage, ...]" = ()

    @abstractmethod
    def judge(self, text: Text) -> tuple[Score, str | None]:
        """The score of a text that is not blank, and why it goes, or None where it stays."""

    @property
    @abstractmethod
    def blank_reason(self) -> str:
        """Why texts go that are missing or blank."""

    def inputs(self) -> Sequence[str]:
        return (self.text_field,)

    def outputs(self) -> Sequence[str]:
        return () if self.score_field is None else (self.score_field,)

    def check(self) -> Iterable[str]:
        if self.score_field == self.text_field:
            yield f"score_field is {self.score_field!r}, the column that holds the text"

    def followed_by(self, stages: Sequence[AnyStage]) -> Self:
        self.token()  # before it is copied, so that the copy has it too
        row: list[JudgingStage] = []
        for stage in stages:
            if not (isinstance(stage, JudgingStage) and stage.joins(self)):
                break
            stage.token()
            row.append(stage)
        aware = copy(self)
        object.__setattr__(aware, "_row", tuple(row))
        return aware

    def joins(self, other: "JudgingStage") -> bool:
        """Whether it may be asked together with `other`, which stands before it."""
        if self.text_field in other.outputs() or not self._needs_no_setup():
            return False
        alike = all(getattr(self, name) == getattr(other, name) for name in _ALIKE)
        return alike and self.text_field == other.text_field and self.timeout_s is None

    def _needs_no_setup(self) -> bool:
        """What is set up is the stage itself, not what stands for it in the row of another."""
        kind = type(self)
        return all(
            getattr(kind, name) is getattr(ProcessingStage, name)
            for name in ("setup_on_node", "setup", "teardown")
        )

    def process(self, task: DocumentBatch) -> "list[DocumentBatch | Dropped]":
        verdicts: Verdicts | None = task.derived.get(_VERDICTS)
        token = self.token()
        if verdicts is None or not verdicts.has(token):
            verdicts = self._ask(task)
        return self._settled(task, verdicts, token)

    def _ask(self, task: DocumentBatch) -> Verdicts:
        asked = (self, *self._row)
        rules = [(stage.token(), stage) for stage in asked]
        wanted = frozenset(s.token() for s in asked if s.score_field is not None)
        return judged(task.data.column(self.text_field).to_pylist(), rules, wanted)

    def _settled(
        self, task: DocumentBatch, verdicts: Verdicts, token: str
    ) -> "list[DocumentBatch | Dropped]":
        mask = verdicts.mask(token)
        scores = verdicts.scores.get(token)
        scored = task if scores is None else self._scored(task, scores)
        outcomes = list(_parted(scored, mask, verdicts.reasons))
        left = verdicts if all(mask) else verdicts.only(mask)
        for outcome in outcomes:
            if isinstance(outcome, DocumentBatch) and token != left.members[-1]:
                outcome.derived = {**task.derived, _VERDICTS: left}
        return outcomes

    def _scored(self, task: DocumentBatch, scores: Sequence[Score]) -> DocumentBatch:
        column = pa.array(scores, pa.float64())
        table = task.data
        if self.score_field in table.column_names:
            place = table.column_names.index(self.score_field)
            return task.with_data(table.set_column(place, self.score_field, column))
        return task.with_data(table.append_column(self.score_field, column))

    def token(self) -> str:
        """What its verdicts are found by, also by its copies in other processes."""
        if self._token is None:
            object.__setattr__(self, "_token", uuid4().hex)
        return str(self._token)


def _parted(
    task: DocumentBatch, mask: Sequence[bool], reasons: Sequence[str | None]
) -> "Iterable[DocumentBatch | Dropped]":
    """The rows that stay, and a note for each reason why others go."""
    gone = Counter(reason for reason, stays in zip(reasons, mask, strict=True) if not stays)
    if not gone:
        yield task
        return
    yield task.with_data(task.data.filter(pa.array(mask, pa.bool_())))
    for reason, items in gone.items():
        yield Dropped(str(reason), items, partial(_those, task, mask, reasons, reason))


def _those(
    task: DocumentBatch, mask: Sequence[bool], reasons: Sequence[str | None], reason: str | None
) -> DocumentBatch:
    pairs = zip(reasons, mask, strict=True)
    chosen = [not stays and said == reason for said, stays in pairs]
    return task.with_data(task.data.filter(pa.array(chosen, pa.bool_())))


@dataclass
class TextFilter(JudgingStage):
    """Keeps the documents whose text passes a rule, and counts the others under one reason.

    A text that is missing, empty or blank passes no rule, so a rule never sees one; nor does it
    pass a rule that is inverted. Its score is null.
    """

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    score_field: str | None = field(default=None, kw_only=True)
    """A column for the score, if it is to be kept."""

    invert: bool = field(default=False, kw_only=True)
    """Drop what would be kept, and keep what would be dropped."""

    @abstractmethod
    def score(self, text: Text) -> float:
        """How much of what the rule looks for there is in `text`, which is never blank."""

    @abstractmethod
    def keeps(self, score: float) -> bool:
        """Whether a document with this score stays."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """What is wrong with the documents that are dropped."""

    @property
    def blank_reason(self) -> str:
        return self._said

    def passes(self, text: str | None) -> bool:
        """The rule's decision about one document."""
        if not text or text.isspace():
            return False
        return self.judge(Text(text))[1] is None

    def judge(self, text: Text) -> tuple[Score, str | None]:
        score = self.score(text)
        return score, None if self.keeps(score) is not self.invert else self._said

    @property
    def _said(self) -> str:
        return f"not: {self.reason}" if self.invert else self.reason


def share(part: float) -> str:
    """A share as people say it: `25 %`."""
    return f"{part * 100:g} %"
