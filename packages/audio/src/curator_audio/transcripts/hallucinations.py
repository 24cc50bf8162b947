"""Hallucinations: signs that a model made up a transcript."""

import re
from collections.abc import Iterator, Sequence

from curator_audio.transcripts.rates import Normalization

_NORMAL = Normalization()

STOCK_PHRASES = (
    "thanks for watching",
    "thank you for watching",
    "thank you so much for watching",
    "thanks for watching and see you next time",
    "please subscribe to my channel",
    "don't forget to subscribe",
    "like and subscribe",
    "subtitles by the amara.org community",
    "transcription by castingwords",
    "untertitel der amara.org-community",
    "untertitel im auftrag des zdf für funk",
    "vielen dank fürs zuschauen",
    "sous-titres réalisés par la communauté d'amara.org",
    "merci d'avoir regardé cette vidéo",
    "subtítulos realizados por la comunidad de amara.org",
    "gracias por ver el video",
    "sottotitoli creati dalla comunità amara.org",
    "legendas pela comunidade amara.org",
    "obrigado por assistir",
    "ondertitels ingediend door de amara.org gemeenschap",
    "napisy stworzone przez społeczność amara.org",
    "продолжение следует",
    "субтитры сделал dimatorzok",
    "спасибо за просмотр",
    "ご視聴ありがとうございました",
    "请不吝点赞 订阅 转发 打赏支持明镜与点点栏目",
    "시청해주셔서 감사합니다",
)
"""Phrases that Whisper-like models write for silence, learned from subtitles."""

UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""

_STRETCH = 100
"""Words to check together: longer texts repeat words naturally."""


class Doubts:
    """Checks a transcript for signs of hallucination."""

    def __init__(
        self,
        unique_words: float,
        min_words: int,
        longest_word: int,
        characters_per_second: float,
        phrases: Sequence[str],
    ) -> None:
        self._unique_words = unique_words
        self._min_words = min_words
        self._longest_word = longest_word
        self._rate = characters_per_second
        self._phrases = sorted(filter(None, map(_NORMAL, phrases)))

    def about(self, text: str, seconds: float | None) -> str | None:
        """Return the first reason, or None for a plausible transcript."""
        normal = _NORMAL(text)
        if normal and any(not normal.replace(phrase, "").strip() for phrase in self._phrases):
            return "stock phrase"
        words = list(_words(normal))
        if len(words) >= self._min_words and self._is_repeated(words):
            return "repeated words"
        if any(len(word) > self._longest_word for word in words):
            return f"word of more than {self._longest_word} characters"
        if seconds is not None and len(text.strip()) > self._rate * max(0.0, seconds):
            return f"more than {self._rate:g} characters a second"
        return None

    def _is_repeated(self, words: Sequence[str]) -> bool:
        """Check overlapping windows, since a model may start well and then repeat itself."""
        starts = range(0, max(1, len(words) - _STRETCH // 2), _STRETCH // 2)
        stretches = (words[first : first + _STRETCH] for first in starts)
        return any(len(set(some)) <= self._unique_words * len(some) for some in stretches)


def _words(normal: str) -> Iterator[str]:
    """Yield words; in scripts without spaces, yield each two adjacent characters instead."""
    for word in normal.split():
        yield from filter(None, UNSPACED.split(word))
        for run in UNSPACED.findall(word):
            yield from (run[place : place + 2] for place in range(max(1, len(run) - 1)))
