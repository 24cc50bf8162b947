"""The base classes of text filters: a score, a decision, and a reason."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, is_dataclass
from itertools import takewhile
from typing import ClassVar

from curator_core import AnyStage, DocumentBatch, FusedStage, ProcessingStage, WorkerInfo

from curator_text.compiled import engine
from curator_text.document_text import DocumentText, WordKind, Words, word_kind_problem
from curator_text.filters.fusion import FusedTextRules, RuleOutputs, split_results
from curator_text.option_checks import limit_problems
from curator_text.rule_results import Edit, Evaluation, RuleResults
from curator_text.text_columns import text_column


class TextRule(ProcessingStage[DocumentBatch, DocumentBatch], ABC):
    """Scores or drops documents by their text.

    A document whose rule fails is quarantined with the error; the others continue. The plan fuses
    neighbouring rules over the same column (see `curator_text.filters.fusion`).
    """

    text_field: str
    score_field: str | None

    kernel: ClassVar[str | None] = None
    """The function in `curator_text.compiled.rules` that does the same, if there is one."""

    edits: ClassVar[bool] = False
    """Whether it changes the texts. Such a rule has an `edit` method too."""

    @abstractmethod
    def evaluate(self, text: DocumentText) -> Evaluation:
        """Return the score of a non-blank text and the reason to drop it (None to keep it)."""

    @property
    @abstractmethod
    def blank_reason(self) -> str | None:
        """Return the reason to drop a missing or blank text, or None to keep it."""

    @property
    def score_type(self) -> str | None:
        """Return the Arrow type of the scores, or None if they are not stored."""
        return None if self.score_field is None else "double"

    def has_kernel(self) -> bool:
        """Whether the compiled engine supports the rule with its options.

        Subclasses may change anything, so they run in Python unless they name a kernel too.
        """
        return vars(type(self)).get("kernel") is not None

    def inputs(self) -> Sequence[str]:
        return (self.text_field,)

    def outputs(self) -> Sequence[str]:
        return () if self.score_field is None else (self.score_field,)

    def check(self) -> Iterable[str]:
        if self.score_field == self.text_field:
            yield f"score_field is {self.score_field!r}, the column that holds the text"
        if is_dataclass(self):
            yield from limit_problems(self)

    def fuse_with(self, near: Sequence[AnyStage], later: Sequence[AnyStage]) -> FusedStage | None:
        members = [self, *takewhile(self._can_share_pass, near)]
        is_plain = type(self).process is TextRule.process
        return FusedTextRules(members) if is_plain and len(members) > 1 else None

    def _can_share_pass(self, other: AnyStage) -> bool:
        return (
            type(other).process is TextRule.process
            and isinstance(other, TextRule)
            and not other.edits
            and other.text_field == self.text_field
        )

    def setup(self, worker: WorkerInfo) -> None:
        """Load the compiled form of the rule, if it has one."""
        engine.load([self])

    def process(self, task: DocumentBatch) -> RuleOutputs:
        [outputs] = split_results(task, [self], self.evaluate_column(task))
        return outputs

    def evaluate_column(self, task: DocumentBatch) -> RuleResults:
        """Evaluate the rule over all texts of a batch."""
        return engine.evaluate([self], text_column(task.data, self.text_field))


@dataclass
class TextFilter(TextRule):
    """Keeps documents whose score is acceptable, and drops the others with one reason.

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
    def score(self, text: DocumentText) -> float:
        """Return the rule's score for `text`, which is never blank."""

    @abstractmethod
    def keeps(self, score: float) -> bool:
        """Whether a document with this score is kept."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """The reason recorded for dropped documents."""

    @property
    def drop_reason(self) -> str:
        """The reason, negated if the rule is inverted."""
        return f"not: {self.reason}" if self.invert else self.reason

    @property
    def blank_reason(self) -> str:
        return self.drop_reason

    def passes(self, text: str | None) -> bool:
        """Apply the rule to one document."""
        if not text or text.isspace():
            return False
        return self.evaluate(DocumentText(text))[1] is None

    def evaluate(self, text: DocumentText) -> Evaluation:
        score = self.score(text)
        reason = None if self.keeps(score) != self.invert else self.drop_reason
        return score if self.score_field is None else float(score), reason


@dataclass
class WordFilter(TextFilter):
    """A rule over words, with a choice of how to split them."""

    words: WordKind = field(default="whitespace", kw_only=True)
    """How to split a text into words. `whitespace`: at white space. `punctuation`: punctuation
    marks are separate words, unless they join letters (`don't`). `cjk-aware`: as `whitespace`, but
    each character of Chinese, Japanese, Thai, Lao, Khmer and Burmese is a word."""

    def check(self) -> Iterable[str]:
        yield from super().check()
        if problem := word_kind_problem(self.words):
            yield problem

    def has_kernel(self) -> bool:
        return super().has_kernel() and self.words == "whitespace"

    def words_of(self, text: DocumentText) -> Words:
        """Return the words of a text as this rule splits them."""
        return text.split_words(self.words)


def percent(share: float) -> str:
    """Format a share as a percentage: `25 %`."""
    return f"{share * 100:g} %"


@dataclass
class RuleSet(TextRule):
    """Drops documents that break one of several rules; the reason is the first broken rule."""

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    score_field: str | None = field(default=None, init=False, repr=False)

    @abstractmethod
    def broken_rule(self, text: DocumentText) -> str | None:
        """Return the name of the first rule that a non-blank text breaks, or None."""

    def evaluate(self, text: DocumentText) -> Evaluation:
        return None, self.broken_rule(text)


@dataclass
class WordRuleSet(RuleSet):
    """Rules that depend on how words are split."""

    words: WordKind = field(default="whitespace", kw_only=True)
    """How to split a text into words. `whitespace`: at white space. `punctuation`: runs of letters
    and digits, and each punctuation mark by itself. `cjk-aware`: as `whitespace`, but each
    character of a script without spaces is a word."""

    def check(self) -> Iterable[str]:
        yield from super().check()
        if problem := word_kind_problem(self.words):
            yield problem

    def has_kernel(self) -> bool:
        return super().has_kernel() and self.words == "whitespace"


@dataclass
class EditingRuleSet(RuleSet):
    """Rules that drop some documents and rewrite the text of the others.

    The rules that the plan fuses with it evaluate the edited text.
    """

    edits: ClassVar[bool] = True

    @abstractmethod
    def edit(self, text: DocumentText) -> Edit:
        """Edit a non-blank text."""

    def broken_rule(self, text: DocumentText) -> str | None:
        return self.edit(text).reason
