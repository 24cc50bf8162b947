"""Base classes of picture filters: score each picture and decide by its score."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from inspect import get_annotations
from typing import Any, ClassVar

from curator_core import ProcessingStage

from curator_image.batches import IMAGE, OWN_COLUMNS, ImageBatch
from curator_image.measuring.judging import Outcomes, kept, scored, with_scores
from curator_image.measuring.pictures import Picture
from curator_image.measuring.quantities import Quantity
from curator_image.views import WORKING, View


@dataclass
class ImageFilter(ProcessingStage[ImageBatch, ImageBatch], ABC):
    """Keep pictures with an acceptable score; drop the others with one reason.

    A picture that cannot be decoded is quarantined with the error; the others continue.
    """

    view: ClassVar[View | None] = WORKING
    """The view of pixels to score, or None if header and bytes are enough."""

    score_kind: ClassVar[str] = "double"

    score_field: str | None = field(default=None, kw_only=True)
    """Column to write the score to. Not written by default."""

    invert: bool = field(default=False, kw_only=True)
    """Drop the pictures that would be kept, and keep those that would be dropped."""

    @abstractmethod
    def score(self, picture: Picture) -> Any:
        """Return the score of a picture."""

    @abstractmethod
    def keeps(self, score: Any) -> bool:
        """Return whether a picture with this score is kept."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """Why pictures are dropped, as shown in reports."""

    def inputs(self) -> Sequence[str]:
        return (IMAGE,)

    def outputs(self) -> Sequence[str]:
        return () if self.score_field is None else (self.score_field,)

    def check(self) -> Iterable[str]:
        if self.score_field in OWN_COLUMNS:
            yield f"score_field is {self.score_field!r}, which every batch has; name another column"

    def process(self, task: ImageBatch) -> Outcomes:
        found = scored(task, self.view, self.score)
        batch = found.batch
        if self.score_field is not None:
            batch = with_scores(batch, self.score_field, found.scores, self.score_kind)
        flags = [bool(self.keeps(score)) != self.invert for score in found.scores]
        return [*kept(batch, flags, self.told, found.scores), *found.rejected]

    @property
    def told(self) -> str:
        """The reason for the report, negated if inverted."""
        return f"not: {self.reason}" if self.invert else self.reason


@dataclass
class RangeFilter(ImageFilter):
    """Keep pictures whose score is within limits, each of which is optional."""

    quantity: ClassVar[Quantity]
    """The quantity to score."""

    limits: ClassVar[tuple[str, ...]] = ()
    """Option names of the minimum and maximum; by default all fields named min_… and max_…."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.view = cls.quantity.view
        named = [name for name in get_annotations(cls) if name.startswith(("min_", "max_"))]
        cls.limits = tuple(named) or cls.limits

    def score(self, picture: Picture) -> float:
        return float(self.quantity.of(picture))

    def keeps(self, score: float) -> bool:
        least, most = self.range
        return (least is None or score >= least) and (most is None or score <= most)

    @property
    def range(self) -> tuple[float | None, float | None]:
        return self._limit("min_"), self._limit("max_")

    def _limit(self, beginning: str) -> float | None:
        return next(
            (getattr(self, name) for name in self.limits if name.startswith(beginning)), None
        )

    @property
    def reason(self) -> str:
        least, most = self.range
        if least is not None and most is not None:
            return f"{self.quantity.thing} not {least:g} to {most:g}"
        if most is not None:
            return f"{self.quantity.thing} over {most:g}"
        return f"{self.quantity.thing} under {least:g}"

    def check(self) -> Iterable[str]:
        yield from super().check()
        least, most = self.range
        if least is None and most is None:
            yield f"no limit is set; give {' and '.join(self.limits)}"
        if least is not None and most is not None and least > most:
            yield f"{self.limits[0]} is {least:g}, which is above {self.limits[1]}, {most:g}"
