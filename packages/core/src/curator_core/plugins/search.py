"""Search: find stages and workflows by the words that people have in mind."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

from curator_core.plugins.index import Description

KEYWORDS: Mapping[str, tuple[str, ...]] = {
    "adult": ("nsfw", "pornographic"),
    "anonymize": ("pii",),
    "asr": ("speech_recognizer", "transcript"),
    "benchmark": ("decontaminat",),
    "boilerplate": ("boiler_plate", "cookies"),
    "caption": ("captioner", "describ"),
    "chunk": ("split",),
    "clean": ("remov", "normaliz", "repair", "modifier"),
    "commoncrawl": ("common_crawl", "warc", "wet"),
    "crawl": ("common_crawl", "warc", "wet", "html_extractor"),
    "dataset": ("web_dataset", "webdataset"),
    "dedup": ("deduplication", "repeat"),
    "delete": ("remov", "drop"),
    "detect": ("identif", "find"),
    "diarization": ("diariz",),
    "duplicate": ("dedup", "repeat"),
    "email": ("pii",),
    "embedding": ("embed",),
    "fasttext": ("fast_text",),
    "fineweb": ("fine_web",),
    "gdpr": ("pii",),
    "huggingface": ("hugging face", "transformers"),
    "lang": ("language",),
    "length": ("too few", "too short", "duration"),
    "librispeech": ("libri_speech",),
    "lid": ("language_identifier", "language_filter"),
    "llm": ("language model", "endpoint"),
    "long": ("too long", "too many"),
    "minhash": ("fuzzy",),
    "mp4": ("video_reader", "clip_writer"),
    "near": ("fuzzy", "nearly", "similar"),
    "noise": ("snr", "dnsmos"),
    "ocr": ("text_area", "watermark"),
    "personal": ("pii",),
    "phone": ("pii",),
    "picture": ("image",),
    "pii": ("personal", "redact"),
    "porn": ("nsfw", "pornographic"),
    "privacy": ("pii",),
    "profanity": ("bad_words", "nsfw", "pornographic"),
    "redact": ("pii",),
    "removal": ("remov", "redact"),
    "sample": ("hash_splitter", "blend"),
    "scene": ("shot",),
    "sft": ("instruction", "prompt"),
    "shard": ("web_dataset", "webdataset"),
    "short": ("too few", "too short"),
    "spam": ("blocked", "url_words", "boiler_plate"),
    "speaker": ("diariz", "voice"),
    "subtitle": ("caption", "transcript"),
    "test": ("hash_splitter",),
    "thumbnail": ("resizer", "previewer"),
    "toxic": ("bad_words", "nsfw", "safety"),
    "train": ("hash_splitter",),
    "transcribe": ("speech_recognizer", "transcript"),
    "transcription": ("speech_recognizer", "transcript"),
    "tsv": ("tab-separated",),
    "vad": ("speech_finder",),
    "validation": ("hash_splitter",),
    "vector": ("embed",),
    "voice": ("speech", "speaker"),
    "webdataset": ("web_dataset",),
    "whisper": ("speech_recognizer",),
}
"""Beginnings of words in names and summaries that mean the same as a word that people search for.
"""

_IGNORED = frozenset(
    ("an", "and", "by", "curator", "for", "from", "how", "in", "into", "my", "of", "on", "or",
     "the", "to", "with")
)  # fmt: skip
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")


@dataclass(frozen=True)
class Match:
    """A stage or workflow that fits a query."""

    description: Description
    words: int
    """Number of words of the query that fit."""
    score: float


class Query:
    """The words that somebody searches for."""

    def __init__(self, text: str) -> None:
        self.text = text
        words = [word for word in words_of(text) if word not in _IGNORED and len(word) > 1]
        self.words = [_Word(word) for word in dict.fromkeys(words)]

    def search(self, descriptions: Iterable[Description]) -> list[Match]:
        """Return what fits, best first: those that fit all words, or else most of them."""
        found = [match for one in descriptions if (match := self._match(one)) is not None]
        most = max((match.words for match in found), default=0)
        best = [match for match in found if match.words == most]
        return sorted(best, key=lambda match: (-match.score, match.description.name))

    def _match(self, description: Description) -> Match | None:
        scores = [score for word in self.words if (score := word.score(description))]
        return Match(description, len(scores), sum(scores)) if scores else None

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds the parts of names and summaries that fit, to highlight them."""
        patterns = [word.pattern.pattern for word in self.words]
        return re.compile("|".join(patterns) or r"(?!)", re.IGNORECASE)

    def nearest(self, descriptions: Iterable[Description], most: int = 3) -> list[str]:
        """Return the names of the best matches that fit all words or most of them."""
        return [match.description.name for match in self.search(descriptions)[:most]]

    def nearest_words(self, descriptions: Iterable[Description]) -> list[str]:
        """Return words with a similar spelling that would find something."""
        known = {*KEYWORDS}
        for description in descriptions:
            known |= {*words_of(description.name), *words_of(description.summary)}
        known -= _IGNORED
        close = [get_close_matches(word.text, known, n=3, cutoff=0.7) for word in self.words]
        return list(dict.fromkeys(word for words in close for word in words))


class _Word:
    """One word of a query, with others of the same meaning."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._itself = _beginning(_stem(text))
        self._same = [_beginning(keyword) for keyword in _keywords(text)]
        self.pattern = re.compile(
            "|".join(pattern.pattern for pattern in (self._itself, *self._same)), re.IGNORECASE
        )

    def score(self, description: Description) -> float:
        """Weigh the word by where it is found: in the name, the summary, the group, an option."""
        exact = 2.0 if self.text in words_of(description.name) else 0.0
        options = 1.0 if any(map(self._itself.search, description.options)) else 0.0
        same = sum(_score(pattern, description) for pattern in self._same)
        return exact + _score(self._itself, description) + options + same / 2


def _score(pattern: re.Pattern[str], description: Description) -> float:
    group = f"{description.group.name} {description.group.about}"
    weights = ((description.name, 10.0), (description.summary, 4.0), (group, 3.0))
    return sum(weight for text, weight in weights if pattern.search(text))


def _keywords(word: str) -> list[str]:
    """Return the keywords of a word, also in another form: `subtitles` as `subtitle`."""
    found: dict[str, None] = {}
    for key, keywords in KEYWORDS.items():
        stem = _stem(key)
        if word == key or (len(stem) >= _SHORTEST_STEM and word.startswith(stem)):
            found |= dict.fromkeys(keywords)
    return list(found)


_SHORTEST_STEM = 4


def _beginning(text: str) -> re.Pattern[str]:
    """Return a pattern for words that begin with `text`; `_` separates words of a name."""
    return re.compile(rf"(?<![^\W_]){re.escape(text)}", re.IGNORECASE)


def words_of(text: str) -> list[str]:
    """Return the words of a text or name in lower case; `_` and `.` separate words of a name."""
    return [word.lower() for word in _WORD.findall(text)]


def _stem(word: str) -> str:
    """Remove a usual ending, so that `languages` finds `language`."""
    for ending in ("ication", "ing", "ies", "ers", "er", "es", "ed", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word
