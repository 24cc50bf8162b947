"""Modifiers of white space."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from curator_text.modifiers.base import TextModifier


@dataclass
class NewlineNormalizer(TextModifier):
    """Converts all line ends to `\\n`, and three or more of them to two."""

    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        unix = pc.replace_substring_regex(texts, r"\r\n?", "\n")
        return pc.replace_substring_regex(unix, r"\n{3,}", "\n\n")


@dataclass
class WhitespaceNormalizer(TextModifier):
    """Replaces runs of white space in lines with one space; trims lines and text."""

    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        # In RE2, \s is ASCII only; \p{Zs} includes no-break and other spaces common on the web.
        single = pc.replace_substring_regex(texts, r"[\t\x0b\x0c\p{Zs}\x{200B}\x{FEFF}]+", " ")
        trimmed = pc.replace_substring_regex(single, r" ?\n ?", "\n")
        return pc.utf8_trim_whitespace(trimmed)
