"""Filters by transcripts: what differs from the text, and what nobody can have said."""

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
    """Keeps rows whose transcript differs from the text in few enough words.

    A missing transcript is an empty one. Rows without a text have nothing to compare, and go.
    """

    unit: ClassVar[str] = "word"

    at_most: float | None = None
    """The highest rate that stays; none is dropped unless given."""

    text_field: str = TEXT
    """The column that holds what was said."""

    heard_field: str = HEARD
    """The column that holds the transcript."""

    score_field: str = "wer"
    """The column for the rate."""

    lowercase: bool = True
    """Whether capitals make no difference."""

    ignore_punctuation: bool = True
    """Whether punctuation makes no difference."""

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
    """Keeps rows whose transcript differs from the text in few enough characters."""

    unit: ClassVar[str] = "character"

    score_field: str = "cer"
    """The column for the rate."""

    def rate(self, said: str, heard: str) -> float:
        return character_error_rate(said, heard)


@dataclass
class EdgeCerFilter(CerFilter):
    """Keeps rows whose transcript agrees with the text at its beginning and at its end.

    Words that were cut off with the recording show there, and hardly in the rate of the whole.
    """

    unit: ClassVar[str] = "edge character"

    edge: int = 10
    """So many characters at either end are compared; the worse end counts."""

    score_field: str = "edge_cer"
    """The column for the rate."""

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
    """Drops or flags transcripts that nobody can have said, with the first reason for doubt."""

    text_field: str = HEARD
    """The column that holds the transcript."""

    unique_words: float = 0.4
    """A share of different words up to this, in a hundred words or all that there are, is
    repetition."""

    min_words: int = 10
    """In fewer words, repetition is no sign."""

    longest_word: int = 35
    """A word of more characters is none."""

    characters_per_second: float = 40.0
    """Nobody speaks faster than this; asked where there is a `duration`."""

    phrases: list[str] = field(default_factory=lambda: list(STOCK_PHRASES))
    """Transcripts that are nothing but one of these, once or many times: what a model writes of
    silence. Unless given, thanks to viewers and credits of subtitles in twelve languages."""

    flag_field: str | None = None
    """A column for the reason for doubt: rows then stay, and those without doubt have null."""

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
