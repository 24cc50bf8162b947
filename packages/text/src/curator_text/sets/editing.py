"""Editing rule sets: drop some documents and rewrite the text of the others."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
from curator_core import DocumentBatch

from curator_text.chosen_rows import Rows, rows_of
from curator_text.columns import Raw, each_text
from curator_text.compiled.engines import compiles, is_sound
from curator_text.compiled.waiting import in_python, is_ready
from curator_text.filtering import JudgingStage
from curator_text.judging import Hearing, Rule, Said, Verdicts
from curator_text.sets.rules import RuleSet
from curator_text.settling import Outcomes, Settling
from curator_text.text_columns import NewTexts, text_column
from curator_text.texts import Text


class Edit(NamedTuple):
    """The result of editing: a new text, or the reason to drop the document."""

    text: Text
    reason: str | None = None


@dataclass
class EditingRuleSet(RuleSet):
    """Rules that drop some documents and rewrite the others.

    It cannot join the row of an earlier stage, because it changes the column. It starts a new row:
    the filters after it judge the edited text in the same pass.
    """

    @abstractmethod
    def edited(self, text: Text) -> Edit:
        """Edit a non-blank text."""

    def why_not(self, text: Text) -> str | None:
        return self.edited(text).reason

    def joins(self, other: JudgingStage) -> bool:
        return False

    def process(self, task: DocumentBatch) -> Outcomes:
        rows = rows_of(task)
        verdicts, texts = self._edits(rows)
        settling = Settling(task, rows, copies=not self._is_followed)
        edited = settling.with_column(self.text_field, texts)
        return [edited.kept(verdicts, self.token()), *settling.gone(verdicts, self.token())]

    def _edits(self, rows: Rows) -> tuple[Verdicts, pa.ChunkedArray]:
        """Judge and edit the rows; both results cover the whole table."""
        asked: list[tuple[str, Rule]] = [(stage.token(), stage) for stage in (self, *self._row)]
        column = text_column(rows.table, self.text_field)
        texts = rows.texts(self.text_field)
        if compiles([self]) and is_sound(column) and is_ready((self, *self._row)):
            from curator_text.compiled.editing import edited_in_pieces, fits

            if fits(self):
                return edited_in_pieces(texts, asked, column.type)
        with in_python():
            return self._one_by_one(each_text(texts), asked, column.type)

    def _one_by_one(
        self, texts: Iterable[Raw], asked: Sequence[tuple[str, Rule]], kind: pa.DataType
    ) -> tuple[Verdicts, pa.ChunkedArray]:
        editing = _Editing(self)
        hearing = Hearing([editing, *(_Behind(rule) for _, rule in asked[1:])])
        edited = NewTexts(kind)
        for raw in texts:
            editing.text = raw if isinstance(raw, str) else None
            hearing.hear(raw)
            edited.add(editing.text)
        return hearing.verdicts([token for token, _ in asked]), edited.column()


@dataclass
class _Editing:
    """Applies a rule set and holds the edited text until the next one arrives."""

    rules: EditingRuleSet
    text: str | None = None
    score_kind: str | None = None

    @property
    def blank_reason(self) -> str | None:
        return self.rules.blank_reason

    def judge(self, text: Text) -> Said:
        self.text = None
        edit = self.rules.edited(text)
        if edit.reason is None:
            self.text = str(edit.text)  # a plain string, without cached features
            vars(text)["edited"] = edit.text  # for the later rules
        return None, edit.reason


@dataclass
class _Behind:
    """Applies a rule to the edited text."""

    rule: Rule

    @property
    def score_kind(self) -> str | None:
        return self.rule.score_kind

    @property
    def blank_reason(self) -> str | None:
        return self.rule.blank_reason

    def judge(self, text: Text) -> Said:
        edited: Text = vars(text)["edited"]
        if not edited or edited.isspace():
            return None, self.rule.blank_reason
        return self.rule.judge(edited)
