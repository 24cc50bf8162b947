"""The stage that adds several measures as columns, without dropping anything."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from curator_core import ProcessingStage
from curator_core.errors import hint

from curator_image.batches import IMAGE, ImageBatch
from curator_image.measuring.judging import Outcomes, scored, tell, with_scores
from curator_image.measuring.quantities import (
    BRIGHTNESS,
    BYTES,
    COLOURFULNESS,
    CONTRAST,
    ENTROPY,
    FORMAT,
    HEIGHT,
    SHARPNESS,
    UNIFORMITY,
    WIDTH,
    Quantity,
)
from curator_image.views import WORKING

MEASURES: dict[str, Quantity] = {
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
            yield f"measures is empty; name some of {', '.join(MEASURES)}"
        for name in self.measures:
            if name not in MEASURES:
                yield f"measures names {name!r}{hint(name, MEASURES)}"

    def process(self, task: ImageBatch) -> Outcomes:
        wanted = [MEASURES[name] for name in self.measures]
        view = WORKING if any(quantity.view for quantity in wanted) else None
        found = scored(task, view, lambda picture: [quantity.of(picture) for quantity in wanted])
        batch, values = found.batch, dict[str, list[Any]]()
        for place, (name, quantity) in enumerate(zip(self.measures, wanted, strict=True)):
            column = f"{self.prefix}{name}"
            values[column] = [scores[place] for scores in found.scores]
            batch = with_scores(batch, column, values[column], quantity.kind)
        for column, scores in values.items():
            tell(batch, scores, name=column)
        return [batch, *found.rejected]
