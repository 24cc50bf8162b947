"""Identifiers: stages that add the language or script of each text."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from curator_core import DocumentBatch, ProcessingStage, Rejected, WorkerInfo
from curator_core.model.arrow import with_column

from curator_text.language_id.models import (
    CLD2,
    MAX_CHARACTERS,
    UNDETERMINED,
    NameAndScore,
    load_identifier,
    model_problem,
)
from curator_text.language_id.scripts import main_script
from curator_text.row_errors import RowErrors
from curator_text.text_columns import find_invalid_utf8, text_column


@dataclass
class _Identifier(ProcessingStage[DocumentBatch, DocumentBatch], ABC):
    """Adds a name and a score to each text. Missing or blank texts get neither."""

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    @property
    @abstractmethod
    def _fields(self) -> tuple[str, str]:
        """Return the columns for the name and the score."""

    @abstractmethod
    def identify(self, text: str) -> NameAndScore:
        """Return the name for a text, and its score."""

    def inputs(self) -> Sequence[str]:
        return (self.text_field,)

    def outputs(self) -> Sequence[str]:
        return self._fields

    def check(self) -> Iterable[str]:
        if self.text_field in self._fields:
            yield f"its results would replace {self.text_field!r}, the column that holds the text"
        if self._fields[0] == self._fields[1]:
            yield f"both of its results would be written to {self._fields[0]!r}"

    def process(self, task: DocumentBatch) -> Iterable[DocumentBatch | Rejected]:
        column = text_column(task.data, self.text_field)
        errors = RowErrors(task, find_invalid_utf8(column))
        texts = text_column(errors.good_rows(), self.text_field).to_pylist()
        results = [self.identify(text) if text and not text.isspace() else (None, None)
                for text in texts]  # fmt: skip
        names = pa.array([name for name, _ in results], pa.string())
        scores = pa.array([score for _, score in results], pa.float64())
        name_field, score_field = self._fields
        return errors.apply(
            lambda table: with_column(with_column(table, name_field, names), score_field, scores)
        )


@dataclass
class LanguageIdentifier(_Identifier):
    """Adds the language of each text as a two-letter code, with the confidence.

    Variants of a language share one code, such as `zh` or `no`. A missing or blank text gets no
    language; a text without letters gets `und`.
    """

    model: str = CLD2
    """`cld2` (extra `languages`), `fasttext` (extra `lid`), or the path of a fastText model."""

    min_score: float = 0.0
    """Texts with a lower confidence get `und` (undetermined)."""

    language_field: str = field(default="language", kw_only=True)
    """Output column for the language."""

    score_field: str = field(default="language_score", kw_only=True)
    """Output column for the confidence, from 0 to 1: a probability, or, where CLD2 is reliable, the
    share of the text in this language."""

    @property
    def _fields(self) -> tuple[str, str]:
        return self.language_field, self.score_field

    def check(self) -> Iterable[str]:
        yield from super().check()
        problem = model_problem(self.model)
        if problem is not None:
            yield problem

    def setup(self, worker: WorkerInfo) -> None:
        load_identifier(self.model)

    def identify(self, text: str) -> NameAndScore:
        language, score = load_identifier(self.model)(text[:MAX_CHARACTERS])
        return (language if score >= self.min_score else UNDETERMINED), score


@dataclass
class ScriptIdentifier(_Identifier):
    """Adds the script of most letters in a text, and its share of all letters."""

    script_field: str = field(default="script", kw_only=True)
    """Output column for the script: Latin, Cyrillic, Han …"""

    score_field: str = field(default="script_share", kw_only=True)
    """Output column for the script's share of all letters."""

    @property
    def _fields(self) -> tuple[str, str]:
        return self.script_field, self.score_field

    def identify(self, text: str) -> NameAndScore:
        return main_script(text)
