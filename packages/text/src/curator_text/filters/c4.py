"""The C4 rules on lines, pages, paragraphs and bad words (Raffel et al. 2020, Xue et al. 2021)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from typing import ClassVar

import fsspec

from curator_text.document_text import DocumentText
from curator_text.filters.base import EditingRuleSet, RuleSet
from curator_text.rule_results import Edit

_CITATIONS = re.compile(r"\[(?:\d*|edit|citation needed)\]")
_END_MARKS = (".", "?", "!", '"', "'")
_FILLER = "lorem ipsum"
_SCRIPT = "javascript"
_POLICY = (
    "terms of use",
    "privacy policy",
    "cookie policy",
    "uses cookies",
    "use of cookies",
    "use cookies",
)
_POLICY_SIGNS = ("cookie", "privacy policy", "terms of use")
_DROP_LINE = ""


@dataclass
class C4QualityFilter(EditingRuleSet):
    """Removes lines that are not prose, and drops pages with too little text left.

    Reasons: `too_few_sentences`, `lorem_ipsum`, `curly_bracket`. White space around lines is
    removed too. Words are separated by white space; a sentence ends with `.`, `!` or `?` before
    white space, or with a Chinese or Japanese end mark.
    """

    kernel: ClassVar[str | None] = "c4_quality"

    split_paragraph: bool = True
    """Judge line by line; otherwise judge by sentence and join the kept ones with spaces."""

    remove_citations: bool = True
    """Remove `[12]`, `[]`, `[edit]` and `[citation needed]`."""

    filter_no_terminal_punct: bool = True
    """Remove lines that do not end with `. ? ! " '`, or that end with `...`."""

    min_num_sentences: int = 5
    """Drop pages with fewer sentences left; -1 allows any number."""

    min_words_per_line: int = 3
    """Remove lines with fewer words; -1 allows any number."""

    max_word_length: int = 1000
    """Remove lines with a longer word; -1 allows any length."""

    filter_lorem_ipsum: bool = True
    """Drop pages that contain `lorem ipsum`."""

    filter_javascript: bool = True
    """Remove lines that mention JavaScript."""

    filter_curly_bracket: bool = True
    """Drop pages that contain `{`."""

    filter_policy: bool = True
    """Remove lines about cookies, privacy policies and terms of use."""

    blank_reason = "too_few_sentences"

    def has_kernel(self) -> bool:
        return super().has_kernel() and self.split_paragraph

    @property
    def phrases(self) -> tuple[tuple[str, ...], ...]:
        """The phrases that lines are searched for: placeholder text, JavaScript, policies."""
        return (
            (_FILLER,) if self.filter_lorem_ipsum else (),
            (_SCRIPT,) if self.filter_javascript else (),
            _POLICY if self.filter_policy else (),
        )

    def edit(self, text: DocumentText) -> Edit:
        lines = text.splitlines() if self.split_paragraph else split_sentences(text)
        is_suspect = self._is_suspect(text)
        kept = []
        for raw in lines:
            line = self._clean_line(raw)
            if line is None:
                continue
            reason = self._line_reason(line) if is_suspect else None
            if reason:
                return Edit(text, reason)
            if reason is None:
                kept.append(line)
        if self._too_few_sentences(kept):
            return Edit(text, "too_few_sentences")
        return Edit(DocumentText(("\n" if self.split_paragraph else " ").join(kept).strip()))

    def _clean_line(self, raw: str) -> str | None:
        """Return the cleaned line, or None if its words or its end rule it out."""
        line = raw.strip()
        fewest, longest = self.min_words_per_line, self.max_word_length
        # Stop splitting once there are enough words; only a long line can have a long word.
        if fewest > 0 and len(line.split(None, fewest - 1)) < fewest:
            return None
        if -1 != longest < len(line) and any(len(word) > longest for word in line.split()):
            return None
        if self.remove_citations and "[" in line:
            line = _CITATIONS.sub("", line)
        return None if self.filter_no_terminal_punct and not _ends_well(line) else line

    def _is_suspect(self, text: DocumentText) -> bool:
        """Whether any line may contain a phrase that the rules look for: most pages have none."""
        if self.filter_curly_bracket and "{" in text:
            return True
        if self.remove_citations and "[" in text:
            lowered = _CITATIONS.sub("", text).lower()
        else:
            lowered = text.lowered
        return any(sign in lowered for sign in self._signs())

    def _signs(self) -> Iterable[str]:
        if self.filter_lorem_ipsum:
            yield _FILLER
        if self.filter_javascript:
            yield _SCRIPT
        if self.filter_policy:
            yield from _POLICY_SIGNS

    def _line_reason(self, line: str) -> str | None:
        """Return the reason to drop the page, "" to remove only the line, or None to keep it."""
        lowered = line.lower()
        if self.filter_lorem_ipsum and _FILLER in lowered:
            return "lorem_ipsum"
        if self.filter_javascript and _SCRIPT in lowered:
            return _DROP_LINE
        if self.filter_curly_bracket and "{" in line:
            return "curly_bracket"
        about_policy = self.filter_policy and any(phrase in lowered for phrase in _POLICY)
        return _DROP_LINE if about_policy else None

    def _too_few_sentences(self, lines: list[str]) -> bool:
        fewest = self.min_num_sentences
        if not self.split_paragraph:
            return len(lines) < fewest
        found = 0
        for line in lines:
            if found >= fewest:
                return False
            found += count_sentences(line, fewest - found)
        return found < fewest


def _ends_well(line: str) -> bool:
    return line.endswith(_END_MARKS) and not line.endswith("...")


@dataclass
class C4ParagraphFilter(RuleSet):
    """Drops texts with too few long lines. The reason is `< 3 paragraphs`."""

    min_paragraphs: int = 3
    """Minimum number of long lines."""

    min_paragraph_len: int = 200
    """Minimum length of a long line, in characters."""

    @property
    def blank_reason(self) -> str:
        return f"< {self.min_paragraphs} paragraphs"

    def broken_rule(self, text: DocumentText) -> str | None:
        long = sum(len(line) >= self.min_paragraph_len for line in text.split("\n"))
        return self.blank_reason if long < self.min_paragraphs else None


_UNSPACED = ("ja", "th", "zh")
_WORD = re.compile(r"\w+")
_BAD_WORDS = "document_removed_with_badwords"


@dataclass
class C4BadWordsFilter(RuleSet):
    """Drops texts with a word from a list.

    The reason is `document_removed_with_badwords`. Case is ignored. A word matches only if no
    letter, digit or `_` touches it; in languages written without spaces it matches anywhere. Blank
    texts are dropped as `empty`.
    """

    bad_words: Sequence[str] | str
    """The words and phrases, or the path or URL of a text file with one per line."""

    keep_fraction: float = 0.0
    """The share of matching documents to keep anyway, chosen by a hash of the text."""

    seed: int = 0
    """Seed of the hash: another number keeps other documents."""

    language: str = "en"
    """The language of the words. In `ja`, `th` and `zh` words need no boundaries."""

    blank_reason = "empty"

    def check(self) -> Iterable[str]:
        yield from super().check()
        if not 0 <= self.keep_fraction <= 1:
            yield f"keep_fraction is {self.keep_fraction}, but must be between 0 and 1"
        try:
            listed = self._words
        except (OSError, UnicodeDecodeError) as error:
            yield f"the bad words cannot be read from {self.bad_words}: {error}"
            return
        if not listed:
            yield "bad_words names no words"

    def broken_rule(self, text: DocumentText) -> str | None:
        if not self._has_bad_word(text.lowered):
            return None
        if self.keep_fraction > 0 and self._draw(text) < self.keep_fraction:
            return None
        return _BAD_WORDS

    def _has_bad_word(self, lowered: str) -> bool:
        if self.language in _UNSPACED:
            return any(word in lowered for word in self._words)
        if not self._simple.isdisjoint(_WORD.findall(lowered)):
            return True
        return any(
            phrase in lowered and pattern.search(lowered) is not None
            for phrase, pattern in self._phrases.items()
        )

    def _draw(self, text: DocumentText) -> float:
        data = f"{self.seed}\n{text}".encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(data, digest_size=8).digest()) / 2**64

    @cached_property
    def _words(self) -> frozenset[str]:
        lines: Sequence[str] = self.bad_words if not isinstance(self.bad_words, str) else ()
        if isinstance(self.bad_words, str):
            with fsspec.open(self.bad_words, "r", encoding="utf-8") as file:
                lines = file.read().splitlines()
        return frozenset(line.strip().lower() for line in lines if line.strip())

    @cached_property
    def _simple(self) -> frozenset[str]:
        """The entries that are single words, which splitting can find."""
        return frozenset(word for word in self._words if _WORD.fullmatch(word))

    @cached_property
    def _phrases(self) -> dict[str, re.Pattern[str]]:
        others = sorted(self._words - self._simple)
        return {each: re.compile(rf"(?<!\w){re.escape(each)}(?!\w)") for each in others}

    def __getstate__(self) -> dict[str, object]:
        """Omit patterns and words: the other process computes them again."""
        found = ("_words", "_simple", "_phrases")
        return {name: value for name, value in vars(self).items() if name not in found}


# Possessive, and matching only from the start of a run of marks: linear even for a million full
# stops.
_ENDS = re.compile(
    r"(?<![.!?])[.!?]++[\"')\]]*+(?:\s+|\Z)"  # a mark inside a word or number ends no sentence
    r"|[\u3002\uff01\uff1f\uff61]+[\"')\]\u300d\u300f\uff09\u201d\u2019]*\s*"  # no space needed
)


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences, with the white space after them.

    Text after the last end mark is a sentence too.
    """
    ends = [found.end() for found in _ENDS.finditer(text)]
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def count_sentences(text: str, most: int) -> int:
    """Count the sentences, up to `most`."""
    ends = [found.end() for found in islice(_ENDS.finditer(text), most)]
    if len(ends) == most:
        return most
    return len(ends) + (not ends or ends[-1] < len(text))
