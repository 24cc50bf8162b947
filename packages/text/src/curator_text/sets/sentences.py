"""Sentences: split text at end marks."""

import re
from itertools import islice

# Possessive, and matching only from the start of a run of marks: linear even for a million full
# stops.
_ENDS = re.compile(
    r"(?<![.!?])[.!?]++[\"')\]]*+(?:\s+|\Z)"  # a mark inside a word or number ends no sentence
    r"|[\u3002\uff01\uff1f\uff61]+[\"')\]\u300d\u300f\uff09\u201d\u2019]*\s*"  # no space needed
)


def sentences(text: str) -> list[str]:
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
