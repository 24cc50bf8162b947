"""Error rates: how much of what was said a transcript got wrong, in words or in characters."""

import re
import unicodedata
from dataclasses import dataclass

from curator_audio.transcripts.distances import distance

_SPACES = re.compile(r"\s\s+")


@dataclass(frozen=True)
class Normalization:
    """What does not count as a mistake."""

    lowercase: bool = True
    punctuation: bool = True
    """Leave out everything that is neither letter, digit nor mark, but apostrophes in words."""

    compatible: bool = True
    """Bring full-width and other compatible forms to plain ones (NFKC), and remove characters that
    cannot be seen: zero-width spaces and joiners, soft hyphens, marks of direction."""

    def __call__(self, text: str) -> str:
        if self.compatible:
            text = unicodedata.normalize("NFKC", _with_few_marks(_INVISIBLE.sub("", text)))
        if self.lowercase:
            text = text.replace("\u0130", "i").lower()  # of İ, lower() alone makes i and a dot
        if self.punctuation:
            text = _APOSTROPHES.sub("'", text)
            text = "".join(c if _counts(c) else " " for c in text)
            text = _LOOSE.sub(" ", text)
        return " ".join(text.split()) if self.punctuation else text


def _with_few_marks(text: str) -> str:
    """Without marks that no writing has: to bring a row of them in order takes its square."""
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
"""What Unicode calls default ignorable: no reader sees it, and no listener hears it."""

_MOST_MARKS = 30
_APOSTROPHES = re.compile("[\u2019\u02bc]")
_LOOSE = re.compile(r"(?<!\w)'|'(?!\w)")


def _counts(character: str) -> bool:
    return character == "'" or unicodedata.category(character)[0] in "LNM"


def word_error_rate(said: str, heard: str) -> float:
    """Wrong words as a share of those said; more than 1 where many were made up."""
    return _rate(_words(said), _words(heard))


def character_error_rate(said: str, heard: str) -> float:
    return _rate(said.strip(), heard.strip())


def _words(text: str) -> list[str]:
    return [word for word in _SPACES.sub(" ", text).strip().split(" ") if word]


def _rate(said: str | list[str], heard: str | list[str]) -> float:
    """Where nothing was said, what was heard is counted: one for each word, or character."""
    return distance(said, heard) / max(1, len(said))
