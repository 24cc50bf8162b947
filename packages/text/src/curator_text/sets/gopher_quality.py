"""The Gopher rules on quality (Rae et al. 2021, table A1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from curator_text.sets.marks import SYMBOLS
from curator_text.sets.rules import WordRuleSet
from curator_text.texts import Text
from curator_text.wording import Wording

_STOP_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with")
_BULLETS = ("•", "-")
_ELLIPSES = ("...", "…")


@dataclass
class GopherQualityFilter(WordRuleSet):
    """Drops texts whose length, words, symbols or lines are unlike those of prose.

    Reasons: `gopher_short_doc`, `gopher_long_doc`, `gopher_below_avg_threshold`,
    `gopher_above_avg_threshold`, `gopher_too_many_hashes`, `gopher_too_many_ellipsis`,
    `gopher_too_many_bullets`, `gopher_too_many_end_ellipsis`, `gopher_below_alpha_threshold`,
    `gopher_enough_stop_words` (too few stop words). The first four ignore words that consist of
    punctuation marks only. None or 0 disables a rule.
    """

    min_doc_words: int | None = 50
    """Minimum number of words."""

    max_doc_words: int | None = 100000
    """Maximum number of words."""

    min_avg_word_length: float | None = 3
    """Minimum mean word length, in characters."""

    max_avg_word_length: float | None = 10
    """Maximum mean word length, in characters."""

    max_symbol_word_ratio: float | None = 0.1
    """Maximum number of hashes, and of ellipses, per word."""

    max_bullet_lines_ratio: float | None = 0.9
    """Maximum share of lines that begin with a bullet or a hyphen."""

    max_ellipsis_lines_ratio: float | None = 0.3
    """Maximum share of lines that end with an ellipsis."""

    max_non_alpha_words_ratio: float | None = 0.8
    """Minimum (despite its name) share of words that contain a letter."""

    min_stop_words: int | None = 2
    """Minimum number of different stop words."""

    stop_words: Sequence[str] | None = None
    """The stop words, case-sensitive; by default `the be to of and that have with`."""

    blank_reason = "gopher_short_doc"

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop words in use, sorted."""
        return tuple(sorted(self._stops))

    def __post_init__(self) -> None:
        self._stops = frozenset(_STOP_WORDS if self.stop_words is None else self.stop_words)

    def why_not(self, text: Text) -> str | None:
        wording = text.worded(self.words)
        words = wording.words
        alphabetic = list(filter(str.isalpha, words))
        return (
            self._wrong_size(words, alphabetic)
            or self._symbols(text, len(words))
            or self._lists(text)
            or self._odd_words(wording, len(alphabetic))
        )

    def _wrong_size(self, words: list[str], alphabetic: list[str]) -> str | None:
        fewest, most = self.min_doc_words or 0, self.max_doc_words or inf
        shortest, longest = self.min_avg_word_length or 0, self.max_avg_word_length or inf
        # Purely alphabetic words are always real words; usually they settle the question.
        sure, letters = len(alphabetic), len("".join(alphabetic))
        if (
            max(1, fewest) <= sure
            and len(words) <= most
            and letters / len(words) >= shortest
            and len("".join(words)) / sure <= longest
        ):
            return None
        solid = [word for word in words if word.isalpha() or word.strip(SYMBOLS)]
        if len(solid) < fewest:
            return "gopher_short_doc"
        if len(solid) > most:
            return "gopher_long_doc"
        if not solid:  # no words, so no mean length
            return None
        mean = len("".join(solid)) / len(solid)
        if mean < shortest:
            return "gopher_below_avg_threshold"
        return "gopher_above_avg_threshold" if mean > longest else None

    def _symbols(self, text: Text, words: int) -> str | None:
        most = self.max_symbol_word_ratio
        if not most:
            return None
        if text.count("#") / words > most:
            return "gopher_too_many_hashes"
        if (text.count("...") + text.count("…")) / words > most:
            return "gopher_too_many_ellipsis"
        return None

    def _lists(self, text: Text) -> str | None:
        lines = text.splitlines()
        most = self.max_bullet_lines_ratio
        if most and any(bullet in text for bullet in _BULLETS):
            bulleted = sum(line.lstrip().startswith(_BULLETS) for line in lines)
            if bulleted / len(lines) > most:
                return "gopher_too_many_bullets"
        most = self.max_ellipsis_lines_ratio
        if most and any(ellipsis in text for ellipsis in _ELLIPSES):
            unfinished = sum(line.rstrip().endswith(_ELLIPSES) for line in lines)
            if unfinished / len(lines) > most:
                return "gopher_too_many_end_ellipsis"
        return None

    def _odd_words(self, wording: Wording, alphabetic: int) -> str | None:
        words = wording.words
        least = self.max_non_alpha_words_ratio
        if least and alphabetic / len(words) < least:
            lettered = sum(any(map(str.isalpha, word)) for word in words)
            if lettered / len(words) < least:
                return "gopher_below_alpha_threshold"
        fewest = self.min_stop_words
        if fewest and sum(map(wording.counts.__contains__, self._stops)) < fewest:
            return "gopher_enough_stop_words"
        return None
