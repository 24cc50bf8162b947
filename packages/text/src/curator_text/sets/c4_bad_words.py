"""The C4 bad-words rule; users supply the words."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import fsspec

from curator_text.sets.rules import RuleSet
from curator_text.texts import Text

_UNSPACED = ("ja", "th", "zh")
_WORD = re.compile(r"\w+")
_REASON = "document_removed_with_badwords"


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
            listed = self._listed
        except (OSError, UnicodeDecodeError) as error:
            yield f"the bad words cannot be read from {self.bad_words}: {error}"
            return
        if not listed:
            yield "bad_words names no words"

    def why_not(self, text: Text) -> str | None:
        if not self._found_in(text.lowered):
            return None
        if self.keep_fraction > 0 and self._draw(text) < self.keep_fraction:
            return None
        return _REASON

    def _found_in(self, lowered: str) -> bool:
        if self.language in _UNSPACED:
            return any(word in lowered for word in self._listed)
        if not self._simple.isdisjoint(_WORD.findall(lowered)):
            return True
        return any(
            phrase in lowered and pattern.search(lowered) is not None
            for phrase, pattern in self._phrases.items()
        )

    def _draw(self, text: Text) -> float:
        data = f"{self.seed}\n{text}".encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(data, digest_size=8).digest()) / 2**64

    @cached_property
    def _listed(self) -> frozenset[str]:
        lines: Sequence[str] = self.bad_words if not isinstance(self.bad_words, str) else ()
        if isinstance(self.bad_words, str):
            with fsspec.open(self.bad_words, "r", encoding="utf-8") as file:
                lines = file.read().splitlines()
        return frozenset(line.strip().lower() for line in lines if line.strip())

    @cached_property
    def _simple(self) -> frozenset[str]:
        """The entries that are single words, which splitting can find."""
        return frozenset(word for word in self._listed if _WORD.fullmatch(word))

    @cached_property
    def _phrases(self) -> dict[str, re.Pattern[str]]:
        others = sorted(self._listed - self._simple)
        return {each: re.compile(rf"(?<!\w){re.escape(each)}(?!\w)") for each in others}

    def __getstate__(self) -> dict[str, object]:
        """Omit patterns and words: the other process computes them again."""
        found = ("_listed", "_simple", "_phrases")
        return {name: value for name, value in vars(self).items() if name not in found}
