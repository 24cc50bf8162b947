"""Filters over values that pictures have already, such as scores of an earlier stage."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from curator_core import ProcessingStage

from curator_image.batches import ImageBatch
from curator_image.measuring.judging import Outcomes, kept


@dataclass
class ValueFilter(ProcessingStage[ImageBatch, ImageBatch]):
    """Keeps the pictures whose number in a column lies between two limits. Missing ones go."""

    filter_field: str
    """The column with the numbers."""

    least: float | None = None
    """The least that stays."""

    most: float | None = None
    """The most that stays."""

    invert: bool = field(default=False, kw_only=True)
    """Drop what would be kept, and keep what would be dropped."""

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
