"""Rows of combining marks, which normal forms sort one by one: kept short, as Unicode advises."""

import re
import sys
import unicodedata
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

MOST_MARKS = 30
_JOINER = "\u034f"


def stream_safe(text: str) -> str:
    """The text with a grapheme joiner behind each 30 marks in a row."""
    return text if text.isascii() else _long_rows().sub(rf"\g<0>{_JOINER}", text)


def stream_safe_column(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same for a column, which nearly always is the column itself."""
    suspect = pc.match_substring_regex(texts, rf"\p{{M}}{{{MOST_MARKS}}}")
    if not pc.any(suspect).as_py():
        return texts
    rows = zip(texts.to_pylist(), suspect.to_pylist(), strict=True)
    safe = [stream_safe(text) if is_suspect else text for text, is_suspect in rows]
    return pa.chunked_array([pa.array(safe, texts.type)])


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
