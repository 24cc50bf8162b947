"""Filters over one text column: a rule scores a text, and its score decides."""

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
"""What stages must have in common to run where one can leave the other what it worked out."""


class JudgingStage(ProcessingStage[DocumentBatch, DocumentBatch], ABC):
    """Judges documents by their text. Those that follow each other judge a text in one go.

    The first of a row asks all of them, document by document, and leaves what they said beside
    the data. Each still drops its own rows, so counts and reasons are as if it had been alone.
    A document about which its rule fails is set aside, with the error; the others go on.
    """

    text_field: str
    score_field: str | None
    _token: str | None = None
    _row: "tuple[JudgingStage, ...]" = ()
    _is_followed: bool = False

    @abstractmethod
    def judge(self, text: Text) -> Said:
        """The score of a text that is not blank, and why it goes, or None where it stays."""

    @property
    @abstractmethod
    def blank_reason(self) -> str | None:
        """Why texts go that are missing or blank, or None where they stay."""

    @property
    def score_kind(self) -> str | None:
        """The Arrow type of its scores, or None where they are not wanted."""
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
        object.__setattr__(changed, "_token", None)  # another stage, with verdicts of its own
        object.__setattr__(changed, "_row", ())
        object.__setattr__(changed, "_is_followed", False)
        return changed

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
        behind = stages[len(row) : len(row) + 1]
        object.__setattr__(
            aware, "_is_followed", isinstance(next(iter(behind), None), JudgingStage)
        )
        return aware

    def joins(self, other: "JudgingStage") -> bool:
        """Whether it may be asked together with `other`, which stands before it."""
        if self.text_field in other.outputs() or not self.needs_no_setup():
            return False
        alike = all(getattr(self, name) == getattr(other, name) for name in _ALIKE)
        return alike and self.text_field == other.text_field and self.timeout_s is None

    def needs_no_setup(self) -> bool:
        """What is set up is the stage itself, not what stands for it in the row of another."""
        kind = type(self)
        return all(
            getattr(kind, name) is getattr(JudgingStage, name)
            for name in ("setup_on_node", "setup", "teardown")
        )

    def setup(self, worker: WorkerInfo) -> None:
        """Load the compiled forms, its own and those of its row, where there are some by now."""
        rules = (self, *self._row)
        if not compiles(rules):
            return
        if self.timeout_s is None:
            is_ready(rules)
        else:  # compiled later, they would take of the time that a call has
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
        """What it and the stages behind it say, in a place for each row of the whole table."""
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
        """What its verdicts are found by, also by its copies in other processes."""
        if self._token is None:
            object.__setattr__(self, "_token", uuid4().hex)
        return str(self._token)


@dataclass
class TextFilter(JudgingStage):
    """Keeps the documents whose text passes a rule, and counts the others under one reason.

    A text that is missing, empty or blank passes no rule, so a rule never sees one; nor does it
    pass a rule that is inverted. Its score is null.
    """

    cost: ClassVar[float] = 20.0
    """About how many microseconds it takes for a page of 3,000 characters; see CheapestFirst."""

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

    def judge(self, text: Text) -> Said:
        score = self.score(text)
        reason = None if self.keeps(score) != self.invert else self._said
        return score if self.score_field is None else float(score), reason

    @property
    def _said(self) -> str:
        return f"not: {self.reason}" if self.invert else self.reason


@dataclass
class WordFilter(TextFilter):
    """A rule over words, which says what it takes for one."""

    words: WordKind = field(default="whitespace", kw_only=True)
    """What a word is. `whitespace`: what white space separates. `punctuation`: marks are words of
    their own, unless they join letters (`don't`). `cjk-aware`: as `whitespace`, but each character
    of Chinese, Japanese, Thai, Lao, Khmer and Burmese is a word."""

    def check(self) -> Iterable[str]:
        yield from super().check()
        if problem := unknown_words(self.words):
            yield problem

    def wording(self, text: Text) -> Wording:
        """The words of a text as this rule takes them."""
        return text.wording if self.words == "whitespace" else text.worded(self.words)


def share(part: float) -> str:
    """A share as people say it: `25 %`."""
    return f"{part * 100:g} %"
