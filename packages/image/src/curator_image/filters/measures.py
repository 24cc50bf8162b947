"""Measures of pictures: as columns, and with limits as filters."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from inspect import get_annotations
from typing import Any, ClassVar, NamedTuple

from curator_core import ProcessingStage
from curator_core.errors import hint

from curator_image.filters.base import (
    ImageFilter,
    Outcomes,
    add_score_column,
    record_scores,
    score_pictures,
)
from curator_image.filters.picture import Picture
from curator_image.filters.pixel_statistics import (
    brightness,
    colourfulness,
    contrast,
    entropy,
    sharpness,
    uniformity,
)
from curator_image.image_batch import IMAGE, ImageBatch
from curator_image.pixel_view import WORKING, View


class Measure(NamedTuple):
    """A measure: its name in reasons, its function, its Arrow type, and its view (if any)."""

    label: str
    compute: Callable[[Picture], Any]
    kind: str = "double"
    view: View | None = WORKING


WIDTH = Measure("width", lambda picture: picture.header.width, "int64", None)
HEIGHT = Measure("height", lambda picture: picture.header.height, "int64", None)
FORMAT = Measure("format", lambda picture: picture.header.format, "string", None)
BYTES = Measure("bytes", lambda picture: memoryview(picture.encoded).nbytes, "int64", None)

SHORTER = Measure(
    "shorter side", lambda picture: min(picture.header.width, picture.header.height), view=None
)
COUNT = Measure(
    "number of pixels", lambda picture: picture.header.width * picture.header.height, view=None
)
RATIO = Measure("longer to shorter side", lambda picture: _aspect_ratio(picture), view=None)

SHARPNESS = Measure("sharpness", lambda picture: sharpness(picture.grey))
BRIGHTNESS = Measure("brightness", lambda picture: brightness(picture.levels))
CONTRAST = Measure("contrast", lambda picture: contrast(picture.levels))
ENTROPY = Measure("entropy", lambda picture: entropy(picture.levels))
UNIFORMITY = Measure("share of one level", lambda picture: uniformity(picture.levels, 8))
COLOURFULNESS = Measure("colourfulness", lambda picture: colourfulness(picture.pixels))


def _aspect_ratio(picture: Picture) -> float:
    sides = picture.header.width, picture.header.height
    return max(sides) / min(sides)


MEASURES: dict[str, Measure] = {
    "width": WIDTH,
    "height": HEIGHT,
    "format": FORMAT,
    "file_size": BYTES,
    "sharpness": SHARPNESS,
    "brightness": BRIGHTNESS,
    "contrast": CONTRAST,
    "entropy": ENTROPY,
    "uniformity": UNIFORMITY,
    "colorfulness": COLOURFULNESS,
}


@dataclass
class ImageMeasures(ProcessingStage[ImageBatch, ImageBatch]):
    """Add measures of each picture as columns, for inspection or for later filters."""

    measures: list[str] = field(default_factory=lambda: list(MEASURES))
    """Measures to add: width, height, format, file_size (these need only the header and the bytes),
    sharpness, brightness, contrast, entropy, uniformity, colorfulness. All of them by default."""

    prefix: str = ""
    """Prefix of the column names."""

    def inputs(self) -> Sequence[str]:
        return (IMAGE,)

    def outputs(self) -> Sequence[str]:
        return [f"{self.prefix}{name}" for name in self.measures]

    def check(self) -> Iterable[str]:
        if not self.measures:
            yield f"measures is empty; choose from {', '.join(MEASURES)}"
        for name in self.measures:
            if name not in MEASURES:
                yield f"measures contains {name!r}{hint(name, MEASURES)}"

    def process(self, task: ImageBatch) -> Outcomes:
        selected = [MEASURES[name] for name in self.measures]
        view = WORKING if any(measure.view for measure in selected) else None
        found = score_pictures(
            task, view, lambda picture: [measure.compute(picture) for measure in selected]
        )
        batch, values = found.batch, dict[str, list[Any]]()
        for index, (name, measure) in enumerate(zip(self.measures, selected, strict=True)):
            column = f"{self.prefix}{name}"
            values[column] = [scores[index] for scores in found.scores]
            batch = add_score_column(batch, column, values[column], measure.kind)
        for column, scores in values.items():
            record_scores(batch, scores, name=column)
        return [batch, *found.rejected]


@dataclass
class MeasureFilter(ImageFilter):
    """Keep pictures whose score is within limits, each of which is optional."""

    measure: ClassVar[Measure]
    """The measure to compare with the limits."""

    limits: ClassVar[tuple[str, ...]] = ()
    """Option names of the minimum and maximum; by default all fields named min_… and max_…."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.view = cls.measure.view
        named = [name for name in get_annotations(cls) if name.startswith(("min_", "max_"))]
        cls.limits = tuple(named) or cls.limits

    def score(self, picture: Picture) -> float:
        return float(self.measure.compute(picture))

    def keeps(self, score: float) -> bool:
        low, high = self.range
        return (low is None or score >= low) and (high is None or score <= high)

    @property
    def range(self) -> tuple[float | None, float | None]:
        return self._limit("min_"), self._limit("max_")

    def _limit(self, beginning: str) -> float | None:
        return next(
            (getattr(self, name) for name in self.limits if name.startswith(beginning)), None
        )

    @property
    def reason(self) -> str:
        low, high = self.range
        if low is not None and high is not None:
            return f"{self.measure.label} under {low:g} or over {high:g}"
        if high is not None:
            return f"{self.measure.label} over {high:g}"
        return f"{self.measure.label} under {low:g}"

    def check(self) -> Iterable[str]:
        yield from super().check()
        low, high = self.range
        if low is None and high is None:
            yield f"no limit is set: set {' or '.join(self.limits)}"
        if low is not None and high is not None and low > high:
            yield f"{self.limits[0]} is {low:g}, which is above {self.limits[1]}, {high:g}"
