"""Filters by transcript: differences from the text, and hallucinations."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa
from curator_core import DocumentBatch, Dropped, ProcessingStage

from curator_audio.batches import DURATION, TEXT
from curator_audio.settling import settled
from curator_audio.transcripts.hallucinations import STOCK_PHRASES, Doubts
from curator_audio.transcripts.rates import (
    Normalization,
    character_error_rate,
    word_error_rate,
)

HEARD = "pred_text"


def _with(batch: DocumentBatch, name: str, values: pa.Array) -> DocumentBatch:
    table = batch.data
    if name in table.column_names:
        table = table.drop_columns([name])
    return batch.with_data(table.append_column(name, values))


@dataclass
class WerFilter(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Keep rows whose transcript differs from the text in few words.

    A missing transcript counts as empty. Rows without a text are dropped.
    """

    unit: ClassVar[str] = "word"

    at_most: float | None = None
    """Highest error rate to keep. Nothing is dropped by default."""

    text_field: str = TEXT
    """Column with the reference text."""

    heard_field: str = HEARD
    """Column with the transcript."""

    score_field: str = "wer"
    """Column to write the rate to."""

    lowercase: bool = True
    """Whether to ignore case."""

    ignore_punctuation: bool = True
    """Whether to ignore punctuation."""

    def check(self) -> Iterable[str]:
        if self.at_most is not None and self.at_most < 0:
            yield f"at_most is {self.at_most:g}, but must be 0 or more"

    def inputs(self) -> Sequence[str]:
        return (self.text_field, self.heard_field)

    def outputs(self) -> Sequence[str]:
        return (self.score_field,)

    def rate(self, said: str, heard: str) -> float:
        return word_error_rate(said, heard)

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        normal = Normalization(self.lowercase, self.ignore_punctuation)
        pairs = zip(
            task.data.column(self.text_field).to_pylist(),
            task.data.column(self.heard_field).to_pylist(),
            strict=True,
        )
        rates = [
            None if said is None else self.rate(normal(said), normal(heard or ""))
            for said, heard in pairs
        ]
        scored = _with(task, self.score_field, pa.array(rates, pa.float64()))
        faults = [self._fault(rate) for rate in rates]
        yield from settled(scored, faults, {self.score_field: rates})

    def _fault(self, rate: float | None) -> str | None:
        if self.at_most is None:
            return None
        if rate is None:
            return "no text to compare with"
        return f"{self.unit} error rate above {self.at_most:g}" if rate > self.at_most else None


@dataclass
class CerFilter(WerFilter):
    """Keep rows whose transcript differs from the text in few characters."""

    unit: ClassVar[str] = "character"

    score_field: str = "cer"
    """Column to write the rate to."""

    def rate(self, said: str, heard: str) -> float:
        return character_error_rate(said, heard)


@dataclass
class EdgeCerFilter(CerFilter):
    """Keep rows whose transcript matches the text at its beginning and end.

    This detects words that were cut off with the recording, which hardly change the overall rate.
    """

    unit: ClassVar[str] = "edge character"

    edge: int = 10
    """Number of characters to compare at either end; the worse end counts."""

    score_field: str = "edge_cer"
    """Column to write the rate to."""

    def check(self) -> Iterable[str]:
        yield from super().check()
        if self.edge < 1:
            yield f"edge is {self.edge}, but must be 1 or more"

    def rate(self, said: str, heard: str) -> float:
        said, heard = said.strip(), heard.strip()
        first = character_error_rate(said[: self.edge], heard[: self.edge])
        return max(first, character_error_rate(said[-self.edge :], heard[-self.edge :]))


@dataclass
class HallucinationFilter(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Drop or flag transcripts that were likely made up by the model."""

    text_field: str = HEARD
    """Column with the transcript."""

    unique_words: float = 0.4
    """Largest share of distinct words that counts as repetition, within a hundred words or the
    whole text if it is shorter.
    """

    min_words: int = 10
    """Minimum number of words for the repetition check."""

    longest_word: int = 35
    """Maximum length of a word, in characters."""

    characters_per_second: float = 40.0
    """Maximum rate of speech; checked if there is a `duration`."""

    phrases: list[str] = field(default_factory=lambda: list(STOCK_PHRASES))
    """Phrases that models write for silence; a transcript that consists only of one of them, once
    or repeated, is dropped. The default has thanks to viewers and subtitle credits in twelve
    languages.
    """

    flag_field: str | None = None
    """Column to write the reason to; rows are then kept. It is null for plausible transcripts."""

    def check(self) -> Iterable[str]:
        if not 0 <= self.unique_words <= 1:
            yield f"unique_words is {self.unique_words:g}, but must be from 0 to 1"
        for name in ("min_words", "longest_word"):
            if getattr(self, name) < 1:
                yield f"{name} is {getattr(self, name)}, but must be 1 or more"
        if self.characters_per_second <= 0:
            yield (
                f"characters_per_second is {self.characters_per_second:g}, but must be more than 0"
            )

    def outputs(self) -> Sequence[str]:
        return () if self.flag_field is None else (self.flag_field,)

    def inputs(self) -> Sequence[str]:
        return (self.text_field,)

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        doubts = Doubts(
            self.unique_words,
            self.min_words,
            self.longest_word,
            self.characters_per_second,
            self.phrases,
        )
        texts = task.data.column(self.text_field).to_pylist()
        seconds: list[float | None] = [None] * len(texts)
        if DURATION in (task.columns() or ()):
            seconds = task.data.column(DURATION).to_pylist()
        faults = [doubts.about(t or "", s) for t, s in zip(texts, seconds, strict=True)]
        if self.flag_field is None:
            yield from settled(task, faults)
        else:
            yield _with(task, self.flag_field, pa.array(faults, pa.string()))
