"""Hallucinations: signs that a model made a transcript up."""

from collections.abc import Sequence

from curator_audio.transcripts.rates import Normalization

_NORMAL = Normalization()


class Doubts:
    """Reasons for doubt about a transcript."""

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
        self._phrases = {_NORMAL(phrase) for phrase in phrases}

    def about(self, text: str, seconds: float | None) -> str | None:
        """The first reason, or None where there is no doubt."""
        normal = _NORMAL(text)
        words = normal.split()
        if normal in self._phrases:
            return "stock phrase"
        if len(words) >= self._min_words and len(set(words)) <= self._unique_words * len(words):
            return "repeated words"
        if any(len(word) > self._longest_word for word in words):
            return f"word of more than {self._longest_word} characters"
        if seconds is not None and len(text.strip()) > self._rate * max(0.0, seconds):
            return f"more than {self._rate:g} characters a second"
        return None
