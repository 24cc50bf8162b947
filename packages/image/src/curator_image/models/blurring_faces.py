"""Face blurring: make detected faces unrecognizable."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from curator_image.batches import ImageBatch
from curator_image.decoding import picture
from curator_image.measuring.pictures import Picture
from curator_image.resizing.stages import PictureChanging

if TYPE_CHECKING:
    from PIL import Image

    from curator_image.resizing.stages import Changed


@dataclass
class FaceBlurrer(PictureChanging):
    """Blur the faces that `FaceDetector` found.

    Pictures without faces keep their bytes. A blurred picture is stored upright and without EXIF
    data.
    """

    faces_field: str = "faces"
    """Column with the boxes of faces."""

    margin: float = 0.2
    """Margin to blur around a box, as a share of its sides."""

    def inputs(self) -> Sequence[str]:
        return (*super().inputs(), self.faces_field)

    def check(self) -> Iterator[str]:
        if self.margin < 0:
            yield f"margin is {self.margin:g}, but must be 0 or more"
        yield from super().check()

    def changed(self, task: ImageBatch, row: int, known: Picture) -> "Changed | None":
        faces = task.data.column(self.faces_field)[row].as_py()
        if not faces:
            return None
        kind = self.encoding.format_for(known.header.format)
        return self.blurred(picture(known.encoded), faces), kind

    def blurred(self, image: "Image.Image", faces: Sequence[Sequence[float]]) -> "Image.Image":
        """Return the picture with each box and its margin blurred beyond recognition."""
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
            # Pixelate first: a blur alone can be partly reversed.
            squares = part.resize((8, 8)).resize(part.size, Image.Resampling.NEAREST)
            soft = squares.filter(ImageFilter.GaussianBlur(max(part.size) / 16))
            mask = Image.new("L", part.size)
            ImageDraw.Draw(mask).ellipse((0, 0, part.width - 1, part.height - 1), fill=255)
            made.paste(soft, box[:2], mask)
        return made
