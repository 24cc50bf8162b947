"""Rules over the language of a text."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from curator_core import WorkerInfo

from curator_text.filtering import TextFilter
from curator_text.languages.codes import language_code
from curator_text.languages.models import CLD2, SEEN_CHARACTERS, missing_for, teller
from curator_text.stop_words import STOP_WORDS
from curator_text.texts import Text

_WORDS = re.compile(r"[^\W\d_]+")
_CODE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*")
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

    It knows 26 languages that are written with spaces, and says which where it is given another
    one. It needs no model; `LanguageFilter` knows more languages, and short texts too.
    """

    language: str = "en"
    """The language to keep, by its two-letter code."""

    min_stop_words_ratio: float = 0.1
    """The least share of words that are stop words of that language."""

    @property
    def reason(self) -> str:
        return f"language is not {self.language}"

    def check(self) -> Iterable[str]:
        yield from super().check()
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


@dataclass
class LanguageFilter(TextFilter):
    """Drops texts in other languages, as a small model tells them. Its score is how sure it is."""

    languages: Sequence[str]
    """The languages to keep, by their two-letter codes: `[en, de]`."""

    min_score: float = 0.3
    """How sure the model has to be, from 0 to 1."""

    model: str = CLD2
    """`cld2` (extra `languages`), `fasttext` (extra `lid`), or the path of a fastText model."""

    @property
    def reason(self) -> str:
        return f"language is not {' or '.join(self.languages)}"

    def check(self) -> Iterable[str]:
        yield from super().check()
        if isinstance(self.languages, str):
            yield (
                f"languages is the text {self.languages!r}, but must be a list: [{self.languages}]"
            )
        elif not self.languages:
            yield "languages is empty, so every document would be dropped"
        else:
            yield from filter(None, map(_misnamed, self.languages))
        problem = missing_for(self.model)
        if problem is not None:
            yield problem

    def setup(self, worker: WorkerInfo) -> None:
        teller(self.model)

    def score(self, text: Text) -> float:
        """How sure the model is that it is one of the languages; 0 for another language."""
        language, score = teller(self.model)(text[:SEEN_CHARACTERS])
        return score if language in self.languages else 0.0

    def keeps(self, score: float) -> bool:
        return score > 0 and score >= self.min_score


def _misnamed(code: str) -> str | None:
    """What to write in place of a code that no model would give."""
    if not _CODE.fullmatch(code):
        return f"language {code!r} is no code of two or three letters, such as 'en'"
    right = language_code(code)
    if right == code:
        return None
    return f"no text has the language {code!r}: write {right!r}"
