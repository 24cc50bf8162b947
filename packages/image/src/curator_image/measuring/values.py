"""Filters on values that pictures already have, such as earlier scores."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from curator_core import ProcessingStage

from curator_image.batches import ImageBatch
from curator_image.measuring.judging import Outcomes, kept


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
            yield "no limit is set; give least, most or both"

    @property
    def reason(self) -> str:
        bounds = [f"under {self.least:g}"] if self.least is not None else []
        bounds += [f"over {self.most:g}"] if self.most is not None else []
        told = f"{self.filter_field} {' or '.join(bounds)}"
        return f"not: {told}" if self.invert else told

    def process(self, task: ImageBatch) -> Outcomes:
        values = task.data.column(self.filter_field).to_pylist()
        flags = [self._passes(value) != self.invert for value in values]
        return [*kept(task, flags, self.reason, values)]

    def _passes(self, value: float | None) -> bool:
        if value is None:
            return False
        return (self.least is None or value >= self.least) and (
            self.most is None or value <= self.most
        )
