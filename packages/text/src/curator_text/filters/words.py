"""Rules over the words of a text. Words are what white space separates."""

import re
from dataclasses import dataclass

from curator_text.filtering import TextFilter, share
from curator_text.texts import Text

_HASHES = re.compile("#+")
_ELLIPSES = frozenset({"...", "[...]", "(...)", "…", "[…]", "-»"})
_COMMON_ENGLISH = frozenset({"the", "be", "to", "of", "and", "that", "have", "with"})


@dataclass
class WordCountFilter(TextFilter):
    """Drops texts that are too short or too long."""

    min_words: int = 50
    """The fewest words a text may have."""

    max_words: int = 100000
    """The most words a text may have."""

    @property
    def reason(self) -> str:
        return f"not {self.min_words} to {self.max_words} words"

    def score(self, text: Text) -> float:
        return len(text.words)

    def keeps(self, score: float) -> bool:
        return self.min_words <= score <= self.max_words


@dataclass
class MeanWordLengthFilter(TextFilter):
    """Drops texts whose words are too short or too long on average: codes, minified scripts."""

    min_mean_word_length: float = 3
    """The least mean number of characters per word."""

    max_mean_word_length: float = 10
    """The largest mean number of characters per word."""

    @property
    def reason(self) -> str:
        least, most = self.min_mean_word_length, self.max_mean_word_length
        return f"mean word length not {least:g} to {most:g}"

    def score(self, text: Text) -> float:
        words = text.words
        return sum(map(len, words)) / len(words)

    def keeps(self, score: float) -> bool:
        return self.min_mean_word_length <= score <= self.max_mean_word_length


@dataclass
class SymbolsToWordsFilter(TextFilter):
    """Drops texts in which too many words are hashes or ellipses: tag clouds, teasers."""

    max_symbol_to_word_ratio: float = 0.1
    """The largest share of words that are an ellipsis or, for more than half of it, `#`."""

    @property
    def reason(self) -> str:
        return f"over {share(self.max_symbol_to_word_ratio)} of words are # or ..."

    def score(self, text: Text) -> float:
        words = text.words
        return sum(map(_is_symbol, words)) / len(words)

    def keeps(self, score: float) -> bool:
        return score <= self.max_symbol_to_word_ratio


def _is_symbol(word: str) -> bool:
    # A row of hashes counts once, however long: "#" is a symbol, "###" (a heading) is not.
    return word in _ELLIPSES or ("#" in word and len(_HASHES.findall(word)) / len(word) > 0.5)


@dataclass
class CommonEnglishWordsFilter(TextFilter):
    """Drops texts without the commonest English words: other languages, lists of keywords.

    The words must be in lower case, so a text all in capitals is dropped too.
    """

    min_num_common_words: int = 2
    """The fewest of `the be to of and that have with`, counted as often as they stand there."""

    @property
    def reason(self) -> str:
        return f"fewer than {self.min_num_common_words} common English words"

    def score(self, text: Text) -> float:
        return sum(word in _COMMON_ENGLISH for word in text.words)

    def keeps(self, score: float) -> bool:
        return score >= self.min_num_common_words
