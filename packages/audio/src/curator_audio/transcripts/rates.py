"""Error rates of transcripts, in words or in characters."""

import re
import unicodedata
from dataclasses import dataclass

from curator_audio.transcripts.distances import distance

_SPACES = re.compile(r"\s\s+")


@dataclass(frozen=True)
class Normalization:
    """Differences that do not count as errors."""

    lowercase: bool = True
    punctuation: bool = True
    """Remove everything except letters, digits, marks, and apostrophes within words."""

    compatible: bool = True
    """Convert full-width and other compatibility forms to plain ones (NFKC), and remove invisible
    characters: zero-width spaces and joiners, soft hyphens, direction marks.
    """

    def __call__(self, text: str) -> str:
        if self.compatible:
            text = unicodedata.normalize("NFKC", _with_few_marks(_INVISIBLE.sub("", text)))
        if self.lowercase:
            text = text.replace("\u0130", "i").lower()  # lower() makes two characters of İ
        if self.punctuation:
            text = _APOSTROPHES.sub("'", text)
            text = "".join(c if _counts(c) else " " for c in text)
            text = _LOOSE.sub(" ", text)
        return " ".join(text.split()) if self.punctuation else text


def _with_few_marks(text: str) -> str:
    """Remove marks after the first 30 in a row: normalizing long runs takes quadratic time."""
    if text.isascii():
        return text
    kept, row = [], 0
    for character in text:
        row = row + 1 if unicodedata.category(character)[0] == "M" else 0
        if row <= _MOST_MARKS:
            kept.append(character)
    return "".join(kept)


AS_WRITTEN = Normalization(lowercase=False, punctuation=False, compatible=False)

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
"""Characters that are default ignorable in Unicode: invisible and silent."""

_MOST_MARKS = 30
_APOSTROPHES = re.compile("[\u2019\u02bc]")
_LOOSE = re.compile(r"(?<!\w)'|'(?!\w)")


def _counts(character: str) -> bool:
    return character == "'" or unicodedata.category(character)[0] in "LNM"


def word_error_rate(said: str, heard: str) -> float:
    """Return the wrong words as a share of the reference; may exceed 1 if words were inserted."""
    return _rate(_words(said), _words(heard))


def character_error_rate(said: str, heard: str) -> float:
    return _rate(said.strip(), heard.strip())


def _words(text: str) -> list[str]:
    return [word for word in _SPACES.sub(" ", text).strip().split(" ") if word]


def _rate(said: str | list[str], heard: str | list[str]) -> float:
    """Return the error rate; for an empty reference, the length of the transcript."""
    return distance(said, heard) / max(1, len(said))
