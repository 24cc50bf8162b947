"""Hallucinations: signs that a model made up a transcript, and a filter by them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from curator_core import DocumentBatch, Dropped, ProcessingStage

from curator_audio.audio_batch import DURATION, PREDICTED_TEXT
from curator_audio.row_selection import apply_drop_reasons
from curator_audio.transcripts.error_rates import Normalization, set_column

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

_WINDOW_WORDS = 100
"""Words to check together: longer texts repeat words naturally."""


class HallucinationDetector:
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

    def find_reason(self, text: str, seconds: float | None) -> str | None:
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
        starts = range(0, max(1, len(words) - _WINDOW_WORDS // 2), _WINDOW_WORDS // 2)
        windows = (words[first : first + _WINDOW_WORDS] for first in starts)
        return any(len(set(some)) <= self._unique_words * len(some) for some in windows)


def _words(normal: str) -> Iterator[str]:
    """Yield words; in scripts without spaces, yield each two adjacent characters instead."""
    for word in normal.split():
        yield from filter(None, UNSPACED.split(word))
        for run in UNSPACED.findall(word):
            yield from (run[index : index + 2] for index in range(max(1, len(run) - 1)))


@dataclass
class HallucinationFilter(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Drop or flag transcripts that were likely made up by the model."""

    text_field: str = PREDICTED_TEXT
    """Column with the transcript."""

    unique_words: float = 0.4
    """Largest share of distinct words that counts as repetition, within a hundred words or the
    whole text if it is shorter.
    """

    min_words: int = 10
    """Minimum number of words for the repetition check."""

    longest_word: int = 35
    """Maximum length of a word, in characters."""

    characters_per_second: float = 40.0
    """Maximum rate of speech; checked if there is a `duration`."""

    phrases: list[str] = field(default_factory=lambda: list(STOCK_PHRASES))
    """Phrases that models write for silence; a transcript that consists only of one of them, once
    or repeated, is dropped. The default has thanks to viewers and subtitle credits in twelve
    languages.
    """

    flag_field: str | None = None
    """Column to write the reason to; rows are then kept. It is null for plausible transcripts."""

    def check(self) -> Iterable[str]:
        if not 0 <= self.unique_words <= 1:
            yield f"unique_words is {self.unique_words:g}, but must be from 0 to 1"
        for name in ("min_words", "longest_word"):
            if getattr(self, name) < 1:
                yield f"{name} is {getattr(self, name)}, but must be 1 or more"
        if self.characters_per_second <= 0:
            yield (
                f"characters_per_second is {self.characters_per_second:g}, but must be more than 0"
            )

    def outputs(self) -> Sequence[str]:
        return () if self.flag_field is None else (self.flag_field,)

    def inputs(self) -> Sequence[str]:
        return (self.text_field,)

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        detector = HallucinationDetector(
            self.unique_words,
            self.min_words,
            self.longest_word,
            self.characters_per_second,
            self.phrases,
        )
        texts = task.data.column(self.text_field).to_pylist()
        seconds: list[float | None] = [None] * len(texts)
        if DURATION in (task.columns() or ()):
            seconds = task.data.column(DURATION).to_pylist()
        reasons = [detector.find_reason(t or "", s) for t, s in zip(texts, seconds, strict=True)]
        if self.flag_field is None:
            yield from apply_drop_reasons(task, reasons)
        else:
            yield set_column(task, self.flag_field, pa.array(reasons, pa.string()))
