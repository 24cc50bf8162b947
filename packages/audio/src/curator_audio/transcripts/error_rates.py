"""Error rates of transcripts, in words or in characters, and filters by them."""

import re
import unicodedata
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
from curator_core import DocumentBatch, Dropped, InputError, ProcessingStage, Rejected

from curator_audio.audio_batch import PREDICTED_TEXT, TEXT, AudioBatch
from curator_audio.row_selection import apply_drop_reasons

MAX_COMPARISONS = 40_000_000_000
"""Largest product of the lengths of two texts that are compared, since the time grows with it: two
texts of 200,000 words or characters, which take about ten seconds.
"""

_BLOCK = 16_384
"""Items of one sequence to compare at once, as bits of an integer: memory does not grow further."""


class TextTooLongError(InputError, ValueError):
    """Two texts that are too long to compare."""


def edit_distance(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """Return the number of insertions, deletions and replacements between two sequences.

    Computes a table column per big integer (Myers), in blocks of rows (Hyyrö).
    """
    if len(one) * len(other) > MAX_COMPARISONS:
        raise TextTooLongError(
            f"too long to compare: {len(one):,} and {len(other):,} items; use shorter rows, such "
            "as segments that each have a text"
        )
    if len(one) < len(other):
        one, other = other, one
    steps = [1] * len(other)
    for first in range(0, len(one), _BLOCK):
        steps = _steps_below(one[first : first + _BLOCK], other, steps)
    return len(one) + sum(steps)


def _steps_below(
    block: Sequence[Hashable], other: Sequence[Hashable], steps: Sequence[int]
) -> list[int]:
    """Return the differences between neighbouring cells below a block of rows.

    `steps` are the same differences (-1, 0 or 1) above the block.
    """
    positions: dict[Hashable, int] = {}
    for position, item in enumerate(block):
        positions[item] = positions.get(item, 0) | 1 << position
    every, last = (1 << len(block)) - 1, 1 << (len(block) - 1)
    more, less = every, 0
    below = []
    for item, step in zip(other, steps, strict=True):
        equal = positions.get(item, 0)
        level = equal | less
        equal |= step < 0
        across = (((equal & more) + more) ^ more) | equal
        up = less | (~(across | more) & every)
        down = more & across
        below.append(bool(up & last) - bool(down & last))
        up, down = (up << 1) & every | (step > 0), (down << 1) & every | (step < 0)
        more, less = down | (~(level | up) & every), up & level
    return below


_SPACES = re.compile(r"\s\s+")


@dataclass(frozen=True)
class Normalization:
    """Differences that do not count as errors."""

    lowercase: bool = True
    punctuation: bool = True
    """Remove everything except letters, digits, marks, and apostrophes within words."""

    compatible: bool = True
    """Convert full-width and other compatibility forms to plain ones (NFKC), and remove invisible
    characters: zero-width spaces and joiners, soft hyphens, direction marks.
    """

    def __call__(self, text: str) -> str:
        if self.compatible:
            text = unicodedata.normalize("NFKC", _limit_marks(_INVISIBLE.sub("", text)))
        if self.lowercase:
            text = text.replace("\u0130", "i").lower()  # lower() makes two characters of İ
        if self.punctuation:
            text = _APOSTROPHES.sub("'", text)
            text = "".join(c if _counts(c) else " " for c in text)
            text = _LOOSE.sub(" ", text)
        return " ".join(text.split()) if self.punctuation else text


def _limit_marks(text: str) -> str:
    """Remove marks after the first 30 in a row: normalizing long runs takes quadratic time."""
    if text.isascii():
        return text
    kept, row = [], 0
    for character in text:
        row = row + 1 if unicodedata.category(character)[0] == "M" else 0
        if row <= _MAX_MARKS:
            kept.append(character)
    return "".join(kept)


AS_WRITTEN = Normalization(lowercase=False, punctuation=False, compatible=False)

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
"""Characters that are default ignorable in Unicode: invisible and silent."""

_MAX_MARKS = 30

_APOSTROPHES = re.compile("[\u2019\u02bc]")

_LOOSE = re.compile(r"(?<!\w)'|'(?!\w)")


def _counts(character: str) -> bool:
    return character == "'" or unicodedata.category(character)[0] in "LNM"


def word_error_rate(reference: str, transcript: str) -> float:
    """Return the wrong words as a share of the reference; may exceed 1 if words were inserted."""
    return _rate(_words(reference), _words(transcript))


def character_error_rate(reference: str, transcript: str) -> float:
    return _rate(reference.strip(), transcript.strip())


def _words(text: str) -> list[str]:
    return [word for word in _SPACES.sub(" ", text).strip().split(" ") if word]


def _rate(reference: str | list[str], transcript: str | list[str]) -> float:
    """Return the error rate; for an empty reference, the length of the transcript."""
    return edit_distance(reference, transcript) / max(1, len(reference))


def _describe_row(task: DocumentBatch, row: int) -> str:
    return task.describe_row(row) if isinstance(task, AudioBatch) else f"row {row}"


def set_column(batch: DocumentBatch, name: str, values: pa.Array) -> DocumentBatch:
    table = batch.data
    if name in table.column_names:
        table = table.drop_columns([name])
    return batch.with_data(table.append_column(name, values))


@dataclass
class WerFilter(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Keep rows whose transcript differs from the text in few words.

    A missing transcript counts as empty. Rows without a text are dropped. Rows whose texts are both
    longer than about 200,000 words are quarantined, since comparing them would take too long.
    """

    unit: ClassVar[str] = "word"

    at_most: float | None = None
    """Highest error rate to keep. Nothing is dropped by default."""

    text_field: str = TEXT
    """Column with the reference text."""

    heard_field: str = PREDICTED_TEXT
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

    def rate(self, reference: str, transcript: str) -> float:
        return word_error_rate(reference, transcript)

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped | Rejected]:
        normal = Normalization(self.lowercase, self.ignore_punctuation)
        pairs = zip(
            task.data.column(self.text_field).to_pylist(),
            task.data.column(self.heard_field).to_pylist(),
            strict=True,
        )
        rates: dict[int, float | None] = {}
        for row, (reference, transcript) in enumerate(pairs):
            rates[row] = None
            try:
                if reference is not None:
                    rates[row] = self.rate(normal(reference), normal(transcript or ""))
            except TextTooLongError as error:
                del rates[row]
                yield Rejected(str(error), _describe_row(task, row), row=row, damaged=True)
        if rates:
            yield from self._filter(task, rates)

    def _filter(
        self, task: DocumentBatch, rates: Mapping[int, float | None]
    ) -> Iterator[DocumentBatch | Dropped]:
        """Yield the rows that have an entry in `rates`, those with a high rate as a drop."""
        if len(rates) < task.num_items:
            task = task.keep([row in rates for row in range(task.num_items)], "")[0]  # type: ignore[assignment]
        values = list(rates.values())
        scored = set_column(task, self.score_field, pa.array(values, pa.float64()))
        reasons = [self._drop_reason(rate) for rate in values]
        yield from apply_drop_reasons(scored, reasons, {self.score_field: values})

    def keeps(self, score: float | None) -> bool:
        """Return whether a row with this error rate is kept."""
        return self.at_most is None or (score is not None and score <= self.at_most)

    @property
    def reason(self) -> str:
        return f"{self.unit} error rate above {self.at_most:g}"

    def _drop_reason(self, rate: float | None) -> str | None:
        if self.keeps(rate):
            return None
        return "no text to compare with" if rate is None else self.reason


@dataclass
class CerFilter(WerFilter):
    """Keep rows whose transcript differs from the text in few characters."""

    unit: ClassVar[str] = "character"

    score_field: str = "cer"
    """Column to write the rate to."""

    def rate(self, reference: str, transcript: str) -> float:
        return character_error_rate(reference, transcript)


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

    def rate(self, reference: str, transcript: str) -> float:
        reference, transcript = reference.strip(), transcript.strip()
        first = character_error_rate(reference[: self.edge], transcript[: self.edge])
        return max(first, character_error_rate(reference[-self.edge :], transcript[-self.edge :]))
