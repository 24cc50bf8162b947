"""Words as contamination is told by: letters and digits, whatever their case.

Everything else only separates words: marks, line breaks, the underscore. Letters are compared in
Unicode's composed form, folded. Each character of scripts written without spaces is a word.
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
    """The text in the form that its words are found in."""
    if text.isascii():
        return text
    safe = stream_safe(text)
    return safe if unicodedata.is_normalized("NFC", safe) else unicodedata.normalize("NFC", safe)


def words_of(text: str) -> list[str]:
    """The words of a composed text."""
    return [word.casefold() for word in _WORD.findall(text)]


def spans_of(text: str) -> list[tuple[int, int]]:
    """Where each of these words begins and ends."""
    return [found.span() for found in _WORD.finditer(text)]


class WordNumbers(dict[str, int]):
    """A number of 60 bits for each word, the same in every process."""

    def __missing__(self, word: str) -> int:
        if len(self) >= _MOST_CACHED:
            self.clear()
        digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self[word] = number = int.from_bytes(digest, "little") >> 4
        return number

    def of(self, words: list[str]) -> list[int]:
        return list(map(self.__getitem__, words))


def rolling(numbers: list[int], size: int) -> "list[int]":
    """A hash of 64 bits for each n-gram of that size.

    Python hashes a row of numbers, unlike one of strings, alike in all processes of one version.
    """
    return list(map(hash, zip(*(numbers[start:] for start in range(size)), strict=False)))
