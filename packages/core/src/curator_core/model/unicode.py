"""Unicode normalization in linear time, also for long rows of combining marks."""

import re
import sys
import unicodedata
from functools import cache

MOST_MARKS = 30
_JOINER = "\u034f"
_SUSPECT = re.compile(rf"[^\w\x00-\x7f]{{{MOST_MARKS}}}")


def stream_safe(text: str) -> str:
    """The text with a grapheme joiner behind each 30 marks in a row."""
    if text.isascii() or not _SUSPECT.search(text):
        return text
    return _long_rows().sub(rf"\g<0>{_JOINER}", text)


@cache
def _long_rows() -> re.Pattern[str]:
    """Built of what Python's own tables call combining; takes a moment, and is seldom needed."""
    marks = [code for code in range(sys.maxunicode + 1) if unicodedata.combining(chr(code))]
    ranges: list[list[int]] = []
    for code in marks:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    spans = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
    return re.compile(f"[{spans}]{{{MOST_MARKS}}}")
