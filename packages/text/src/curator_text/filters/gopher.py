"""The Gopher rules on quality and repetition (Rae et al. 2021, table A1)."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from math import inf
from operator import mul
from typing import ClassVar, NamedTuple, TypeAlias

from curator_text.character_classes import SYMBOLS
from curator_text.document_text import DocumentText, Words, list_shared
from curator_text.filters.base import WordRuleSet

_STOP_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with")
_BULLETS = ("•", "-")
_ELLIPSES = ("...", "…")
_MOST_STOPS, _LONGEST_STOP = 62, 7
"""The kernel finds this many stop words, of this many bytes."""


@dataclass
class GopherQualityFilter(WordRuleSet):
    """Drops texts whose length, words, symbols or lines are unlike those of prose.

    Reasons: `gopher_short_doc`, `gopher_long_doc`, `gopher_below_avg_threshold`,
    `gopher_above_avg_threshold`, `gopher_too_many_hashes`, `gopher_too_many_ellipsis`,
    `gopher_too_many_bullets`, `gopher_too_many_end_ellipsis`, `gopher_below_alpha_threshold`,
    `gopher_enough_stop_words` (too few stop words). The first four ignore words that consist of
    punctuation marks only. None or 0 disables a rule.
    """

    kernel: ClassVar[str | None] = "gopher_quality"

    min_doc_words: int | None = 50
    """Minimum number of words."""

    max_doc_words: int | None = 100000
    """Maximum number of words."""

    min_avg_word_length: float | None = 3
    """Minimum mean word length, in characters."""

    max_avg_word_length: float | None = 10
    """Maximum mean word length, in characters."""

    max_symbol_word_ratio: float | None = 0.1
    """Maximum number of hashes, and of ellipses, per word."""

    max_bullet_lines_ratio: float | None = 0.9
    """Maximum share of lines that begin with a bullet or a hyphen."""

    max_ellipsis_lines_ratio: float | None = 0.3
    """Maximum share of lines that end with an ellipsis."""

    max_non_alpha_words_ratio: float | None = 0.8
    """Minimum (despite its name) share of words that contain a letter."""

    min_stop_words: int | None = 2
    """Minimum number of different stop words."""

    stop_words: Sequence[str] | None = None
    """The stop words, case-sensitive; by default `the be to of and that have with`."""

    blank_reason = "gopher_short_doc"

    def has_kernel(self) -> bool:
        sizes = [len(word.encode("utf-8", "surrogatepass")) for word in self._stops]
        fits = len(sizes) <= _MOST_STOPS and max(sizes, default=1) <= _LONGEST_STOP
        return super().has_kernel() and fits

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop words in use, sorted."""
        return tuple(sorted(self._stops))

    def __post_init__(self) -> None:
        self._stops = frozenset(_STOP_WORDS if self.stop_words is None else self.stop_words)

    def broken_rule(self, text: DocumentText) -> str | None:
        split = text.split_words(self.words)
        words = split.words
        alphabetic = list(filter(str.isalpha, words))
        return (
            self._wrong_size(words, alphabetic)
            or self._symbols(text, len(words))
            or self._lists(text)
            or self._unusual_words(split, len(alphabetic))
        )

    def _wrong_size(self, words: list[str], alphabetic: list[str]) -> str | None:
        fewest, most = self.min_doc_words or 0, self.max_doc_words or inf
        shortest, longest = self.min_avg_word_length or 0, self.max_avg_word_length or inf
        # Purely alphabetic words are always real words; usually they are enough.
        sure, letters = len(alphabetic), len("".join(alphabetic))
        if (
            max(1, fewest) <= sure
            and len(words) <= most
            and letters / len(words) >= shortest
            and len("".join(words)) / sure <= longest
        ):
            return None
        solid = [word for word in words if word.isalpha() or word.strip(SYMBOLS)]
        if len(solid) < fewest:
            return "gopher_short_doc"
        if len(solid) > most:
            return "gopher_long_doc"
        if not solid:  # no words, so no mean length
            return None
        mean = len("".join(solid)) / len(solid)
        if mean < shortest:
            return "gopher_below_avg_threshold"
        return "gopher_above_avg_threshold" if mean > longest else None

    def _symbols(self, text: DocumentText, words: int) -> str | None:
        most = self.max_symbol_word_ratio
        if not most:
            return None
        if text.count("#") / words > most:
            return "gopher_too_many_hashes"
        if (text.count("...") + text.count("…")) / words > most:
            return "gopher_too_many_ellipsis"
        return None

    def _lists(self, text: DocumentText) -> str | None:
        lines = text.splitlines()
        most = self.max_bullet_lines_ratio
        if most and any(bullet in text for bullet in _BULLETS):
            bulleted = sum(line.lstrip().startswith(_BULLETS) for line in lines)
            if bulleted / len(lines) > most:
                return "gopher_too_many_bullets"
        most = self.max_ellipsis_lines_ratio
        if most and any(ellipsis in text for ellipsis in _ELLIPSES):
            unfinished = sum(line.rstrip().endswith(_ELLIPSES) for line in lines)
            if unfinished / len(lines) > most:
                return "gopher_too_many_end_ellipsis"
        return None

    def _unusual_words(self, split: Words, alphabetic: int) -> str | None:
        words = split.words
        least = self.max_non_alpha_words_ratio
        if least and alphabetic / len(words) < least:
            with_letter = sum(any(map(str.isalpha, word)) for word in words)
            if with_letter / len(words) < least:
                return "gopher_below_alpha_threshold"
        fewest = self.min_stop_words
        if fewest and sum(map(split.counts.__contains__, self._stops)) < fewest:
            return "gopher_enough_stop_words"
        return None


