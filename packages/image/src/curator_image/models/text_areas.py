"""Text areas: the share of a picture that text covers, and the text."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from curator_core import AnyStage, WorkerInfo
from curator_models.digests import digest_of
from curator_models.weights import Packaged, WeightsFile

from curator_image.decoding import Pixels
from curator_image.models.composing import ImageModel
from curator_image.models.inferring import PictureModel
from curator_image.models.thresholds import ScoreThreshold
from curator_image.views import View

_DETECTOR = Packaged("rapidocr", "models/PP-OCRv6_det_small.onnx")
_READER = Packaged("rapidocr", "models/PP-OCRv6_rec_small.onnx")
_FEWEST = 2
"""Minimum letters of a text. A disk of any size is read as an O."""
_RASTER = 256
"""Cells per side of the grid on which overlapping areas are counted once."""


@dataclass(kw_only=True)
class TextAreaModel(ImageModel):
    """Base class of stages that look for text in pictures."""

    score_field: str = "text_area"
    """Column for the share of the picture that text covers, from 0 to 1."""

    model_field: str | None = "text_area_model"
    """Column for the name of the model and the digest of its weights; null writes none."""

    short_side: int = 736
    """Length of the shorter side that larger pictures are scaled down to."""

    @abstractmethod
    def text_column(self) -> str | None:
        """Return the column for the text, or None."""

    def model_stages(self) -> Sequence[AnyStage]:
        return [
            TextAreas(
                score_field=self.score_field,
                text_field=self.text_column(),
                model_field=self.model_field,
                short_side=self.short_side,
                inference_batch_size=self.model_inference_batch_size,
            )
        ]


@dataclass(kw_only=True)
class TextAreaFilter(TextAreaModel):
    """Drop pictures that are covered with text: slides, screens, memes, watermarks.

    PaddleOCR's networks find and read the text (`rapidocr`, includes the weights). Unreadable areas
    do not count, because the detector also finds coloured areas.
    """

    max_area: float | None = 0.2
    """Maximum share to keep a picture; null only adds scores."""

    text_field: str | None = None
    """Column for the text, line by line."""

    def text_column(self) -> str | None:
        return self.text_field

    def other_stages(self) -> Sequence[AnyStage]:
        if self.max_area is None:
            return ()
        return [ScoreThreshold(self.score_field, max_score=self.max_area, what="text area")]


@dataclass(kw_only=True)
class TextAreas(PictureModel):
    """Find and read text."""

    score_field: str
    text_field: str | None
    short_side: int

    def sources(self) -> Sequence[WeightsFile]:
        return (
            WeightsFile(
                "finding text",
                "curator-image[ocr]",
                ("rapidocr", "onnxruntime"),
                packaged=_DETECTOR,
            ),
        )

    def load(self, worker: WorkerInfo) -> str:
        from rapidocr import RapidOCR

        self._reader = RapidOCR(
            params={
                "Global.log_level": "error",
                "EngineConfig.onnxruntime.intra_op_num_threads": max(1, int(worker.granted.cpus)),
                "EngineConfig.onnxruntime.use_cuda": bool(worker.gpu_ids),
            }
        )
        files = [file for network in (_DETECTOR, _READER) if (file := network.path())]
        return f"rapidocr sha256:{digest_of(files)}"

    def unload(self) -> None:
        vars(self).pop("_reader", None)

    def view(self) -> View:
        return View(short_side=self.short_side)

    def columns(self) -> Sequence[str]:
        return (self.score_field, *([self.text_field] if self.text_field else ()))

    def ask(self, pictures: Sequence[Pixels]) -> Sequence[Any]:
        return [self._read(pixels) for pixels in pictures]

    def _read(self, pixels: Pixels) -> tuple[float, str]:
        seen = self._reader(pixels[..., ::-1].copy())
        lines = () if seen.boxes is None else zip(seen.boxes, seen.txts or (), strict=True)
        texts = [(box, line) for box, line in lines if len(line.strip()) >= _FEWEST]
        height, width = pixels.shape[:2]
        area = covered([box for box, _ in texts], width, height)
        return area, "\n".join(line for _, line in texts)

    def described(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        columns = {self.score_field: pa.array([area for area, _ in answers], pa.float32())}
        if self.text_field is not None:
            columns[self.text_field] = pa.array([said for _, said in answers], pa.string())
        return columns


def covered(boxes: Sequence[Sequence[Sequence[float]]], width: int, height: int) -> float:
    """Return the share of a picture that the polygons cover."""
    import numpy as np
    from PIL import Image, ImageDraw

    raster = Image.new("1", (_RASTER, _RASTER))
    draw = ImageDraw.Draw(raster)
    for box in boxes:
        corners = [(x / width * _RASTER, y / height * _RASTER) for x, y in box]
        draw.polygon(corners, fill=1)
    return float(np.asarray(raster).mean())
