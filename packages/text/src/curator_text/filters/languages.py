"""Rules over the language and the script of a text."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from curator_core import WorkerInfo
from curator_core.errors import hint

from curator_text.document_text import DocumentText
from curator_text.filters.base import TextFilter
from curator_text.filters.stop_words import STOP_WORDS
from curator_text.language_id.models import (
    CLD2,
    MAX_CHARACTERS,
    language_code,
    load_identifier,
    model_problem,
)
from curator_text.language_id.scripts import OTHER, SCRIPTS, script_shares

_WORDS = re.compile(r"[^\W\d_]+")
_CODE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*")
_LANGUAGES_OF: dict[str, list[str]] = {}
for _language, _listed in STOP_WORDS.items():
    for _word in _listed:
        _LANGUAGES_OF.setdefault(_word, []).append(_language)


def stop_word_shares(text: str) -> dict[str, float]:
    """Return the share of words that are stop words, for each language with a list."""
    words = _WORDS.findall(text.lower())
    counts = dict.fromkeys(STOP_WORDS, 0)
    for word in words:
        for language in _LANGUAGES_OF.get(word, ()):
            counts[language] += 1
    return {language: count / max(1, len(words)) for language, count in counts.items()}


@dataclass
class StopWordLanguageFilter(TextFilter):
    """Drops texts in other languages, detected by stop words.

    It is reliable for whole pages. It supports 26 languages that are written with spaces, and
    rejects any other. It needs no model; `LanguageFilter` supports more languages, and short texts.
    """

    language: str = "en"
    """The two-letter code of the language to keep."""

    min_stop_words_ratio: float = 0.1
    """Minimum share of words that are stop words of that language."""

    @property
    def reason(self) -> str:
        return f"language is not {self.language}"

    def check(self) -> Iterable[str]:
        yield from super().check()
        if self.language not in STOP_WORDS:
            known = ", ".join(sorted(STOP_WORDS))
            yield f"no stop words for language {self.language!r} (known: {known})"

    def score(self, text: DocumentText) -> float:
        """Return the share of stop words, or 0 if another language has a higher share."""
        shares = stop_word_shares(text)
        mine = shares[self.language]
        return mine if mine == max(shares.values()) else 0.0

    def keeps(self, score: float) -> bool:
        return score >= self.min_stop_words_ratio


@dataclass
class LanguageFilter(TextFilter):
    """Drops texts in other languages, detected by a small model.

    The score is the model's confidence.
    """

    languages: Sequence[str]
    """The two-letter codes of the languages to keep: `[en, de]`."""

    min_score: float = 0.3
    """Minimum confidence of the model, from 0 to 1."""

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
        problem = model_problem(self.model)
        if problem is not None:
            yield problem

    def setup(self, worker: WorkerInfo) -> None:
        load_identifier(self.model)

    def score(self, text: DocumentText) -> float:
        """Return the model's confidence in one of the languages, or 0 for another language."""
        language, score = load_identifier(self.model)(text[:MAX_CHARACTERS])
        return score if language in self.languages else 0.0

    def keeps(self, score: float) -> bool:
        return score > 0 and score >= self.min_score


def _misnamed(code: str) -> str | None:
    """Describe the problem if no model returns this code, with the right code if known."""
    if not _CODE.fullmatch(code):
        return f"language {code!r} is not a code of two or three letters, such as 'en'"
    right = language_code(code)
    if right == code:
        return None
    return f"no text has the language {code!r}: write {right!r}"


@dataclass
class ScriptFilter(TextFilter):
    """Drops texts in other scripts.

    Only letters count; a text without letters has no script.
    """

    scripts: Sequence[str] = ("Latin",)
    """The scripts to keep: `[Latin]`, or `[Han, Hiragana, Katakana]` for Japanese."""

    min_share: float = 0.8
    """Minimum share of letters in these scripts."""

    @property
    def reason(self) -> str:
        return f"script is not {' or '.join(self.scripts)}"

    def check(self) -> Iterable[str]:
        yield from super().check()
        if isinstance(self.scripts, str):
            yield f"scripts is the text {self.scripts!r}, but must be a list: [{self.scripts}]"
            return
        known = (*SCRIPTS, OTHER)
        for script in self.scripts:
            if script not in known:
                yield f"no script {script!r}{hint(script, known)}"

    def score(self, text: DocumentText) -> float:
        shares = script_shares(text)
        return min(1.0, sum(shares.get(script, 0.0) for script in self.scripts))

    def keeps(self, score: float) -> bool:
        return score >= self.min_share