NGramShares = tuple[tuple[int, float], ...]


@dataclass
class GopherRepetitionFilter(WordRuleSet):
    """Drops texts that repeat their paragraphs, lines or phrases too much.

    Reasons: `dup_para_frac`, `dup_para_char_frac`, `dup_line_frac`, `dup_line_char_frac`,
    `top_2_gram` …, `duplicated_5_n_grams` …; a blank text is `empty`. All except `dup_para_frac`
    and `dup_line_frac` are shares of characters.
    """

    kernel: ClassVar[str | None] = "gopher_repetition"

    dup_line_frac: float | None = 0.3
    """Maximum share of lines that repeat an earlier line; None for no limit."""

    dup_para_frac: float | None = 0.3
    """Maximum share of paragraphs that repeat an earlier paragraph; None for no limit."""

    dup_line_char_frac: float | None = 0.2
    """Maximum share of characters in repeated lines; None for no limit."""

    dup_para_char_frac: float | None = 0.2
    """Maximum share of characters in repeated paragraphs; None for no limit."""

    top_n_grams: NGramShares = ((2, 0.2), (3, 0.18), (4, 0.16))
    """Pairs of n and the maximum share of characters in the most frequent n-gram."""

    dup_n_grams: NGramShares = (
        (5, 0.15), (6, 0.14), (7, 0.13), (8, 0.12), (9, 0.11), (10, 0.10),
    )  # fmt: skip
    """Pairs of n and the maximum share of characters in n-grams that repeat earlier ones."""

    blank_reason = "empty"

    def has_kernel(self) -> bool:
        lengths = [length for length, _ in (*self.top_n_grams, *self.dup_n_grams)]
        return super().has_kernel() and min(lengths, default=1) >= 1

    def check(self) -> Iterable[str]:
        yield from super().check()
        for option in ("top_n_grams", "dup_n_grams"):
            for length, _ in getattr(self, option):
                if length < 1:
                    yield f"{option} names {length}-grams, but n must be 1 at least"

    def broken_rule(self, text: DocumentText) -> str | None:
        return self._repeated_blocks(text) or self._repeated_phrases(text)

    def _repeated_blocks(self, text: DocumentText) -> str | None:
        chars = len(text)
        paragraphs = _paragraphs(text)
        number, inside = duplicates(paragraphs)
        if number:
            if _exceeds(number / len(paragraphs), self.dup_para_frac):
                return "dup_para_frac"
            if _exceeds(inside / chars, self.dup_para_char_frac):
                return "dup_para_char_frac"
        lines = _lines(text)
        number, inside = duplicates(lines)
        if number:
            if _exceeds(number / len(lines), self.dup_line_frac):
                return "dup_line_frac"
            if _exceeds(inside / chars, self.dup_line_char_frac):
                return "dup_line_char_frac"
        return None

    def _repeated_phrases(self, text: DocumentText) -> str | None:
        chars = len(text)
        split = text.split_words(self.words)
        repetitions = Repetitions(split)
        for length, share in self.top_n_grams:
            if length > len(split.words):
                continue
            if repetitions.top_chars_at_most(length) / chars <= share:
                continue
            if repetitions.top_chars(length) / chars > share:
                return f"top_{length}_gram"
        for length, share in self.dup_n_grams:
            if repetitions.duplicate_chars(length) / chars > share:
                return f"duplicated_{length}_n_grams"
        return None


def _exceeds(share: float, most: float | None) -> bool:
    return share > (most or inf)


