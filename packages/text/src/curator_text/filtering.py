"""Filters over one text column: a rule scores a text, and its score decides."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from curator_core import DocumentBatch, Dropped, ProcessingStage


@dataclass
class TextFilter(ProcessingStage[DocumentBatch, DocumentBatch], ABC):
    """Keeps the documents whose text passes a rule, and counts the others under one reason.

    A text that is missing, empty or blank passes no rule, so a rule never sees one.
    """

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    @abstractmethod
    def score(self, text: str) -> float:
        """How much of what the rule looks for there is in `text`, which is never blank."""

    @abstractmethod
    def keeps(self, score: float) -> bool:
        """Whether a document with this score stays."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """What is wrong with the documents that are dropped."""

    def inputs(self) -> Sequence[str]:
        return (self.text_field,)

    def passes(self, text: str | None) -> bool:
        """The rule's decision about one document."""
        if not text or text.isspace():
            return False
        return self.keeps(self.score(text))

    def process(self, task: DocumentBatch) -> "list[DocumentBatch | Dropped]":
        texts = task.data.column(self.text_field).to_pylist()
        return task.keep([self.passes(text) for text in texts], self.reason)


def share(part: float) -> str:
    """A share as people say it: `25 %`."""
    return f"{part * 100:g} %"
