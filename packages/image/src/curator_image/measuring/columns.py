"""Measures as columns, several at once, with nothing dropped."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from curator_core import ProcessingStage
from curator_core.suggestions import hint

from curator_image.batches import IMAGE, ImageBatch
from curator_image.measuring.judging import Outcomes, scored, with_scores
from curator_image.measuring.measures import (
    brightness,
    colourfulness,
    contrast,
    entropy,
    sharpness,
    uniformity,
)
from curator_image.measuring.pictures import Picture
from curator_image.views import WORKING

FROM_HEADERS: dict[str, tuple[str, Callable[[Picture], Any]]] = {
    "width": ("int64", lambda picture: picture.header.width),
    "height": ("int64", lambda picture: picture.header.height),
    "format": ("string", lambda picture: picture.header.format),
    "file_size": ("int64", lambda picture: memoryview(picture.encoded).nbytes),
}
FROM_PIXELS: dict[str, tuple[str, Callable[[Picture], Any]]] = {
    "sharpness": ("double", lambda picture: sharpness(picture.grey)),
    "brightness": ("double", lambda picture: brightness(picture.levels)),
    "contrast": ("double", lambda picture: contrast(picture.levels)),
    "entropy": ("double", lambda picture: entropy(picture.levels)),
    "uniformity": ("double", lambda picture: uniformity(picture.levels, 8)),
    "colorfulness": ("double", lambda picture: colourfulness(picture.pixels)),
}
MEASURES = {**FROM_HEADERS, **FROM_PIXELS}


@dataclass
class ImageMeasures(ProcessingStage[ImageBatch, ImageBatch]):
    """Adds measures of each picture as columns, to be looked at or filtered by later."""

    measures: list[str] = field(default_factory=lambda: list(MEASURES))
    """Which: width, height, format, file_size (of the header and the bytes alone), sharpness,
    brightness, contrast, entropy, uniformity, colorfulness. All of them unless given."""

    prefix: str = ""
    """What the names of the columns begin with."""

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
        wanted = [(name, *MEASURES[name]) for name in self.measures]
        view = WORKING if set(self.measures) & FROM_PIXELS.keys() else None
        found = scored(task, view, lambda picture: [rule(picture) for _, _, rule in wanted])
        batch = found.batch
        for place, (name, kind, _) in enumerate(wanted):
            values = [scores[place] for scores in found.scores]
            batch = with_scores(batch, f"{self.prefix}{name}", values, kind)
        return [batch, *found.rejected]
