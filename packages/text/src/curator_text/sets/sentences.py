"""Sentences: where they end."""

import re
from itertools import islice

# Possessive, and only from the beginning of a row of marks: a million full stops take one look.
_ENDS = re.compile(
    r"(?<![.!?])[.!?]++[\"')\]]*+(?:\s+|\Z)"  # a mark inside a word or a number ends nothing
    r"|[\u3002\uff01\uff1f\uff61]+[\"')\]\u300d\u300f\uff09\u201d\u2019]*\s*"  # no space needed
)


def sentences(text: str) -> list[str]:
    """The text in pieces, each with the white space behind it; what has no end mark is one too."""
    ends = [found.end() for found in _ENDS.finditer(text)]
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def count_sentences(text: str, most: int) -> int:
    """How many there are, counted no further than `most`."""
    ends = [found.end() for found in islice(_ENDS.finditer(text), most)]
    if len(ends) == most:
        return most
    return len(ends) + (not ends or ends[-1] < len(text))
