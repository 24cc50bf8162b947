"""Editing: rule sets that also rewrite the text of what they keep."""

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
    """What became of a text: its new form, or why its document goes."""

    text: Text
    reason: str | None = None


@dataclass
class EditingRuleSet(RuleSet):
    """Rules that drop some documents and rewrite the others.

    It joins no row before it, since the column changes here, and begins one of its own: the
    filters behind it are asked about the edited text as soon as it is there.
    """

    @abstractmethod
    def edited(self, text: Text) -> Edit:
        """What becomes of a text that is not blank."""

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
        """What is said, and the new texts, in a place for each row of the whole table."""
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
    """Asks a rule set, and keeps the text as it is now until the next one comes."""

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
            self.text = str(edit.text)  # without what rules will have it remember
            vars(text)["edited"] = edit.text  # for those behind
        return None, edit.reason


@dataclass
class _Behind:
    """Asks a rule about the edited text."""

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
