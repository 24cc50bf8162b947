"""Tokenizing: what counts as a word, stated and chosen."""

import re
from collections import Counter
from typing import Literal, TypeAlias, get_args

from curator_text.texts import Text

Words: TypeAlias = Literal["whitespace", "punctuation", "cjk-aware"]
"""`whitespace`: what white space separates. `punctuation`: each mark is a word of its own, unless
it joins letters (`e-mail`, `don't`, `a.b/c`). `cjk-aware`: as white space, but each Han character
and kana is a word."""

# Written as escapes: what is meant is ranges of code points. Controls and symbols are no marks.
_MARKS = (
    r"!-/:-@\[-`{-~\u00a1-\u00a9\u00ab\u00ac\u00ae-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7"
    r"\u2010-\u2027\u2030-\u205e\u3001-\u3003\u3008-\u3011\u3014-\u301f\uff01-\uff0f\uff1a-\uff20"
    r"\uff3b-\uff40\uff5b-\uff65"
)
_JOINERS = r"[-_.:/@'\u2019]"
_PUNCTUATED = re.compile(rf"[^\s{_MARKS}]+(?:{_JOINERS}[^\s{_MARKS}]+)*|[{_MARKS}]")
_CJK = (
    r"\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\uff66-\uff9d\U00020000-\U0003ffff"
)
_CJK_AWARE = re.compile(rf"[{_CJK}]|[^\s{_CJK}]+")

_FINDERS = {"punctuation": _PUNCTUATED.findall, "cjk-aware": _CJK_AWARE.findall}


def tokenized(text: str, words: Words = "whitespace") -> list[str]:
    """The words of any string. A text that is not blank has one at least."""
    if words == "whitespace" or (words == "cjk-aware" and text.isascii()):
        return text.split()
    return _FINDERS[words](text)


def words_of(text: Text, words: Words) -> list[str]:
    """The same, remembered by the text."""
    if words == "whitespace":
        return text.words
    known: list[str] | None = text.__dict__.get(words)
    if known is None:
        known = text.__dict__[words] = tokenized(text, words)
    return known


def word_counts_of(text: Text, words: Words) -> "Counter[str]":
    """How often each word stands in the text, in the order of their first places; remembered."""
    name = f"counts of {words}"
    known: Counter[str] | None = text.__dict__.get(name)
    if known is None:
        known = text.__dict__[name] = Counter(words_of(text, words))
    return known


def unknown_words(words: str) -> str | None:
    """What is wrong with a choice of words that is none, for `check()` of a stage."""
    if words in get_args(Words):
        return None
    return f"words is {words!r}, but must be one of {', '.join(get_args(Words))}"
