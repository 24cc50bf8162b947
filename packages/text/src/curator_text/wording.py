"""Wording: split a text into words in the way that a rule asks for."""

import re
from collections import Counter
from functools import cached_property
from typing import Literal, TypeAlias, get_args

from curator_text.repeating import Repeats
from curator_text.sharing import words_of

WordKind: TypeAlias = Literal["whitespace", "punctuation", "cjk-aware"]
"""`whitespace`: split at white space. `punctuation`: each punctuation mark is a word, unless it
joins letters (`e-mail`, `don't`, `a.b/c`). `cjk-aware`: as `whitespace`, but each character of
Chinese, Japanese, Thai, Lao, Khmer and Burmese is a word, together with its vowel signs."""

# Escapes make the ranges of code points readable. Controls and symbols are not marks.
_MARKS = (
    r"!-/:-@\[-`{-~\u00a1-\u00a9\u00ab\u00ac\u00ae-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7"
    r"\u2010-\u2027\u2030-\u205e\u3001-\u3003\u3008-\u3011\u3014-\u301f\uff01-\uff0f\uff1a-\uff20"
    r"\uff3b-\uff40\uff5b-\uff65"
)
_JOINERS = r"[-_.:/@'\u2019]"
_PUNCTUATED = re.compile(rf"[^\s{_MARKS}]+(?:{_JOINERS}[^\s{_MARKS}]+)*|[{_MARKS}]")
_UNSPACED = (
    r"\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\uff66-\uff9d\U00020000-\U0003ffff"  # Han and kana
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f"  # Thai to Burmese
)
_SIGNS = (
    r"\u0300-\u036f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece"
    r"\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d"
    r"\u108f\u109a-\u109d\u17b4-\u17d3\u17dd\u3099\u309a\uff9e\uff9f\ufe00-\ufe0f"
    r"\U000e0100-\U000e01ef"
)
_CJK_AWARE = re.compile(rf"[{_UNSPACED}][{_SIGNS}]*|[^\s{_UNSPACED}]+")

_FINDERS = {"punctuation": _PUNCTUATED.findall, "cjk-aware": _CJK_AWARE.findall}


def tokenized(text: str, words: WordKind = "whitespace") -> list[str]:
    """Split any string into words. A non-blank text has at least one."""
    if words == "whitespace" or (words == "cjk-aware" and text.isascii()):
        return words_of(text)
    return _FINDERS[words](text)


def unknown_words(words: str) -> str | None:
    """Describe the problem if `words` is not a known kind, for `check()` of a stage."""
    if words in get_args(WordKind):
        return None
    return f"words is {words!r}, but must be one of {', '.join(get_args(WordKind))}"


class Wording:
    """The words of a text, split in one way."""

    def __init__(self, words: list[str], kind: WordKind) -> None:
        self.words = words
        self.spaced = kind == "whitespace"
        """Whether white space separates all of the words."""

    @cached_property
    def lengths(self) -> list[int]:
        """The length of each word in characters."""
        return list(map(len, self.words))

    @cached_property
    def counts(self) -> "Counter[str]":
        """How often each word occurs."""
        return Counter(self.words)

    @cached_property
    def repeats(self) -> Repeats:
        """The n-grams of the words that occur more than once."""
        return Repeats(self.words)
