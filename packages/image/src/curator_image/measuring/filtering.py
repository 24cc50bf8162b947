"""Filters of pictures: a rule scores a picture, and its score decides."""

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
    """Keeps the pictures that pass a rule, and counts the others under one reason.

    A picture that cannot be decoded is set aside with the error; the others go on.
    """

    view: ClassVar[View | None] = WORKING
    """How it wants to see pixels, or None where header and bytes are enough."""

    score_kind: ClassVar[str] = "double"

    score_field: str | None = field(default=None, kw_only=True)
    """A column for the score, if it is to be kept."""

    invert: bool = field(default=False, kw_only=True)
    """Drop what would be kept, and keep what would be dropped."""

    @abstractmethod
    def score(self, picture: Picture) -> Any:
        """How much of what the rule looks for there is in the picture."""

    @abstractmethod
    def keeps(self, score: Any) -> bool:
        """Whether a picture with this score stays."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """What is wrong with the pictures that are dropped."""

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
        """The reason as it is counted."""
        return f"not: {self.reason}" if self.invert else self.reason


@dataclass
class RangeFilter(ImageFilter):
    """A rule whose score must lie between two limits, either of which may be left out."""

    quantity: ClassVar[Quantity]
    """What is scored."""

    limits: ClassVar[tuple[str, ...]] = ()
    """The options with the least and the greatest score that stay: all named min_… and max_…"""

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
