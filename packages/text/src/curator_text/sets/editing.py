"""Editing: rule sets that also rewrite the text of what they keep."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
from curator_core import DocumentBatch

from curator_text.chosen_rows import copied
from curator_text.columns import each_text
from curator_text.compiled.engines import compiles, is_sound
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
        task = copied(task)
        column = text_column(task.data, self.text_field)
        asked: list[tuple[str, Rule]] = [(stage.token(), stage) for stage in (self, *self._row)]
        if compiles([self]) and is_sound(column):
            from curator_text.compiled.editing import edited_in_pieces, fits

            if fits(self):
                return self._settled(task, *edited_in_pieces(column, asked))
        return self._settled(task, *self._one_by_one(task, asked, column.type))

    def _settled(self, task: DocumentBatch, verdicts: Verdicts, texts: pa.ChunkedArray) -> Outcomes:
        settling = Settling(task)
        edited = settling.with_column(self.text_field, texts)
        return [edited.kept(verdicts, self.token()), *settling.gone(verdicts, self.token())]

    def _one_by_one(
        self, task: DocumentBatch, asked: Sequence[tuple[str, Rule]], kind: pa.DataType
    ) -> tuple[Verdicts, pa.ChunkedArray]:
        editing = _Editing(self)
        hearing = Hearing([editing, *(_Behind(rule) for _, rule in asked[1:])])
        texts = NewTexts(kind)
        for raw in each_text(task, self.text_field):
            editing.text = raw if isinstance(raw, str) else None
            hearing.hear(raw)
            texts.add(editing.text)
        return hearing.verdicts([token for token, _ in asked]), texts.column()


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
