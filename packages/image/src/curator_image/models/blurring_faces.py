"""Blurring faces: what a detector found in pictures is made unrecognizable."""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from curator_core import ProcessingStage, Rejected

from curator_image.batches import EXTENSION, IMAGE, ImageBatch
from curator_image.decoding import Encoded, UndecodableError, picture

if TYPE_CHECKING:
    from PIL import Image

_FORMATS = {"png": "PNG", "webp": "WEBP", "gif": "PNG", "bmp": "PNG", "tif": "PNG", "tiff": "PNG"}
_ENDINGS = {"JPEG": "jpg", "PNG": "png", "WEBP": "webp"}


@dataclass
class FaceBlurrer(ProcessingStage[ImageBatch, ImageBatch]):
    """Blurs faces that `FaceDetector` found. Pictures without any keep their bytes.

    What had no losses before becomes PNG, all else JPEG or WebP of the given quality; a picture
    that was blurred is upright and has no EXIF data any more.
    """

    faces_field: str = "faces"
    """The column with the boxes of faces."""

    margin: float = 0.2
    """How much is blurred around a box, as a share of its sides."""

    quality: int = 92
    """Of the JPEG and WebP files that are written."""

    def inputs(self) -> Sequence[str]:
        return (IMAGE, EXTENSION, self.faces_field)

    def check(self) -> Iterable[str]:
        if self.margin < 0:
            yield f"margin is {self.margin:g}, but must be 0 or more"
        if not 1 <= self.quality <= 100:
            yield f"quality is {self.quality}, but must lie between 1 and 100"

    def process(self, task: ImageBatch) -> Iterable[ImageBatch | Rejected]:
        images: list[bytes] = []
        endings: list[str] = []
        failed: dict[int, Exception] = {}
        faces = task.data.column(self.faces_field).to_pylist()
        names = task.data.column(EXTENSION).to_pylist()
        for row, (data, found, ending) in enumerate(zip(task.encoded, faces, names, strict=True)):
            try:
                image, name = self._without_faces(data, found or (), ending or "")
            except UndecodableError as error:
                failed[row] = error
                continue
            images.append(image)
            endings.append(name)
        if not any(faces):
            yield task
            return
        batch, rejected = task.without(failed)
        yield batch.with_images(images, endings)
        yield from rejected

    def _without_faces(self, data: Encoded, faces: Sequence[Any], ending: str) -> tuple[bytes, str]:
        if not faces:
            return bytes(data), ending
        blurred = self.blurred(picture(data), faces)
        kind = _FORMATS.get(ending.rpartition(".")[2].lower(), "JPEG")
        sink = io.BytesIO()
        blurred.save(sink, kind, **({} if kind == "PNG" else {"quality": self.quality}))
        return sink.getvalue(), _ENDINGS[kind]

    def blurred(self, image: "Image.Image", faces: Sequence[Sequence[float]]) -> "Image.Image":
        """The picture with each box, and what is close around it, blurred beyond recognition."""
        from PIL import Image, ImageDraw, ImageFilter

        made = image.copy()
        for left, top, right, bottom in faces:
            wide, high = right - left, bottom - top
            box = (
                max(0, int((left - wide * self.margin) * image.width)),
                max(0, int((top - high * self.margin) * image.height)),
                min(image.width, int((right + wide * self.margin) * image.width) + 1),
                min(image.height, int((bottom + high * self.margin) * image.height) + 1),
            )
            part = made.crop(box)
            # Few large squares first: what is only blurred can in part be undone.
            squares = part.resize((8, 8)).resize(part.size, Image.Resampling.NEAREST)
            soft = squares.filter(ImageFilter.GaussianBlur(max(part.size) / 16))
            mask = Image.new("L", part.size)
            ImageDraw.Draw(mask).ellipse((0, 0, part.width - 1, part.height - 1), fill=255)
            made.paste(soft, box[:2], mask)
        return made
