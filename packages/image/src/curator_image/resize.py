"""Resizing: scale, crop, pad or re-encode pictures. Unchanged pictures keep their bytes."""

import io
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from curator_core import ProcessingStage, Rejected
from curator_core.errors import hint

from curator_image.decoding import ImageDecodeError, decode_to_pillow
from curator_image.filters.base import cached_pictures
from curator_image.filters.picture import ImageHeader, Picture
from curator_image.image_batch import EXTENSION, IMAGE, ImageBatch
from curator_image.pixel_view import View

if TYPE_CHECKING:
    from PIL import Image

    EditedPicture: TypeAlias = tuple[Image.Image, str]

ResizeMode: TypeAlias = Literal[
    "keep_ratio", "keep_ratio_largest", "center_crop", "border", "stretch"
]
"""The shorter side gets the size; the longer side gets it; cover the size and crop; fit into the
size and add a border; or ignore the aspect ratio."""

Size: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Fit:
    """Scale the whole picture, then crop or pad it to the canvas."""

    scaled: Size
    canvas: Size

    def changes(self, size: Size) -> bool:
        return not self.scaled == self.canvas == size


def compute_fit(size: Size, target: Size, mode: ResizeMode, *, enlarge: bool) -> Fit:
    """Return how to turn an upright picture of `size` into the target size."""
    width, height = size
    if mode == "stretch":
        target = target if enlarge or (target[0] <= width and target[1] <= height) else size
        return Fit(target, target)
    scale = _scale_factor(size, target, mode)
    scale = scale if enlarge else min(scale, 1.0)
    scaled = _scale_size(size, scale)
    if mode == "center_crop":
        return Fit(scaled, (min(scaled[0], target[0]), min(scaled[1], target[1])))
    return Fit(scaled, target if mode == "border" else scaled)


def _scale_factor(size: Size, target: Size, mode: ResizeMode) -> float:
    if mode == "keep_ratio":
        return target[0] / min(size)
    if mode == "keep_ratio_largest":
        return target[0] / max(size)
    ratios = target[0] / size[0], target[1] / size[1]
    return max(ratios) if mode == "center_crop" else min(ratios)


def _scale_size(size: Size, scale: float) -> Size:
    width, height = (max(1, round(side * scale)) for side in size)
    return width, height


OutputFormat: TypeAlias = Literal["same", "jpeg", "png", "webp"]

FORMAT_EXTENSIONS = {"jpeg": "jpg", "png": "png", "webp": "webp"}


@dataclass(frozen=True)
class OutputEncoding:
    """An output format, and the quality of lossy formats."""

    format: OutputFormat = "same"
    quality: int = 95

    def format_for(self, found: str) -> str:
        """Return the output format for an input format.

        `same` turns other formats into PNG (lossless).
        """
        if self.format != "same":
            return self.format
        found = "jpeg" if found == "mpo" else found
        return found if found in FORMAT_EXTENSIONS else "png"

    def encode(self, picture: "Image.Image", kind: str) -> bytes:
        sink = io.BytesIO()
        if kind == "jpeg":
            picture.save(sink, "JPEG", quality=self.quality, subsampling=self._subsampling)
        elif kind == "webp":
            picture.save(sink, "WEBP", quality=self.quality)
        else:
            picture.save(sink, "PNG")
        return sink.getvalue()

    @property
    def _subsampling(self) -> int:
        """Chroma subsampling: none at high quality."""
        return 0 if self.quality >= 95 else 2


@dataclass
class PictureEditor(ProcessingStage[ImageBatch, ImageBatch], ABC):
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
    def encoding(self) -> OutputEncoding:
        return OutputEncoding(self.format, self.quality)

    @abstractmethod
    def edit(self, task: ImageBatch, row: int, known: Picture) -> "EditedPicture | None":
        """Return the changed picture and its format, or None if it needs no change."""

    def process(self, task: ImageBatch) -> list[ImageBatch | Rejected]:
        images: list[bytes | None] = []
        kinds: list[str] = []
        failed: dict[int, Exception] = {}
        for row, known in enumerate(cached_pictures(task)):
            try:
                edited = self.edit(task, row, known)
            except ImageDecodeError as error:
                failed[row] = error.without_traceback()
                continue
            images.append(None if edited is None else self.encoding.encode(*edited))
            kinds.append("" if edited is None else edited[1])
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
        extensions = [_new_extension(kind, kept) for kind, kept in zip(kinds, before, strict=True)]
        return batch.with_images(data, extensions)


def _new_extension(kind: str, before: str) -> str:
    """Return the extension for a format, keeping variants such as .jpeg or .left.JPG."""
    if not kind:
        return before
    front, dot, last = before.rpartition(".")
    if last.lower() == FORMAT_EXTENSIONS[kind] or (kind == "jpeg" and last.lower() == "jpeg"):
        return before
    return f"{front}{dot}{FORMAT_EXTENSIONS[kind]}"


def _place_on_canvas(scaled: "Image.Image", canvas: Size) -> "Image.Image":
    """Crop around the centre if larger, add a white border if smaller."""
    from PIL import Image

    if scaled.size == canvas:
        return scaled
    left, top = ((actual - needed) // 2 for actual, needed in zip(scaled.size, canvas, strict=True))
    if left >= 0 and top >= 0:
        return scaled.crop((left, top, left + canvas[0], top + canvas[1]))
    canvas_image = Image.new("RGB", canvas, "white")
    canvas_image.paste(scaled, (-left, -top))
    return canvas_image


@dataclass
class PictureFitter(PictureEditor, ABC):
    """Base class of stages that change sizes or formats regardless of content."""

    @abstractmethod
    def fit(self, header: ImageHeader) -> Fit:
        """Return how to fit a picture."""

    def edit(self, task: ImageBatch, row: int, known: Picture) -> "EditedPicture | None":
        header = known.header
        fit = self.fit(header)
        kind = self.encoding.format_for(header.format)
        has_right_format = self.format == "same" or kind == header.format
        if has_right_format and not fit.changes((header.width, header.height)):
            return None
        scaled = decode_to_pillow(known.encoded, View(box=fit.scaled, resampling="lanczos"))
        return _place_on_canvas(scaled, fit.canvas), kind


@dataclass
class ImageResizer(PictureFitter):
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

    def fit(self, header: ImageHeader) -> Fit:
        sides = self.size if isinstance(self.size, list) else [self.size]
        target = sides[0], sides[-1]
        size = header.width, header.height
        return compute_fit(size, target, self.mode, enlarge=self.enlarge)


@dataclass
class ImageReencoder(PictureFitter):
    """Re-encode pictures that have another format than the given one."""

    format: OutputFormat = field(default="jpeg", kw_only=True)
    """jpeg, png or webp. Pictures that already have this format keep their bytes."""

    def fit(self, header: ImageHeader) -> Fit:
        size = header.width, header.height
        return Fit(size, size)
