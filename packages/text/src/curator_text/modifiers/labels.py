"""Modifiers that prepare training data for a text classifier."""

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from curator_text.modifying import TextModifier

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
