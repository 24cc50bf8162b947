"""Captions from vision-language models of Hugging Face, run locally."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from curator_core import AnyStage, WorkerInfo
from curator_models.devices import choose_device, limit_threads
from curator_models.hub import ModelSource
from curator_models.loading import load_pretrained
from curator_models.transformers_compat import import_transformers, loading_errors
from curator_models.weights import weight_files, weights_digest

from curator_image.decoding import Pixels
from curator_image.models.base import ImageModel, PictureModel
from curator_image.models.endpoint_captioner import PROMPT
from curator_image.pixel_view import View


@dataclass(frozen=True)
class CaptionSource(ModelSource):
    """A vision-language model of transformers."""

    extra: ClassVar[str] = "curator-image[captions]"


@dataclass(kw_only=True)
class Captioner(ImageModel):
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

    revision: str | None = None
    """Revision on Hugging Face: a branch, tag or commit."""

    cache_dir: str | None = None
    """Folder for downloads. The cache of Hugging Face by default."""

    token_variable: str | None = None
    """Environment variable with a Hugging Face token. HF_TOKEN is used by default."""

    def model_stages(self) -> Sequence[AnyStage]:
        return [
            CaptionWriter(
                source=CaptionSource(
                    self.model, self.revision, self.cache_dir, self.token_variable
                ),
                prompt=self.prompt,
                caption_field=self.caption_field,
                max_new_tokens=self.max_new_tokens,
                short_side=self.short_side,
                inference_batch_size=self.model_inference_batch_size,
                model_field=self.model_field,
            )
        ]


@dataclass(kw_only=True)
class CaptionWriter(PictureModel):
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
        self._device = choose_device(worker, self.resources, self.name)
        limit_threads(worker)
        self._processor = load_processor(folder)
        network = load_pretrained("AutoModelForImageTextToText", folder, as_saved=True)
        self._network = network.to(self._device).eval()
        return f"{self.source.name} sha256:{weights_digest(weight_files(folder))}"

    def unload(self) -> None:
        for name in ("_network", "_processor"):
            vars(self).pop(name, None)

    def view(self) -> View:
        return View(short_side=self.short_side)

    def columns(self) -> Sequence[str]:
        return (self.caption_field,)

    def predict(self, pictures: Sequence[Pixels]) -> Sequence[Any]:
        import torch
        from PIL import Image

        shown = [Image.fromarray(pixels) for pixels in pictures]
        given = self._processor(**self._questions(shown), return_tensors="pt")
        given = given.to(self._device, self._network.dtype)
        with torch.inference_mode():
            written = self._network.generate(
                **given, max_new_tokens=self.max_new_tokens, do_sample=False
            )
        ids = given.get("input_ids")
        if ids is not None and torch.equal(written[:, : ids.shape[1]], ids):
            written = written[:, ids.shape[1] :]  # most models repeat the prompt before the answer
        answers = self._processor.batch_decode(written, skip_special_tokens=True)
        return [str(answer).strip() for answer in answers]

    def _questions(self, pictures: Sequence[Any]) -> dict[str, Any]:
        """Return pictures and prompts in the form that the model expects: a chat, or plain text."""
        if not getattr(self._processor, "chat_template", None):
            texts = {"text": [self.prompt] * len(pictures), "padding": True} if self.prompt else {}
            return {"images": list(pictures), **texts}
        content = [{"type": "image"}, {"type": "text", "text": self.prompt}]
        question = self._processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True
        )
        return {
            "images": [[one] for one in pictures],
            "text": [question] * len(pictures),
            "padding": True,
        }

    def answer_columns(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        return {self.caption_field: pa.array(answers, pa.string())}


def load_processor(folder: Path) -> Any:
    """Load the processor of pictures and texts, with padding on the left."""
    with loading_errors(folder):
        found = import_transformers().AutoProcessor.from_pretrained(
            str(folder), trust_remote_code=False
        )
    tokenizer = getattr(found, "tokenizer", found)
    tokenizer.padding_side = "left"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return found
