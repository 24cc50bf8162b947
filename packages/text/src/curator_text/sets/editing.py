"""Editing: rule sets that also rewrite the text of what they keep."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch

from curator_text.columns import texts_of
from curator_text.compiled.engines import compiles, is_sound
from curator_text.filtering import JudgingStage
from curator_text.judging import Rule, Said, Verdicts, judged
from curator_text.sets.rules import RuleSet
from curator_text.settling import VERDICTS, Outcomes, Settling
from curator_text.text_columns import as_texts, text_column, with_column
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
        column = text_column(task.data, self.text_field)
        if compiles([self]) and is_sound(column):
            from curator_text.compiled.editing import edited_at_once, fits

            if fits(self):
                asked = [(stage.token(), stage) for stage in (self, *self._row)]
                return self._settled(task, *edited_at_once(column, asked))
        return self._process_one_by_one(task)

    def _settled(self, task: DocumentBatch, verdicts: Verdicts, texts: pa.Array) -> Outcomes:
        mask = verdicts.mask(self.token())
        kept, *gone = Settling(task, None).by(verdicts, self.token())
        assert isinstance(kept, DocumentBatch)
        return [self._rewritten(kept, pc.filter(texts, mask)), *gone]

    def _process_one_by_one(self, task: DocumentBatch) -> Outcomes:
        editing = _Editing(self)
        rules: list[tuple[str, Rule]] = [(self.token(), editing)]
        rules += [(stage.token(), _Behind(stage)) for stage in self._row]
        verdicts = judged(texts_of(task, self.text_field), rules)
        kept, *gone = Settling(task, None).by(verdicts, self.token())
        assert isinstance(kept, DocumentBatch)
        kind = text_column(kept.data, self.text_field).type
        return [self._rewritten(kept, as_texts(editing.texts, kind)), *gone]

    def _rewritten(self, kept: DocumentBatch, texts: Any) -> DocumentBatch:
        table = kept.data
        column = texts.cast(text_column(table, self.text_field).type)
        rewritten = kept.with_data(with_column(table, self.text_field, column))
        rewritten.derived = {VERDICTS: kept.derived.get(VERDICTS)}  # the rest is of the old text
        return rewritten


@dataclass
class _Editing:
    """Asks a rule set, and takes down the texts of what it keeps."""

    rules: EditingRuleSet
    texts: list[Text] = field(default_factory=list)
    score_kind: str | None = None

    @property
    def blank_reason(self) -> str | None:
        return self.rules.blank_reason

    def judge(self, text: Text) -> Said:
        edit = self.rules.edited(text)
        if edit.reason is None:
            self.texts.append(edit.text)
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
