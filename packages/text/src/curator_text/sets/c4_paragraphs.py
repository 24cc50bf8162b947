"""The C4 rule on paragraphs, from its multilingual edition (Xue et al. 2021)."""

from dataclasses import dataclass

from curator_text.sets.rules import RuleSet
from curator_text.texts import Text


@dataclass
class C4ParagraphFilter(RuleSet):
    """Drops texts with too few long lines. The reason is `< 3 paragraphs`."""

    min_paragraphs: int = 3
    """Minimum number of long lines."""

    min_paragraph_len: int = 200
    """Minimum length of a long line, in characters."""

    @property
    def blank_reason(self) -> str:
        return f"< {self.min_paragraphs} paragraphs"

    def why_not(self, text: Text) -> str | None:
        long = sum(len(line) >= self.min_paragraph_len for line in text.split("\n"))
        return self.blank_reason if long < self.min_paragraphs else None
