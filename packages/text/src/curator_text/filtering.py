"""Filters of one text column: a rule scores a text, and its score decides."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, is_dataclass
from typing import Any, ClassVar, Self
from uuid import uuid4

from curator_core import AnyStage, DocumentBatch, ProcessingStage, WorkerInfo

from curator_text.chosen_rows import Rows, rows_of
from curator_text.columns import each_text
from curator_text.compiled.engines import compiles, is_sound
from curator_text.compiled.waiting import in_python, is_ready
from curator_text.judging import Said, Verdicts, joined, judged
from curator_text.limits import limit_problems
from curator_text.settling import VERDICTS, Outcomes, Settling
from curator_text.text_columns import text_column
from curator_text.texts import Text
from curator_text.wording import Wording, WordKind, unknown_words

_ALIKE = ("resources", "wants_workers", "runtime_env", "batch_size", "hints", "timeout_s")
"""Stage settings that must be equal for two stages to judge documents together."""


class JudgingStage(ProcessingStage[DocumentBatch, DocumentBatch], ABC):
    """Judges documents by their text.

    Consecutive judging stages (a row) share one pass over each text. The first stage of the row
    runs all of its rules, document by document, and stores the results in `task.derived`. Each
    stage still drops its own rows, so counts and reasons are the same as if it ran alone. A
    document whose rule fails is quarantined with the error; the others continue.
    """

    text_field: str
    score_field: str | None
    _token: str | None = None
    _row: "tuple[JudgingStage, ...]" = ()
    _is_followed: bool = False

    @abstractmethod
    def judge(self, text: Text) -> Said:
        """Return the score of a non-blank text and the reason to drop it (None to keep it)."""

    @property
    @abstractmethod
    def blank_reason(self) -> str | None:
        """Return the reason to drop a missing or blank text, or None to keep it."""

    @property
    def score_kind(self) -> str | None:
        """Return the Arrow type of the scores, or None if they are not stored."""
        return None if self.score_field is None else "double"

    def inputs(self) -> Sequence[str]:
        return (self.text_field,)

    def outputs(self) -> Sequence[str]:
        return () if self.score_field is None else (self.score_field,)

    def check(self) -> Iterable[str]:
        if self.score_field == self.text_field:
            yield f"score_field is {self.score_field!r}, the column that holds the text"
        if is_dataclass(self):
            yield from limit_problems(self)

    def with_(self, **changes: Any) -> Self:
        changed = super().with_(**changes)
        object.__setattr__(changed, "_token", None)  # the copy needs its own verdicts
        object.__setattr__(changed, "_row", ())
        object.__setattr__(changed, "_is_followed", False)
        return changed

    def followed_by(self, stages: Sequence[AnyStage]) -> Self:
        self.token()  # before copying, so that the copy has it too
        row: list[JudgingStage] = []
        for stage in stages:
            if not (isinstance(stage, JudgingStage) and stage.joins(self)):
                break
            stage.token()
            row.append(stage)
        aware = copy(self)
        object.__setattr__(aware, "_row", tuple(row))
        behind = stages[len(row) : len(row) + 1]
        object.__setattr__(
            aware, "_is_followed", isinstance(next(iter(behind), None), JudgingStage)
        )
        return aware

    def joins(self, other: "JudgingStage") -> bool:
        """Whether it can run together with `other`, an earlier stage of the row."""
        if self.text_field in other.outputs() or not self.needs_no_setup():
            return False
        alike = all(getattr(self, name) == getattr(other, name) for name in _ALIKE)
        return alike and self.text_field == other.text_field and self.timeout_s is None

    def needs_no_setup(self) -> bool:
        """Whether it has no setup hooks: a stage judged in another's row is not set up."""
        kind = type(self)
        return all(
            getattr(kind, name) is getattr(JudgingStage, name)
            for name in ("setup_on_node", "setup", "teardown")
        )

    def setup(self, worker: WorkerInfo) -> None:
        """Load the compiled forms of its rule and of the rest of its row, if they are ready."""
        rules = (self, *self._row)
        if not compiles(rules):
            return
        if self.timeout_s is None:
            is_ready(rules)
        else:  # compile now: later it would use up a call's timeout
            from curator_text.compiled.warming import warm

            warm(rules)

    def process(self, task: DocumentBatch) -> Outcomes:
        verdicts: Verdicts | None = task.derived.get(VERDICTS)
        token = self.token()
        rows = rows_of(task)
        if verdicts is None or token not in verdicts.members:
            verdicts = self.ask(rows)
        settling = Settling(task, rows, copies=not self._is_followed, score=self.score_field)
        if self.score_field is not None:
            settling = settling.with_column(self.score_field, verdicts.rows[token])
        return settling.by(verdicts, token)

    def ask(self, rows: Rows) -> Verdicts:
        """Judge by this stage and the rest of its row; results cover the whole table."""
        asked = [(stage.token(), stage) for stage in (self, *self._row)]
        column = text_column(rows.table, self.text_field)
        texts = rows.texts(self.text_field)
        rules = (self, *self._row)
        if compiles(rules) and is_sound(column) and is_ready(rules):
            from curator_text.compiled.judging import judged_at_once

            return joined([judged_at_once(piece, asked) for piece in texts])
        with in_python():
            return judged(each_text(texts), asked)

    def token(self) -> str:
        """Return the key of its verdicts, which its copies in other processes share."""
        if self._token is None:
            object.__setattr__(self, "_token", uuid4().hex)
        return str(self._token)


@dataclass
class TextFilter(JudgingStage):
    """Keeps documents whose text passes a rule, and drops the others with one reason.

    A missing, empty or blank text never reaches the rule: it is dropped, even if the rule is
    inverted, and its score is null.
    """

    cost: ClassVar[float] = 20.0
    """Approximate cost in microseconds for a page of 3,000 characters; see CheapestFirst."""

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    score_field: str | None = field(default=None, kw_only=True)
    """A column for the score, if it should be kept."""

    invert: bool = field(default=False, kw_only=True)
    """Invert the rule: drop the documents that it would keep, and keep the others."""

    @abstractmethod
    def score(self, text: Text) -> float:
        """Return the rule's score for `text`, which is never blank."""

    @abstractmethod
    def keeps(self, score: float) -> bool:
        """Whether a document with this score is kept."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """The reason recorded for dropped documents."""

    @property
    def blank_reason(self) -> str:
        return self._said

    def passes(self, text: str | None) -> bool:
        """Apply the rule to one document."""
        if not text or text.isspace():
            return False
        return self.judge(Text(text))[1] is None

    def judge(self, text: Text) -> Said:
        score = self.score(text)
        reason = None if self.keeps(score) != self.invert else self._said
        return score if self.score_field is None else float(score), reason

    @property
    def _said(self) -> str:
        return f"not: {self.reason}" if self.invert else self.reason


@dataclass
class WordFilter(TextFilter):
    """A rule over words, with a choice of how to split them."""

    words: WordKind = field(default="whitespace", kw_only=True)
    """How to split a text into words. `whitespace`: at white space. `punctuation`: punctuation
    marks are separate words, unless they join letters (`don't`). `cjk-aware`: as `whitespace`, but
    each character of Chinese, Japanese, Thai, Lao, Khmer and Burmese is a word."""

    def check(self) -> Iterable[str]:
        yield from super().check()
        if problem := unknown_words(self.words):
            yield problem

    def wording(self, text: Text) -> Wording:
        """Return the words of a text as this rule splits them."""
        return text.wording if self.words == "whitespace" else text.worded(self.words)


def share(part: float) -> str:
    """Format a share as a percentage: `25 %`."""
    return f"{part * 100:g} %"
