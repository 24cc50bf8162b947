"""Rules: what the sets have in common."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field

from curator_text.filtering import JudgingStage
from curator_text.judging import Said
from curator_text.texts import Text
from curator_text.wording import WordKind, unknown_words


@dataclass
class RuleSet(JudgingStage, ABC):
    """Drops the documents that break one of its rules, each for the first that it breaks."""

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    score_field: str | None = field(default=None, init=False, repr=False)

    @abstractmethod
    def why_not(self, text: Text) -> str | None:
        """The name of the rule that a text breaks, or None. The text is never blank."""

    def judge(self, text: Text) -> Said:
        return None, self.why_not(text)


@dataclass
class WordRuleSet(RuleSet):
    """Rules of which some are about words, which says what it takes for one."""

    words: WordKind = field(default="whitespace", kw_only=True)
    """What a word is. `whitespace`: what white space separates. `punctuation`: letters and digits
    that touch, and each mark by itself. `cjk-aware`: as white space, but each character of a
    script without spaces is a word."""

    def check(self) -> Iterable[str]:
        yield from super().check()
        if problem := unknown_words(self.words):
            yield problem
