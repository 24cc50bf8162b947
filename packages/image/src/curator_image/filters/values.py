"""Filters on values in columns, such as earlier scores."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from curator_core import Dropped, ProcessingStage
from curator_core.model.arrow import score_numbers

from curator_image.filters.base import Outcomes, keep_by_flags, record_scores
from curator_image.image_batch import ImageBatch


@dataclass
class ValueFilter(ProcessingStage[ImageBatch, ImageBatch]):
    """Keep the pictures whose number in a column is within limits.

    Missing values are dropped.
    """

    filter_field: str
    """Column with the numbers."""

    least: float | None = None
    """Minimum value to keep."""

    most: float | None = None
    """Maximum value to keep."""

    invert: bool = field(default=False, kw_only=True)
    """Drop the pictures that would be kept, and keep those that would be dropped."""

    def inputs(self) -> Sequence[str]:
        return (self.filter_field,)

    def check(self) -> Iterable[str]:
        if self.least is None and self.most is None:
            yield "no limit is set: set least, most or both"

    @property
    def reason(self) -> str:
        bounds = [f"under {self.least:g}"] if self.least is not None else []
        bounds += [f"over {self.most:g}"] if self.most is not None else []
        reason = f"{self.filter_field} {' or '.join(bounds)}"
        return f"not: {reason}" if self.invert else reason

    def process(self, task: ImageBatch) -> Outcomes:
        values = task.data.column(self.filter_field).to_pylist()
        flags = [self._passes(value) != self.invert for value in values]
        return [*keep_by_flags(task, flags, self.reason, values)]

    def _passes(self, value: float | None) -> bool:
        if value is None:
            return False
        return (self.least is None or value >= self.least) and (
            self.most is None or value <= self.most
        )


@dataclass
class ScoreThreshold(ProcessingStage[ImageBatch, ImageBatch]):
    """Keep the pictures whose score is within limits. Missing scores are dropped."""

    score_field: str
    """Column with the score."""

    min_score: float | None = None
    """Minimum score to keep."""

    max_score: float | None = None
    """Maximum score to keep."""

    what: str | None = None
    """Name of the score in reasons. The column name by default."""

    def inputs(self) -> Sequence[str]:
        return (self.score_field,)

    def check(self) -> Iterable[str]:
        low, high = self.min_score, self.max_score
        if low is None and high is None:
            yield "min_score and max_score are both missing; set at least one"
        elif low is not None and high is not None and low > high:
            yield f"min_score {low:g} is above max_score {high:g}: every picture would be dropped"

    def process(self, task: ImageBatch) -> list[ImageBatch | Dropped]:
        scores = score_numbers(task.data, self.score_field)
        reasons = [self.reason_for(score) for score in scores]
        kept, *dropped = split_by_reason(task, reasons)
        assert isinstance(kept, ImageBatch)
        record_scores(kept, scores, [why is None for why in reasons])
        return [kept, *dropped]

    def reason_for(self, score: float | None) -> str | None:
        """Return why a picture with this score is dropped, or None if it is kept."""
        what = self.what or self.score_field
        if score is None or score != score:
            return f"no {what}"
        if self.min_score is not None and score < self.min_score:
            return f"{what} under {self.min_score:g}"
        if self.max_score is not None and score > self.max_score:
            return f"{what} over {self.max_score:g}"
        return None


def split_by_reason(task: ImageBatch, reasons: Sequence[str | None]) -> list[ImageBatch | Dropped]:
    """Return the pictures without a reason, and a note of the dropped ones for each reason."""
    found = [reason for reason in dict.fromkeys(reasons) if reason is not None]
    bare = task.with_data(task.data)  # dropped records must not keep pixels in memory
    outcomes: list[ImageBatch | Dropped] = [task]
    if found:
        outcomes = [task.filter([why is None for why in reasons])]
    for reason in found:
        dropped = [why == reason for why in reasons]
        outcomes.append(Dropped(reason, sum(dropped), partial(bare.filter, dropped)))
    return outcomes
