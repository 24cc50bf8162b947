"""Modifiers of what separates words and lines."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from curator_text.modifying import TextModifier


@dataclass
class NewlineNormalizer(TextModifier):
    """Writes every line end as `\\n`, and three or more of them as two."""

    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        unix = pc.replace_substring_regex(texts, r"\r\n?", "\n")
        return pc.replace_substring_regex(unix, r"\n{3,}", "\n\n")


@dataclass
class WhitespaceNormalizer(TextModifier):
    """Makes one space of a row of spaces, tabs and odd blanks, and trims lines and text."""

    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        # RE2's \s is ASCII only; \p{Zs} holds the no-break and other blanks of the web.
        single = pc.replace_substring_regex(texts, r"[\t\x0b\x0c\p{Zs}\x{200B}\x{FEFF}]+", " ")
        trimmed = pc.replace_substring_regex(single, r" ?\n ?", "\n")
        return pc.utf8_trim_whitespace(trimmed)
