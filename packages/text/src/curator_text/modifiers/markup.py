"""Modifiers that remove URLs, Markdown, quotation marks and labels."""

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from curator_text.modifiers.base import TextModifier

# In RE2, \s matches ASCII white space only, so other white space is listed.
_NOT_BLANK = r"[^\t-\r\x1c-\x20\x{85}\p{Z}]"
_URL = rf"(?i)(?:https?://|www\.){_NOT_BLANK}+"

_MARKDOWN = (r"\*\*(.*?)\*\*", r"\*(.*?)\*", r"_(.*?)_", r"\[.*?\]\((.*?)\)")

_QUOTED = r'(?s)\A"([^\n]+|[^\n]*[^"\n]\n.*)"\z'


@dataclass
class UrlRemover(TextModifier):
    """Removes URLs.

    A URL extends from `http://`, `https://` or `www.` to the next white space.
    """

    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        return pc.replace_substring_regex(texts, _URL, "")


@dataclass
class MarkdownRemover(TextModifier):
    """Removes bold, italic and underline marks; replaces links with their address.

    It does not recognize code: the underscores of `snake_case_names` are removed too.
    """

    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        for pattern in _MARKDOWN:
            texts = pc.replace_substring_regex(texts, pattern, r"\1")
        return texts


@dataclass
class QuotationRemover(TextModifier):
    """Removes quotation marks that enclose a whole text.

    They stay if the first of several lines ends with one, because the quotation may end there.
    """

    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        return pc.replace_substring_regex(texts, _QUOTED, r"\1")


_MARK = "__label__"


@dataclass
class FastTextLabelModifier(TextModifier):
    """Converts each text to a fastText training line: the label, a space, the text."""

    label: str
    """The label, such as `__label__hq`."""

    def check(self) -> Iterable[str]:
        if not self.label.startswith(_MARK):
            yield f"label is {self.label!r}, but fastText learns only from {_MARK}{self.label}"

    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        in_one_line = pc.replace_substring(texts, "\n", " ")
        unmarked = pc.replace_substring(in_one_line, _MARK, " ")
        label, space = (pa.scalar(part, texts.type) for part in (self.label, " "))
        return pc.binary_join_element_wise(label, unmarked, space)
