"""Words as compared for contamination: letters and digits, regardless of case.

Everything else is a separator: punctuation, line breaks, the underscore. Letters are compared in
Unicode's composed form (NFC), case-folded. In scripts written without spaces, each character is a
word.
"""

import re
import unicodedata
from hashlib import blake2b

from curator_core.model.unicode import stream_safe

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_MOST_CACHED = 500_000


def composed(text: str) -> str:
    """Normalize a text so that its words can be compared."""
    if text.isascii():
        return text
    safe = stream_safe(text)
    return safe if unicodedata.is_normalized("NFC", safe) else unicodedata.normalize("NFC", safe)


def words_of(text: str) -> list[str]:
    """Return the words of a normalized text, case-folded."""
    return [word.casefold() for word in _WORD.findall(text)]


def spans_of(text: str) -> list[tuple[int, int]]:
    """Return the character range of each word."""
    return [found.span() for found in _WORD.finditer(text)]


class WordNumbers(dict[str, int]):
    """Maps each word to a 60-bit number that is the same in every process."""

    def __missing__(self, word: str) -> int:
        if len(self) >= _MOST_CACHED:
            self.clear()
        digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self[word] = number = int.from_bytes(digest, "little") >> 4
        return number

    def of(self, words: list[str]) -> list[int]:
        return list(map(self.__getitem__, words))


def rolling(numbers: list[int], size: int) -> "list[int]":
    """Return a 64-bit hash for each n-gram of this size.

    Unlike strings, tuples of numbers hash the same in all processes of one Python version.
    """
    return list(map(hash, zip(*(numbers[start:] for start in range(size)), strict=False)))
