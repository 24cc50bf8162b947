"""A document's text, with the words, lines and n-grams that rules compute from it, each once."""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from itertools import compress, pairwise
from operator import sub
from typing import Literal, NamedTuple, TypeAlias, TypeVar, get_args

T = TypeVar("T", bound=Hashable)

_LARGE = 4_000_000
"""Share objects in texts with this many characters, or in lists with this many items."""

_PIECE = 1_000_000
_SPACE = re.compile(r"\s")


def split_at_spaces(text: str) -> list[str]:
    """Split a text at white space."""
    if len(text) < _LARGE:
        return text.split()
    known: dict[str, str] = {}
    words: list[str] = []
    start = 0
    while start < len(text):
        space = _SPACE.search(text, start + _PIECE)
        end = space.start() if space else len(text)
        part = text[start:end].split()
        words += map(known.setdefault, part, part)
        start = end
    return words


def list_shared(items: Iterable[T], number: int) -> list[T]:
    """Return the items as a list; `number` is about how many there are."""
    if number < _LARGE:
        return list(items)
    known: dict[T, T] = {}
    return [known.setdefault(one, one) for one in items]


class RepeatedNGrams(NamedTuple):
    """The n-grams of one length that occur more than once."""

    positions: list[int]
    """Where they begin, in order."""

    firsts: list[int]
    """For each position, where the same n-gram first began."""

    top: int | None
    """Where the most frequent n-gram first begins; ties go to the earliest."""

    times: int
    """How often the most frequent n-gram occurs: 1 if none repeats."""


_NONE = RepeatedNGrams([], [], None, 1)


class NGramSearch:
    """Repeated n-grams by length; each length is computed once."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._levels: dict[int, RepeatedNGrams] = {}

    def of_length(self, length: int) -> RepeatedNGrams:
        known = self._levels.get(length)
        if known is None:
            known = self._levels[length] = self._search(length)
        return known

    def _search(self, length: int) -> RepeatedNGrams:
        words = self._words
        if length == 1:
            return _find_repeats(words, range(len(words)))
        if length == 2:
            return _find_repeats(list_shared(pairwise(words), len(words)), range(len(words) - 1))
        shorter = self.of_length(length - 1)
        if not shorter.positions:
            return _NONE
        # Two adjacent n-grams make a longer one, identified by their first positions.
        places = shorter.positions
        follows = list(map((1).__eq__, map(sub, places[1:], places)))
        runs = list_shared(compress(pairwise(shorter.firsts), follows), len(places))
        return _find_repeats(runs, list(compress(places, follows)))


def _find_repeats(runs: Sequence[Hashable], positions: Sequence[int]) -> RepeatedNGrams:
    """Find the repeats among `runs`, which begin at `positions`."""
    counts = Counter(runs)
    if len(counts) == len(runs):
        return _NONE
    repeated = {run for run, times in counts.items() if times > 1}
    chosen = list(map(repeated.__contains__, runs))
    left = list(compress(positions, chosen))
    seen: dict[Hashable, int] = {}
    firsts = list(map(seen.setdefault, compress(runs, chosen), left))
    most = max(counts.values())
    top = next(seen[run] for run, times in counts.items() if times == most)
    return RepeatedNGrams(left, firsts, top, most)


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


def tokenize(text: str, words: WordKind = "whitespace") -> list[str]:
    """Split any string into words. A non-blank text has at least one."""
    if words == "whitespace" or (words == "cjk-aware" and text.isascii()):
        return split_at_spaces(text)
    return _FINDERS[words](text)


def word_kind_problem(words: str) -> str | None:
    """Describe the problem if `words` is not a known kind, for `check()` of a stage."""
    if words in get_args(WordKind):
        return None
    return f"words is {words!r}, but must be one of {', '.join(get_args(WordKind))}"


class Words:
    """The words of a text, split in one way."""

    def __init__(self, words: list[str], kind: WordKind) -> None:
        self.words = words
        self.is_spaced = kind == "whitespace"
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
    def repeated_ngrams(self) -> NGramSearch:
        """The n-grams of the words that occur more than once."""
        return NGramSearch(self.words)


class DocumentText(str):
    """One document's text.

    It is a plain string too, for functions that use no features.
    """

    @cached_property
    def words(self) -> list[str]:
        """The words, split at white space."""
        return self.split_words("whitespace").words

    def split_words(self, kind: WordKind) -> Words:
        """Return the words of one kind, with their statistics; each kind is computed once."""
        known: Words | None = self.__dict__.get(kind)
        if known is None:
            known = self.__dict__[kind] = Words(tokenize(self, kind), kind)
        return known

    @cached_property
    def _line_parts(self) -> tuple[list[str], list[str]]:
        raw = self.split("\n")
        stripped = list(map(str.strip, raw))
        return list(compress(raw, stripped)), list(filter(None, stripped))

    @cached_property
    def lines(self) -> list[str]:
        """The lines that are not blank, unchanged."""
        return self._line_parts[0]

    @cached_property
    def stripped_lines(self) -> list[str]:
        """The lines that are not blank, without surrounding white space."""
        return self._line_parts[1]

    @cached_property
    def paragraphs(self) -> list[str]:
        """The blocks between empty lines. A paragraph may be empty."""
        return self.split("\n\n")

    @cached_property
    def different_lines(self) -> set[str]:
        return set(self.lines)

    @cached_property
    def different_paragraphs(self) -> set[str]:
        return set(self.paragraphs)

    @cached_property
    def lowered(self) -> str:
        return self.lower()

    @cached_property
    def utf8(self) -> bytes:
        """The text as bytes, to count ASCII characters; a lone surrogate takes three bytes."""
        return self.encode("utf-8", "surrogatepass")

    def count_ascii(self, characters: bytes) -> int:
        """Count the characters of the text that are among these ASCII characters."""
        data = self.utf8
        return len(data) - len(data.translate(None, characters))
