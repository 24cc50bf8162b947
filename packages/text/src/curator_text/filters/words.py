"""Rules over the words of a text."""

import re
from dataclasses import dataclass
from itertools import filterfalse
from typing import ClassVar

from curator_text.character_classes import is_letter
from curator_text.document_text import DocumentText
from curator_text.filters.base import TextFilter, WordFilter, percent

_HASHES = re.compile("#+")
_ELLIPSES = frozenset({"...", "[...]", "(...)", "…", "[…]", "-»"})
_COMMON_ENGLISH = frozenset({"the", "be", "to", "of", "and", "that", "have", "with"})
_ASCII_LETTER = re.compile("[A-Za-z]")


@dataclass
class WordCountFilter(WordFilter):
    """Drops texts with too few or too many words.

    Both limits always apply: with only `max_words: 200`, texts of 50 to 200 words are kept. Set
    `min_words: 0` for no lower limit.
    """

    cost: ClassVar[float] = 8.0
    kernel: ClassVar[str | None] = "word_count"

    min_words: int = 50
    """Minimum number of words. It applies even if only max_words is given."""

    max_words: int = 100000
    """Maximum number of words."""

    @property
    def reason(self) -> str:
        return f"fewer than {self.min_words:,} or more than {self.max_words:,} words"

    def score(self, text: DocumentText) -> float:
        return len(self.words_of(text).words)

    def keeps(self, score: float) -> bool:
        return self.min_words <= score <= self.max_words


@dataclass
class MeanWordLengthFilter(WordFilter):
    """Drops texts whose words are too short or too long on average: minified scripts."""

    cost: ClassVar[float] = 14.0
    kernel: ClassVar[str | None] = "mean_word_length"

    min_mean_word_length: float = 3
    """Minimum mean word length, in characters."""

    max_mean_word_length: float = 10
    """Maximum mean word length, in characters."""

    @property
    def reason(self) -> str:
        least, most = self.min_mean_word_length, self.max_mean_word_length
        return f"mean word length under {least:g} or over {most:g}"

    def score(self, text: DocumentText) -> float:
        lengths = self.words_of(text).lengths
        return sum(lengths) / len(lengths)

    def keeps(self, score: float) -> bool:
        return self.min_mean_word_length <= score <= self.max_mean_word_length


@dataclass
class LongWordFilter(WordFilter):
    """Drops texts with a very long word, usually minified code or encoded data."""

    cost: ClassVar[float] = 14.0
    kernel: ClassVar[str | None] = "longest_word"

    max_word_length: int = 1000
    """Maximum length of a word, in characters."""

    @property
    def reason(self) -> str:
        return f"a word of over {self.max_word_length} characters"

    def score(self, text: DocumentText) -> float:
        return max(self.words_of(text).lengths)

    def keeps(self, score: float) -> bool:
        return score <= self.max_word_length


@dataclass
class SymbolsToWordsFilter(WordFilter):
    """Drops texts with too many hashes or ellipses as words: tag clouds, teasers."""

    cost: ClassVar[float] = 9.0
    kernel: ClassVar[str | None] = "symbol_words"

    max_symbol_to_word_ratio: float = 0.1
    """Maximum share of words that are an ellipsis or more than half `#`."""

    @property
    def reason(self) -> str:
        return f"over {percent(self.max_symbol_to_word_ratio)} of words are # or ..."

    def score(self, text: DocumentText) -> float:
        words = self.words_of(text).words
        if "#" in text:
            return sum(map(_is_symbol, words)) / len(words)
        if "..." in text or "…" in text or "-»" in text:
            return sum(map(_ELLIPSES.__contains__, words)) / len(words)
        return 0.0

    def keeps(self, score: float) -> bool:
        return score <= self.max_symbol_to_word_ratio


def _is_symbol(word: str) -> bool:
    # A run of hashes counts once, however long: "#" is a symbol, "###" (a heading) is not.
    return word in _ELLIPSES or ("#" in word and len(_HASHES.findall(word)) / len(word) > 0.5)


@dataclass
class WordsWithoutAlphabetsFilter(WordFilter):
    """Drops texts with too few words that contain a letter: figures, tables.

    Letters of any script count.
    """

    cost: ClassVar[float] = 30.0
    kernel: ClassVar[str | None] = "words_with_letters"

    min_words_with_alphabets: float = 0.8
    """Minimum share of words with at least one letter."""

    @property
    def reason(self) -> str:
        return f"under {percent(self.min_words_with_alphabets)} of words have a letter"

    def score(self, text: DocumentText) -> float:
        words = self.words_of(text).words
        others = filterfalse(_ASCII_LETTER.search, filterfalse(str.isalpha, words))
        without = sum(not _has_letter(word) for word in others)
        return (len(words) - without) / len(words)

    def keeps(self, score: float) -> bool:
        return score >= self.min_words_with_alphabets


def _has_letter(word: str) -> bool:
    """Whether any character is alphabetic: also `Ⅷ` and `Ⓐ`, but not vowel signs alone."""
    return not word.isascii() and any(map(is_letter, word))  # ASCII words were handled before


@dataclass
class CommonEnglishWordsFilter(TextFilter):
    """Drops texts without common English words: other languages, keyword lists.

    The words must be in lower case, so a text in capitals is dropped too.
    """

    cost: ClassVar[float] = 12.0
    kernel: ClassVar[str | None] = "common_words"

    min_num_common_words: int = 2
    """Minimum occurrences of `the be to of and that have with`, counting repetitions."""

    stop_at_false: bool = True
    """Stop counting at the minimum, which is faster. If off, the score is the full count."""

    def has_kernel(self) -> bool:
        counts_one = not self.stop_at_false or self.min_num_common_words >= 1
        return super().has_kernel() and counts_one

    @property
    def reason(self) -> str:
        return f"fewer than {self.min_num_common_words} common English words"

    def score(self, text: DocumentText) -> float:
        if not self.stop_at_false:
            return sum(map(_COMMON_ENGLISH.__contains__, text.words))
        found = 0
        for word in text.words:
            if word in _COMMON_ENGLISH:
                found += 1
            if found >= self.min_num_common_words:
                break
        return found

    def keeps(self, score: float) -> bool:
        return score >= self.min_num_common_words
