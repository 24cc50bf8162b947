"""Tokenizing: the words of a text, remembered by it."""

from collections import Counter

from curator_text.texts import Text
from curator_text.wording import WordKind, tokenized, unknown_words

Words = WordKind

__all__ = ["Words", "tokenized", "unknown_words", "word_counts_of", "words_of"]


def words_of(text: Text, words: Words) -> list[str]:
    """The words of a text, taken apart once for all that ask."""
    return text.worded(words).words


def word_counts_of(text: Text, words: Words) -> "Counter[str]":
    """How often each word stands in the text, in the order of their first places; remembered."""
    name = f"counts of {words}"
    known: Counter[str] | None = text.__dict__.get(name)
    if known is None:
        known = text.__dict__[name] = Counter(words_of(text, words))
    return known
