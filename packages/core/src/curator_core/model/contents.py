"""Contents: how long the records of a run are, and their languages and scores, from a sample.

Readers are measured at their outputs and writers at their inputs, so that a report can show the
data before and after a run. Sampled rows count for the rows that they stand for.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from curator_core.model.samples import text_column
from curator_core.model.scores import Bins, add_bins, bins_from_text, bins_of, bins_to_text
from curator_core.model.tasks import AnyTask

if TYPE_CHECKING:
    import pyarrow as pa

CHARACTERS, WORDS, SECONDS, LANGUAGE = "characters", "words", "seconds", "language"

_MOST_ROWS = 96
"""Rows sampled in a batch: reading them takes less than half a millisecond."""

_WINDOW = 6
"""Sampled rows that lie side by side: slices are much faster than single rows."""

_FEW_ROWS = 32
"""Words are counted in all rows of batches that are not larger."""

_MOST_WORD_ROWS = 8
"""In larger ones they are counted in some rows, because that takes longest, and estimated in the
others."""

_PREFIX = 800
"""Words are counted at the start of a text, and estimated for the rest."""

_MOST_COLUMNS = 8
_MOST_VALUES, _LONGEST = 200, 40
_LANGUAGE_COLUMNS = ("language", "lang", "language_code", "lang_code")
_SIZE_COLUMNS = ("width", "height")


@dataclass(frozen=True)
class Contents:
    """Estimated distributions of records, which add up exactly over many batches."""

    numbers: Mapping[str, Bins] = field(default_factory=dict)
    """Histograms by name: `characters`, `words`, `seconds`, or a column of numbers."""

    values: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Number of records with each value, by name: `language`."""

    def __add__(self, other: "Contents | int | None") -> "Contents":
        """Return the sum; counts without contents hold None, and sums start with 0."""
        if not isinstance(other, Contents):
            return self
        numbers, values = dict(self.numbers), dict(self.values)
        for name, bins in other.numbers.items():
            numbers[name] = add_bins(numbers.get(name, {}), bins)
        for name, counts in other.values.items():
            values[name] = _most_common(Counter(values.get(name, {})) + Counter(counts))
        return Contents(numbers, values)

    __radd__ = __add__

    def to_json(self) -> dict[str, Any]:
        numbers = {name: bins_to_text(bins) for name, bins in self.numbers.items()}
        values = {name: dict(counts) for name, counts in self.values.items()}
        return {"numbers": numbers, "values": values}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        numbers = {name: bins_from_text(text) for name, text in facts["numbers"].items()}
        return cls(numbers, facts["values"])


def contents_of(task: AnyTask) -> Contents | None:
    """Measure a sample of a task's records; None if there is nothing that can be measured."""
    import pyarrow as pa

    try:
        table = task.data
        if isinstance(table, pa.Table):
            return _contents_of_table(table, text_column(task, table))
        seconds = task.playing_ms / 1000
        return Contents({SECONDS: bins_of([seconds])}) if seconds else None
    except Exception:  # noqa: BLE001 - other packages' data and code; this must not fail a run
        return None


def _contents_of_table(table: "pa.Table", text: str) -> Contents | None:
    others = _number_columns(table)
    language = next((name for name in _LANGUAGE_COLUMNS if name in table.column_names), "")
    chosen = list(dict.fromkeys(name for name in (text, language, *others) if name))
    sampled, step = _sample(table.select(chosen))
    numbers: dict[str, Bins] = {}
    if text:
        numbers |= _lengths(sampled.column(text), step)
    for name in others:
        found = sampled.column(name).to_pylist()
        numbers[name] = _scaled([value for value in found if value is not None], step)
    numbers = {name: bins for name, bins in numbers.items() if bins}
    languages = _languages(sampled.column(language), step) if language else {}
    values = {LANGUAGE: languages} if languages else {}
    return Contents(numbers, values) if numbers or values else None


def _sample(table: "pa.Table") -> tuple["pa.Table", int]:
    """Return some rows from all over a table, and for how many rows each of them stands."""
    import pyarrow as pa

    step = max(1, -(-table.num_rows // _MOST_ROWS))
    if step == 1:
        return table, 1
    starts = range(0, table.num_rows, _WINDOW * step)
    return pa.concat_tables([table.slice(start, _WINDOW) for start in starts]), step


def _lengths(texts: "pa.ChunkedArray", step: int) -> dict[str, Bins]:
    """Count words in a few of the texts; the others have as many words per character."""
    import pyarrow.compute as pc

    lengths = [length or 0 for length in pc.utf8_length(texts).to_pylist()]
    if not lengths:
        return {}
    is_small = len(lengths) <= _FEW_ROWS
    every = 1 if is_small else -(-len(lengths) // _MOST_WORD_ROWS)
    counted = range(sum(lengths) % every, len(lengths), every)  # the same in every run
    starts = [pc.utf8_slice_codeunits(texts[row], 0, _PREFIX).as_py() or "" for row in counted]
    per_character = [len(text.split()) / len(text) if text else 0.0 for text in starts]
    density = dict(zip(counted, per_character, strict=True))
    others = sum(per_character) / len(per_character)
    words = [length * density.get(row, others) for row, length in enumerate(lengths)]
    return {CHARACTERS: _scaled(lengths, step), WORDS: _scaled(words, step)}


def _languages(column: "pa.ChunkedArray", step: int) -> dict[str, int]:
    counts = Counter(value[:_LONGEST] for value in column.to_pylist() if isinstance(value, str))
    return _most_common(Counter({value: step * times for value, times in counts.items()}))


def _number_columns(table: "pa.Table") -> list[str]:
    """Return the columns of scores and sizes. Other integers are often identifiers."""
    import pyarrow.types as types

    return [
        field.name
        for field in table.schema
        if types.is_floating(field.type)
        or (field.name in _SIZE_COLUMNS and types.is_integer(field.type))
    ][:_MOST_COLUMNS]


def _scaled(values: Sequence[float], times: int) -> Bins:
    return {number: times * found for number, found in bins_of(values).items()}


def _most_common(counts: Counter[str]) -> dict[str, int]:
    return dict(counts.most_common(_MOST_VALUES))
