"""Redaction: locate personal data, redact it, or drop texts that contain it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from curator_core import DocumentBatch, ProcessingStage, Rejected
from curator_core.errors import hint
from curator_core.model.arrow import with_column

from curator_text.document_text import DocumentText
from curator_text.filters.base import TextFilter
from curator_text.modifiers.base import TextRewriter
from curator_text.pii.detectors import ALL_KINDS, PiiKind, PiiSpan, find_pii
from curator_text.row_errors import RowErrors
from curator_text.text_columns import find_invalid_utf8, text_column


@dataclass
class PiiSearch:
    """Options for the personal data to search for."""

    kinds: Sequence[PiiKind] = ALL_KINDS
    """Kinds to search for: `email`, `ip`, `phone`, `credit_card` and `iban`. Card numbers and IBANs
    must have valid check digits."""

    public_ips_only: bool = False
    """Ignore addresses that are not public, such as 192.168.0.1."""

    def problems(self) -> Iterable[str]:
        """Yield the problems with the kinds."""
        if isinstance(self.kinds, str):
            yield f"kinds is the text {self.kinds!r}, but must be a list: [{self.kinds}]"
        elif not self.kinds:
            yield f"kinds is empty, so nothing would be found; choose from {', '.join(ALL_KINDS)}"
        else:
            for kind in self.kinds:
                if kind not in ALL_KINDS:
                    yield f"unknown kind {kind!r}{hint(kind, ALL_KINDS)}"

    def find(self, text: str) -> list[PiiSpan]:
        return find_pii(text, self.kinds, self.public_ips_only)


@dataclass
class PiiFinder(PiiSearch, ProcessingStage[DocumentBatch, DocumentBatch]):
    """Adds the personal data found in each text: kind, start and end of each match.

    Positions count characters from 0, as in Python. A missing text gets a missing list.
    """

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    pii_field: str = field(default="pii", kw_only=True)
    """Output column for the matches."""

    def inputs(self) -> Sequence[str]:
        return (self.text_field,)

    def outputs(self) -> Sequence[str]:
        return (self.pii_field,)

    def check(self) -> Iterable[str]:
        yield from self.problems()
        if self.pii_field == self.text_field:
            yield f"pii_field is {self.pii_field!r}, the column that holds the text"

    def process(self, task: DocumentBatch) -> Iterable[DocumentBatch | Rejected]:
        errors = RowErrors(task, find_invalid_utf8(text_column(task.data, self.text_field)))
        texts = text_column(errors.good_rows(), self.text_field).to_pylist()
        found = [None if text is None else [one._asdict() for one in self.find(text)]
                 for text in texts]  # fmt: skip
        place = [("kind", pa.string()), ("start", pa.int64()), ("end", pa.int64())]
        column = pa.array(found, pa.list_(pa.struct(place)))
        return errors.apply(lambda table: with_column(table, self.pii_field, column))


@dataclass
class PiiRedactor(PiiSearch, TextRewriter):
    """Replaces personal data in texts."""

    replacement: str = "<{kind}>"
    """Replacement text; `{kind}` is the kind of data, such as EMAIL or CREDIT_CARD."""

    def check(self) -> Iterable[str]:
        return self.problems()

    def rewrite(self, text: str) -> str:
        found = self.find(text)
        return redact(text, found, self.replacement) if found else text


@dataclass
class PiiFilter(PiiSearch, TextFilter):
    """Drops texts with personal data. The score is the number of matches."""

    max_found: int = 0
    """Maximum number of matches in a text."""

    @property
    def reason(self) -> str:
        return f"over {self.max_found} of {', '.join(self.kinds)}"

    def check(self) -> Iterable[str]:
        yield from super().check()
        yield from self.problems()

    def score(self, text: DocumentText) -> float:
        return len(self.find(text))

    def keeps(self, score: float) -> bool:
        return score <= self.max_found


def redact(text: str, spans: Sequence[PiiSpan], replacement: str) -> str:
    """Replace each span in the text; `{kind}` in the replacement is the span's kind."""
    return "".join(_redacted_parts(text, spans, replacement))


def _redacted_parts(text: str, spans: Sequence[PiiSpan], replacement: str) -> Iterator[str]:
    last = 0
    for kind, start, end in spans:
        yield text[last:start]
        yield replacement.replace("{kind}", kind.upper())
        last = end
    yield text[last:]
