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
    """Bring full-width and other compatible forms to plain ones (NFKC)."""

    def __call__(self, text: str) -> str:
        if self.compatible:
            text = unicodedata.normalize("NFKC", text)
        if self.lowercase:
            text = text.lower()
        if self.punctuation:
            text = _APOSTROPHES.sub("'", text)
            text = "".join(c if _counts(c) else " " for c in text)
            text = _LOOSE.sub(" ", text)
        return " ".join(text.split()) if self.punctuation else text


AS_WRITTEN = Normalization(lowercase=False, punctuation=False, compatible=False)

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
