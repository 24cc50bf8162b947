"""Captions from vision-language models of Hugging Face, run locally."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from curator_core import AnyStage, WorkerInfo
from curator_models.devices import choose_device, limit_threads
from curator_models.generation import PictureTextGenerator
from curator_models.hub import ModelSource
from curator_models.hub_options import HubOptions
from curator_models.weights import weight_files, weights_digest

from curator_image.decoding import Pixels
from curator_image.models.base import ImageModel, InferenceStage
from curator_image.models.endpoint_captioner import PROMPT
from curator_image.pixel_view import View


@dataclass(frozen=True)
class CaptionSource(ModelSource):
    """A vision-language model of transformers."""

    extra: ClassVar[str] = "curator-image[captions]"


@dataclass(kw_only=True)
class Captioner(HubOptions, ImageModel):
    """Caption each picture with a vision-language model of Hugging Face.

    Uses greedy decoding. Only models whose code is part of transformers are supported.
    """

    model: str
    """Folder of a model, or its name on Hugging Face, such as `Qwen/Qwen2.5-VL-3B-Instruct`."""

    prompt: str = PROMPT
    """The prompt for each picture. Leave it empty for models that only caption: they take it as a
    text prefix."""

    caption_field: str = "caption"
    """Column for the caption."""

    max_new_tokens: int = 128
    """Maximum length of a caption, in tokens."""

    model_inference_batch_size: int = 8
    """Number of pictures per model batch; reduced if the device runs out of memory."""

    short_side: int = 768
    """Length of the shorter side that larger pictures are scaled down to."""

    model_field: str | None = "caption_model"
    """Column for the name of the model and the digest of its weights; null writes none."""

    def model_stages(self) -> Sequence[AnyStage]:
        return [
            ModelCaptions(
                source=self.model_source(CaptionSource, self.model),
                prompt=self.prompt,
                caption_field=self.caption_field,
                max_new_tokens=self.max_new_tokens,
                short_side=self.short_side,
                inference_batch_size=self.model_inference_batch_size,
                model_field=self.model_field,
            )
        ]


@dataclass(kw_only=True)
class ModelCaptions(InferenceStage):
    """Caption pictures with a model."""

    source: CaptionSource
    prompt: str
    caption_field: str
    max_new_tokens: int
    short_side: int

    def sources(self) -> Sequence[CaptionSource]:
        return (self.source,)

    def load(self, worker: WorkerInfo) -> str:
        folder = self.source.folder()
        limit_threads(worker)
        self._generator = PictureTextGenerator(
            folder, choose_device(worker, self.resources, self.name)
        )
        return f"{self.source.name} sha256:{weights_digest(weight_files(folder))}"

    def unload(self) -> None:
        vars(self).pop("_generator", None)

    def view(self) -> View:
        return View(short_side=self.short_side)

    def columns(self) -> Sequence[str]:
        return (self.caption_field,)

    def predict(self, pictures: Sequence[Pixels]) -> Sequence[Any]:
        from PIL import Image

        rows = [[Image.fromarray(pixels)] for pixels in pictures]
        return self._generator.generate(rows, self.prompt, self.max_new_tokens)

    def answer_columns(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        return {self.caption_field: pa.array(answers, pa.string())}
