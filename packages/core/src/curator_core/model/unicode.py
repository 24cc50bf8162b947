"""Unicode normalization in linear time, even for long sequences of combining marks."""

import re
import sys
import unicodedata
from functools import cache

MOST_MARKS = 30
_JOINER = "\u034f"
_SUSPECT = re.compile(rf"[^\w\x00-\x7f]{{{MOST_MARKS}}}")


def stream_safe(text: str) -> str:
    """Return the text with a grapheme joiner after every 30 combining marks in a row."""
    if text.isascii() or not _SUSPECT.search(text):
        return text
    return _long_rows().sub(rf"\g<0>{_JOINER}", text)


@cache
def _long_rows() -> re.Pattern[str]:
    """Return a pattern built from Python's Unicode tables. Slow to build and rarely needed."""
    marks = [code for code in range(sys.maxunicode + 1) if unicodedata.combining(chr(code))]
    ranges: list[list[int]] = []
    for code in marks:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    spans = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
    return re.compile(f"[{spans}]{{{MOST_MARKS}}}")
