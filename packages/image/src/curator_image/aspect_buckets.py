"""Buckets: a few sizes with about the same number of pixels, for training with uniform batches."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import log

from curator_core import Rejected

from curator_image.filters.base import ScoredBatch, add_score_column, score_pictures
from curator_image.filters.picture import ImageHeader, Picture
from curator_image.image_batch import ImageBatch
from curator_image.resize import Fit, PictureFitter, Size, compute_fit

BUCKET_COLUMNS = ("bucket", "bucket_width", "bucket_height")


@dataclass(frozen=True)
class Buckets:
    """Sizes whose sides are multiples of `step`, with at most `side` squared pixels."""

    side: int
    step: int
    max_ratio: float

    @cached_property
    def sizes(self) -> tuple[Size, ...]:
        """Sizes from widest to highest: the greatest height per width, and vice versa."""
        found = set()
        longest = int(self.side * self.max_ratio**0.5) + self.step
        for one in range(self.step, longest, self.step):
            other = self.side * self.side // one // self.step * self.step
            if other and max(one, other) / min(one, other) <= self.max_ratio:
                found |= {(one, other), (other, one)}
        return tuple(sorted(found, key=lambda size: (-size[0] / size[1], -size[0])))

    def nearest(self, width: int, height: int) -> Size:
        """Return the bucket that crops the picture least."""
        ratio = log(width / height)
        return min(self.sizes, key=lambda size: (abs(log(size[0] / size[1]) - ratio), -size[0]))


@dataclass
class AspectBucketing(PictureFitter):
    """Assign each picture to the bucket with the nearest aspect ratio.

    Adds the columns bucket (`832x1216`), bucket_width and bucket_height. With `resize`, pictures
    are scaled to cover the bucket and cropped.
    """

    side: int = 1024
    """Buckets have about this number squared of pixels."""

    step: int = 64
    """Bucket sides are multiples of this number of pixels."""

    max_ratio: float = 2.0
    """Maximum aspect ratio of a bucket. Longer pictures get the longest bucket."""

    resize: bool = False
    """Resize pictures to their bucket."""

    enlarge: bool = True
    """Enlarge pictures smaller than their bucket; otherwise only crop them."""

    def check(self) -> Iterator[str]:
        yield from super().check()
        if self.step < 1 or self.side < self.step:
            yield f"side is {self.side} and step {self.step}, but side must be step or more"
        elif self.max_ratio < 1:
            yield f"max_ratio is {self.max_ratio:g}, but must be 1 or more"

    def outputs(self) -> tuple[str, ...]:
        return BUCKET_COLUMNS

    def fit(self, header: ImageHeader) -> Fit:
        size = header.width, header.height
        return compute_fit(size, self.buckets.nearest(*size), "center_crop", enlarge=self.enlarge)

    @property
    def buckets(self) -> Buckets:
        return Buckets(self.side, self.step, self.max_ratio)

    def process(self, task: ImageBatch) -> list[ImageBatch | Rejected]:
        buckets = self.buckets
        found = score_pictures(task, None, lambda picture: _bucket_of(picture, buckets))
        batch = _add_bucket_columns(found)
        if not self.resize:
            return [batch, *found.rejected]
        return [*super().process(batch), *found.rejected]


def _bucket_of(picture: Picture, buckets: Buckets) -> Size:
    return buckets.nearest(picture.header.width, picture.header.height)


def _add_bucket_columns(found: ScoredBatch) -> ImageBatch:
    widths = [width for width, _ in found.scores]
    heights = [height for _, height in found.scores]
    names = [f"{width}x{height}" for width, height in found.scores]
    batch = add_score_column(found.batch, BUCKET_COLUMNS[0], names, "string")
    batch = add_score_column(batch, BUCKET_COLUMNS[1], widths, "int64")
    return add_score_column(batch, BUCKET_COLUMNS[2], heights, "int64")
