"""Base classes of the rule sets."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field

from curator_text.filtering import JudgingStage
from curator_text.judging import Said
from curator_text.texts import Text
from curator_text.wording import WordKind, unknown_words


@dataclass
class RuleSet(JudgingStage, ABC):
    """Drops documents that break one of its rules.

    The reason is the first broken rule.
    """

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    score_field: str | None = field(default=None, init=False, repr=False)

    @abstractmethod
    def why_not(self, text: Text) -> str | None:
        """Return the name of the first rule that a non-blank text breaks, or None."""

    def judge(self, text: Text) -> Said:
        return None, self.why_not(text)


@dataclass
class WordRuleSet(RuleSet):
    """Rules that depend on how words are split."""

    words: WordKind = field(default="whitespace", kw_only=True)
    """How to split a text into words. `whitespace`: at white space. `punctuation`: runs of letters
    and digits, and each punctuation mark by itself. `cjk-aware`: as `whitespace`, but each
    character of a script without spaces is a word."""

    def check(self) -> Iterable[str]:
        yield from super().check()
        if problem := unknown_words(self.words):
            yield problem
