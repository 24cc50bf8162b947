"""Rules over the lines and paragraphs of a text. Blank lines do not count as lines."""

from dataclasses import dataclass

from curator_text.filtering import TextFilter, share
from curator_text.texts import Text

_END_MARKS = (".", "?", "!", '"', "'")
_POLICY = (
    "cookie policy",
    "cookies policy",
    "privacy overview",
    "privacy policy",
    "terms of use",
    "use cookies",
    "use of cookies",
    "uses cookies",
)


@dataclass
class RepeatedLinesFilter(TextFilter):
    """Drops texts that would lose too many of their lines if each were kept once."""

    min_unique_lines_ratio: float = 0.7
    """The least number of different lines for each line."""

    @property
    def reason(self) -> str:
        return f"over {share(1 - self.min_unique_lines_ratio)} of lines are repeated"

    def score(self, text: Text) -> float:
        lines = text.lines
        return len(set(lines)) / len(lines)

    def keeps(self, score: float) -> bool:
        return score >= self.min_unique_lines_ratio


@dataclass
class PunctuationFilter(TextFilter):
    """Drops texts whose lines seldom end like sentences: menus, lists of keywords."""

    max_num_sentences_without_endmark_ratio: float = 0.85
    """The largest share of lines that do not end with a full stop, `?`, `!` or a quotation mark."""

    @property
    def reason(self) -> str:
        most = share(self.max_num_sentences_without_endmark_ratio)
        return f"over {most} of lines lack an end mark"

    def score(self, text: Text) -> float:
        lines = text.lines
        return sum(not line.strip().endswith(_END_MARKS) for line in lines) / len(lines)

    def keeps(self, score: float) -> bool:
        return score <= self.max_num_sentences_without_endmark_ratio


@dataclass
class BoilerPlateStringFilter(TextFilter):
    """Drops texts with too many paragraphs about cookies or terms, and any lorem ipsum."""

    max_boilerplate_string_ratio: float = 0.4
    """The largest share of paragraphs with a phrase such as `privacy policy` or `uses cookies`."""

    @property
    def reason(self) -> str:
        return f"lorem ipsum, or over {share(self.max_boilerplate_string_ratio)} boilerplate"

    def score(self, text: Text) -> float:
        lowered = text.lowered
        if "lorem ipsum" in lowered:
            return 1.0
        paragraphs = lowered.split("\n\n")
        found = sum(any(phrase in one for phrase in _POLICY) for one in paragraphs)
        return found / len(paragraphs)

    def keeps(self, score: float) -> bool:
        return score <= self.max_boilerplate_string_ratio
