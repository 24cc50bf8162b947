"""Totals of a run: how much it read, and how much it wrote."""

from collections.abc import Mapping
from dataclasses import dataclass

from curator_core.model.contents import WORDS, Contents
from curator_core.model.records import StageCounts
from curator_core.model.scores import edges_of

_LEAST_WORD, _LONGEST_WORD = 2.0, 20.0
"""Characters per word. Texts outside of this range have no spaces between words, or no words."""


@dataclass(frozen=True)
class Amount:
    """The amount of data read, or written. Unknown numbers are 0."""

    records: int = 0
    files: int = 0
    num_bytes: int = 0
    playing_ms: int = 0
    """Playing time of videos and recordings."""

    contents: Contents | None = None

    @property
    def words(self) -> int:
        """Estimated number of words; 0 if it cannot be estimated."""
        bins = self.contents.numbers if self.contents else {}
        words, characters = (_mean(bins.get(name, {})) for name in (WORDS, "characters"))
        if not words or not _LEAST_WORD <= characters / words <= _LONGEST_WORD:
            return 0
        return round(words * self.records)

    def to_json(self) -> dict[str, int]:
        """Return the numbers that are known."""
        facts = {
            "records": self.records,
            "files": self.files,
            "bytes": self.num_bytes,
            "playing_ms": self.playing_ms,
            "words": self.words,
        }
        return {name: value for name, value in facts.items() if value or name == "records"}


def _mean(bins: Mapping[int, int]) -> float:
    total = sum(bins.values())
    return sum(times * sum(edges_of(number)) / 2 for number, times in bins.items()) / (total or 1)


@dataclass(frozen=True)
class RunTotals:
    """The data before and after a run."""

    read: Amount
    written: Amount

    def to_json(self) -> dict[str, dict[str, int]]:
        return {"read": self.read.to_json(), "written": self.written.to_json()}


def totals_of(stages: Mapping[str, StageCounts]) -> RunTotals:
    """Return the totals from the counts of the stages, in their order."""
    return RunTotals(_read(stages), _written(stages))


def _read(stages: Mapping[str, StageCounts]) -> Amount:
    """Return the amount of the first stage with records: a reader, unless tasks were given."""
    counts = next((one for one in stages.values() if one.items_received), StageCounts())
    is_reader = bool(counts.files_in)
    num_bytes = counts.bytes_in if is_reader else 0
    return Amount(
        counts.items_received, counts.files_in, num_bytes, counts.playing_ms, counts.contents
    )


def _written(stages: Mapping[str, StageCounts]) -> Amount:
    """Return the amount of the last writer, or of the last stage if nothing was written."""
    playing_ms, written, last = 0, None, StageCounts()
    for counts in stages.values():
        if counts.files_out and counts.records_in:
            written = counts, playing_ms
        playing_ms, last = counts.playing_ms, counts
    if written is None:
        return Amount(last.records_out, playing_ms=playing_ms)
    writer, playing_ms = written
    return Amount(
        writer.records_out, writer.files_out, writer.bytes_out, playing_ms, writer.contents
    )
