"""Modifiers: stages that rewrite one text column and keep every document."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, ProcessingStage


@dataclass
class TextModifier(ProcessingStage[DocumentBatch, DocumentBatch], ABC):
    """Rewrites one column of texts. A missing text stays missing."""

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    @abstractmethod
    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        """The new texts, in the same order."""

    def inputs(self) -> Sequence[str]:
        return (self.text_field,)

    def process(self, task: DocumentBatch) -> DocumentBatch:
        table = task.data
        place = table.column_names.index(self.text_field)
        changed = self.modify(table.column(place))
        return task.with_data(table.set_column(place, self.text_field, changed))


@dataclass
class NewlineNormalizer(TextModifier):
    """Writes every line end as `\\n`, and three or more of them as two."""

    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        unix = pc.replace_substring_regex(texts, r"\r\n?", "\n")
        return pc.replace_substring_regex(unix, r"\n{3,}", "\n\n")


@dataclass
class UnicodeNormalizer(TextModifier):
    """Writes characters that look the same in the same way, so that they compare equal."""

    form: Literal["NFC", "NFKC", "NFD", "NFKD"] = "NFC"
    """The Unicode normal form. NFKC also unfolds ligatures and full-width letters."""

    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        return pc.utf8_normalize(texts, form=self.form)


@dataclass
class WhitespaceNormalizer(TextModifier):
    """Makes one space of a row of spaces, tabs and odd blanks, and trims lines and text."""

    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        # RE2's \s is ASCII only; \p{Zs} holds the no-break and other blanks of the web.
        single = pc.replace_substring_regex(texts, r"[\t\x0b\x0c\p{Zs}\x{200B}\x{FEFF}]+", " ")
        trimmed = pc.replace_substring_regex(single, r" ?\n ?", "\n")
        return pc.utf8_trim_whitespace(trimmed)
