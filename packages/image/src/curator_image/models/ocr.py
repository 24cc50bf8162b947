"""Text in pictures: the share that it covers, and the words of watermarks."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from curator_core import AnyStage, Dropped, InputError, ProcessingStage, WorkerInfo
from curator_models.weights import PackagedFile, WeightsFile, weights_digest

from curator_image.decoding import Pixels
from curator_image.filters.values import ScoreThreshold, split_by_reason
from curator_image.image_batch import ImageBatch
from curator_image.models.base import ImageModel, InferenceStage
from curator_image.pixel_view import View

_DETECTOR = PackagedFile("rapidocr", "models/PP-OCRv6_det_small.onnx")
_READER = PackagedFile("rapidocr", "models/PP-OCRv6_rec_small.onnx")
_MIN_LETTERS = 2
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
class TextAreas(InferenceStage):
    """Find and read text."""

    score_field: str
    text_field: str | None
    short_side: int

    def sources(self) -> Sequence[WeightsFile]:
        return (
            WeightsFile(
                "text detection",
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
        return f"rapidocr sha256:{weights_digest(files)}"

    def unload(self) -> None:
        vars(self).pop("_reader", None)

    def view(self) -> View:
        return View(short_side=self.short_side)

    def columns(self) -> Sequence[str]:
        return (self.score_field, *([self.text_field] if self.text_field else ()))

    def predict(self, pictures: Sequence[Pixels]) -> Sequence[Any]:
        return [self._read(pixels) for pixels in pictures]

    def _read(self, pixels: Pixels) -> tuple[float, str]:
        seen = self._reader(pixels[..., ::-1].copy())
        lines = () if seen.boxes is None else zip(seen.boxes, seen.txts or (), strict=True)
        texts = [(box, line) for box, line in lines if len(line.strip()) >= _MIN_LETTERS]
        height, width = pixels.shape[:2]
        area = covered_share([box for box, _ in texts], width, height)
        return area, "\n".join(line for _, line in texts)

    def answer_columns(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        columns = {self.score_field: pa.array([area for area, _ in answers], pa.float32())}
        if self.text_field is not None:
            columns[self.text_field] = pa.array([text for _, text in answers], pa.string())
        return columns


def covered_share(boxes: Sequence[Sequence[Sequence[float]]], width: int, height: int) -> float:
    """Return the share of a picture that the polygons cover."""
    import numpy as np
    from PIL import Image, ImageDraw

    raster = Image.new("1", (_RASTER, _RASTER))
    draw = ImageDraw.Draw(raster)
    for box in boxes:
        corners = [(x / width * _RASTER, y / height * _RASTER) for x, y in box]
        draw.polygon(corners, fill=1)
    return float(np.asarray(raster).mean())


WORDS = (
    "123rf", "adobe stock", "alamy", "bigstock", "can stock photo", "deposit photos", "dreamstime",
    "fotolia", "freepik", "getty images", "istock", "sample photo", "shutterstock", "stock photo",
    "vectorstock", "watermark",
)  # fmt: skip


@dataclass(kw_only=True)
class WatermarkFilter(TextAreaModel):
    """Drop pictures that show words of watermarks, such as names of stock agencies.

    PaddleOCR's networks read the text (`rapidocr`, includes the weights). Faint watermarks, and
    those without words, are missed.
    """

    words: list[str] = field(default_factory=lambda: list(WORDS))
    """Words to look for. Case, spaces and punctuation are ignored."""

    watermark_field: str = "watermark"
    """Column for the word that was found; null if there is none."""

    text_field: str = "text_seen"
    """Column for all text that was read, line by line."""

    drops: bool = True
    """Drop pictures with a watermark; otherwise only mark them."""

    def text_column(self) -> str:
        return self.text_field

    def other_stages(self) -> Sequence[AnyStage]:
        return [
            WatermarkWords(self.text_field, tuple(self.words), self.watermark_field, self.drops)
        ]


@dataclass
class WatermarkWords(ProcessingStage[ImageBatch, ImageBatch]):
    """Look for words in the text that was read."""

    text_field: str
    words: tuple[str, ...]
    watermark_field: str
    drops: bool

    def inputs(self) -> Sequence[str]:
        return (self.text_field,)

    def outputs(self) -> Sequence[str]:
        return (self.watermark_field,)

    def check(self) -> Iterable[str]:
        if not self.words:
            yield "words is empty; list words of watermarks, or remove the option"
        for word in self.words:
            if not _letters_and_digits(word):
                yield f"words contains {word!r}, which has neither letters nor digits"

    def process(self, task: ImageBatch) -> list[ImageBatch | Dropped]:
        texts = task.data.column(self.text_field)
        if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
            raise InputError(f"column {self.text_field!r} is {texts.type}, but must be text")
        found = [self.mark_in(text) for text in texts.to_pylist()]
        marked = task.with_columns({self.watermark_field: pa.array(found, pa.string())})
        reasons = [f"watermark: {word}" if word else None for word in found]
        return split_by_reason(marked, reasons) if self.drops else [marked]

    def mark_in(self, text: str | None) -> str | None:
        """Return the first of the words in a text, ignoring case, spaces and punctuation."""
        bare = _letters_and_digits(text or "")
        return next((word for word in self.words if _letters_and_digits(word) in bare), None)


def _letters_and_digits(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())
