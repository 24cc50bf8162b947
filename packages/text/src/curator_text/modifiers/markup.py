"""Modifiers that take out what is no prose: addresses, Markdown, quotation marks around it all."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from curator_text.modifying import TextModifier

# RE2 knows the white space of ASCII only, so the other blanks are named.
_NOT_BLANK = r"[^\t-\r\x1c-\x20\x{85}\p{Z}]"
_URL = rf"(?i)(?:https?://|www\.){_NOT_BLANK}+"

_MARKDOWN = (r"\*\*(.*?)\*\*", r"\*(.*?)\*", r"_(.*?)_", r"\[.*?\]\((.*?)\)")

_QUOTED = r'(?s)\A"([^\n]+|[^\n]*[^"\n]\n.*)"\z'


@dataclass
class UrlRemover(TextModifier):
    """Takes out what begins with `http://`, `https://` or `www.`, up to the next blank."""

    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        return pc.replace_substring_regex(texts, _URL, "")


@dataclass
class MarkdownRemover(TextModifier):
    """Takes the marks of bold, italic and underlined text away, and leaves of a link its address.

    It knows no code: the underscores of `snake_case_names` go too.
    """

    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        for pattern in _MARKDOWN:
            texts = pc.replace_substring_regex(texts, pattern, r"\1")
        return texts


@dataclass
class QuotationRemover(TextModifier):
    """Takes away the quotation marks that stand around a whole text.

    They stay where the first of several lines ends with one, for it may be closed there.
    """

    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        return pc.replace_substring_regex(texts, _QUOTED, r"\1")
