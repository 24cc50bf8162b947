"""Stages that change pictures. Unchanged pictures keep their bytes."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, get_args

from curator_core import ProcessingStage, Rejected
from curator_core.errors import hint

from curator_image.batches import EXTENSION, IMAGE, ImageBatch
from curator_image.decoding import picture
from curator_image.measuring.judging import pictures_of
from curator_image.measuring.pictures import Header, Picture
from curator_image.opening import UndecodableError
from curator_image.resizing.encodings import EXTENSIONS, Encoding, OutputFormat
from curator_image.resizing.fits import Fit, ResizeMode, Size, fit_for
from curator_image.views import View

if TYPE_CHECKING:
    from PIL import Image

    Changed: TypeAlias = tuple[Image.Image, str]


@dataclass
class PictureChanging(ProcessingStage[ImageBatch, ImageBatch], ABC):
    """Base class of stages that change pictures. Pictures that cannot be decoded are quarantined.

    A changed picture is upright and RGB, transparent areas are white, and EXIF data and colour
    profile are removed. Pictures that need no change keep their bytes.
    """

    format: OutputFormat = field(default="same", kw_only=True)
    """Encoding of changed pictures: jpeg, png or webp. `same` keeps the format, or uses png if it
    is none of these."""

    quality: int = field(default=95, kw_only=True)
    """Quality of jpeg and webp, from 1 to 100."""

    def inputs(self) -> Sequence[str]:
        return (IMAGE, EXTENSION)

    def check(self) -> Iterator[str]:
        if self.format not in get_args(OutputFormat):
            yield f"format is {self.format!r}{hint(str(self.format), get_args(OutputFormat))}"
        if not 1 <= self.quality <= 100:
            yield f"quality is {self.quality}, but must be from 1 to 100"

    @property
    def encoding(self) -> Encoding:
        return Encoding(self.format, self.quality)

    @abstractmethod
    def changed(self, task: ImageBatch, row: int, known: Picture) -> "Changed | None":
        """Return the changed picture and its format, or None if it needs no change."""

    def process(self, task: ImageBatch) -> list[ImageBatch | Rejected]:
        images: list[bytes | None] = []
        kinds: list[str] = []
        failed: dict[int, Exception] = {}
        for row, known in enumerate(pictures_of(task)):
            try:
                changed = self.changed(task, row, known)
            except UndecodableError as error:
                failed[row] = error.bare()
                continue
            images.append(None if changed is None else self.encoding.encoded(*changed))
            kinds.append("" if changed is None else changed[1])
        good, rejected = task.without(failed)
        return [self._with(good, images, kinds), *rejected]

    def _with(
        self, batch: ImageBatch, images: Sequence[bytes | None], kinds: Sequence[str]
    ) -> ImageBatch:
        if not any(image is not None for image in images):
            return batch
        before = batch.data.column(EXTENSION).to_pylist()
        old = [bytes(memoryview(data)) for data in batch.encoded]
        data = [new if new is not None else kept for new, kept in zip(images, old, strict=True)]
        endings = [_ending(kind, kept) for kind, kept in zip(kinds, before, strict=True)]
        return batch.with_images(data, endings)


def _ending(kind: str, before: str) -> str:
    """Return the extension for a format, keeping variants such as .jpeg or .left.JPG."""
    if not kind:
        return before
    front, dot, last = before.rpartition(".")
    if last.lower() == EXTENSIONS[kind] or (kind == "jpeg" and last.lower() == "jpeg"):
        return before
    return f"{front}{dot}{EXTENSIONS[kind]}"


def _on_canvas(scaled: "Image.Image", canvas: Size) -> "Image.Image":
    """Crop around the centre if larger, add a white border if smaller."""
    from PIL import Image

    if scaled.size == canvas:
        return scaled
    left, top = ((there - wanted) // 2 for there, wanted in zip(scaled.size, canvas, strict=True))
    if left >= 0 and top >= 0:
        return scaled.crop((left, top, left + canvas[0], top + canvas[1]))
    ground = Image.new("RGB", canvas, "white")
    ground.paste(scaled, (-left, -top))
    return ground


@dataclass
class PictureFitting(PictureChanging, ABC):
    """Base class of stages that change sizes or formats regardless of content."""

    @abstractmethod
    def fit(self, header: Header) -> Fit:
        """Return how to fit a picture."""

    def changed(self, task: ImageBatch, row: int, known: Picture) -> "Changed | None":
        header = known.header
        fit = self.fit(header)
        kind = self.encoding.format_for(header.format)
        is_right = self.format == "same" or kind == header.format
        if is_right and not fit.changes((header.width, header.height)):
            return None
        scaled = picture(known.encoded, View(box=fit.scaled, resampling="lanczos"))
        return _on_canvas(scaled, fit.canvas), kind


@dataclass
class ImageResizer(PictureFitting):
    """Scale pictures down; small pictures are enlarged only if `enlarge` is set."""

    size: int | list[int] = 512
    """Pixels of one side, or [width, height]."""

    mode: ResizeMode = "keep_ratio"
    """keep_ratio (the shorter side gets the size), keep_ratio_largest (the longer side),
    center_crop, border (white), or stretch."""

    enlarge: bool = False
    """Enlarge small pictures."""

    def check(self) -> Iterator[str]:
        yield from super().check()
        if self.mode not in get_args(ResizeMode):
            yield f"mode is {self.mode!r}{hint(str(self.mode), get_args(ResizeMode))}"
        sides = self.size if isinstance(self.size, list) else [self.size]
        if len(sides) not in (1, 2) or min(sides) < 1:
            yield f"size is {self.size}, but must be a number of pixels, or [width, height]"
        elif len(sides) == 2 and self.mode in ("keep_ratio", "keep_ratio_largest"):
            yield f"size is {self.size}, but {self.mode} takes one number"

    def fit(self, header: Header) -> Fit:
        sides = self.size if isinstance(self.size, list) else [self.size]
        wanted = sides[0], sides[-1]
        size = header.width, header.height
        return fit_for(size, wanted, self.mode, enlarge=self.enlarge)


@dataclass
class ImageReencoder(PictureFitting):
    """Re-encode pictures that have another format than the given one."""

    format: OutputFormat = field(default="jpeg", kw_only=True)
    """jpeg, png or webp. Pictures that already have this format keep their bytes."""

    def fit(self, header: Header) -> Fit:
        size = header.width, header.height
        return Fit(size, size)
