"""Rules over the language of a text."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from curator_text.filtering import TextFilter
from curator_text.stop_words import STOP_WORDS
from curator_text.texts import Text

_WORDS = re.compile(r"[^\W\d_]+")
_LANGUAGES_OF: dict[str, list[str]] = {}
for _language, _listed in STOP_WORDS.items():
    for _word in _listed:
        _LANGUAGES_OF.setdefault(_word, []).append(_language)


def stop_word_shares(text: str) -> dict[str, float]:
    """For each language we have a list of: the share of words that are among its stop words."""
    words = _WORDS.findall(text.lower())
    counts = dict.fromkeys(STOP_WORDS, 0)
    for word in words:
        for language in _LANGUAGES_OF.get(word, ()):
            counts[language] += 1
    return {language: count / max(1, len(words)) for language, count in counts.items()}


@dataclass
class StopWordLanguageFilter(TextFilter):
    """Drops texts in other languages, told by their stop words alone: good for whole pages.

    It knows de, en, es, fr, it, nl, pl, pt and ru. Scripts without spaces have no words here, so
    they are always another language.
    """

    language: str = "en"
    """The language to keep, by its two-letter code."""

    min_stop_words_ratio: float = 0.1
    """The least share of words that are stop words of that language."""

    @property
    def reason(self) -> str:
        return f"language is not {self.language}"

    def check(self) -> Iterable[str]:
        if self.language not in STOP_WORDS:
            known = ", ".join(sorted(STOP_WORDS))
            yield f"no stop words for language {self.language!r} (known: {known})"

    def score(self, text: Text) -> float:
        """The share of stop words, or 0 where another language has more of its own."""
        shares = stop_word_shares(text)
        mine = shares[self.language]
        return mine if mine == max(shares.values()) else 0.0

    def keeps(self, score: float) -> bool:
        return score >= self.min_stop_words_ratio