def _paragraphs(text: str) -> list[str]:
    """Split a text at two or more line breaks."""
    if "\n\n" not in text:
        return [text]
    pieces = [piece.lstrip("\n") for piece in text.strip().split("\n\n")]
    return list(filter(None, pieces))  # empty pieces come from longer runs of line breaks


def _lines(text: str) -> list[str]:
    """Split a text at one or more line breaks; an empty line at either end counts."""
    lines = text.split("\n")
    if "\n\n" not in text:
        return lines
    return [*lines[: not lines[0]], *filter(None, lines), *lines[len(lines) - (not lines[-1]) :]]


NGram: TypeAlias = tuple[str, ...]


def duplicates(parts: Sequence[str]) -> tuple[int, int]:
    """Count the parts that repeat an earlier part, and their characters."""
    unique = set(parts)
    missing = len(parts) - len(unique)
    if not missing:
        return 0, 0
    return missing, sum(map(len, parts)) - sum(map(len, unique))


class _Repeated(NamedTuple):
    """The n-grams of one length that occur more than once."""

    spans: list[tuple[int, int]]
    """Word spans in which every n-gram is a repeated one. Spans may overlap."""

    top: NGram
    """The most frequent n-gram; ties go to the earliest."""

    times: int
    """How often the most frequent n-gram occurs: 1 if none repeats."""


class Repetitions:
    """The n-grams of a text that occur more than once.

    An n-gram can repeat only if its shorter n-grams repeat. Most texts are decided by single words,
    which are counted much faster than n-grams.
    """

    def __init__(self, split: Words) -> None:
        self._words = split.words
        self._counts = split.counts
        self._levels: dict[int, _Repeated] = {}

    @cached_property
    def _heaviest(self) -> int:
        """An upper bound for the characters of one word's occurrences, each with a space."""
        times = self._counts.values()
        letters: int = max(map(mul, map(len, self._counts), times))
        return letters + max(times)

    def top_chars_at_most(self, length: int) -> int:
        """Return an upper bound of `top_chars`, without counting n-grams."""
        # Each word of an n-gram occurs at least as often as the n-gram, followed by a space.
        return length * self._heaviest

    def top_chars(self, length: int) -> int:
        """Return the length of the most frequent n-gram, with spaces, times its count.

        Ties go to the earliest.
        """
        level = self._level(length)
        return (len("".join(level.top)) + length - 1) * level.times

    def duplicate_chars(self, length: int) -> int:
        """Count the characters in n-grams that repeat earlier ones, without overlaps."""
        words = self._words
        seen: set[NGram] = set()
        chars = place = 0
        for start, end in self._level(length).spans:
            place = max(place, start)
            while place <= end - length:
                gram = tuple(words[place : place + length])
                if gram in seen:
                    chars += len("".join(gram))
                    place += length
                else:
                    seen.add(gram)
                    place += 1
        return chars

    def _level(self, length: int) -> _Repeated:
        known = self._levels.get(length)
        if known is None:
            known = self._levels[length] = self._find_repeated(length)
        return known

    def _find_repeated(self, length: int) -> _Repeated:
        words = self._words
        pieces = []
        for start, end in self._suspects(length):
            run = words[start:end]
            shifted = (run[place:] for place in range(length))
            pieces.append((start, list_shared(zip(*shifted, strict=False), len(run))))
        grams = list(chain.from_iterable(inside for _, inside in pieces))
        if len(set(grams)) == len(grams):
            return _Repeated([], tuple(words[:length]), 1)
        counts = Counter(grams)
        repeated = {gram for gram, times in counts.items() if times > 1}
        spans = [
            (start + first, start + last + length - 1)
            for start, inside in pieces
            for first, last in _find_spans(map(repeated.__contains__, inside))
        ]
        top = max(counts, key=counts.__getitem__)
        return _Repeated(spans, top, counts[top])

    def _suspects(self, length: int) -> list[tuple[int, int]]:
        """Return the spans in which n-grams of this length may repeat."""
        shorter = [each for each in self._levels if each < length]
        if shorter:
            spans = self._levels[max(shorter)].spans
            return [(start, end) for start, end in spans if end - start >= length]
        repeated = {word for word, times in self._counts.items() if times > 1}
        return _find_spans(map(repeated.__contains__, self._words), length)


def _find_spans(flags: Iterable[bool], at_least: int = 1) -> list[tuple[int, int]]:
    """Return the spans of consecutive true flags, if they have at least this length."""
    rows = _span_pattern(at_least).finditer(bytes(flags))
    return [row.span() for row in rows]


@cache
def _span_pattern(at_least: int) -> re.Pattern[bytes]:
    return re.compile(rb"\x01{%d,}" % at_least)
