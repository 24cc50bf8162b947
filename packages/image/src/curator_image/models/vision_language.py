"""Vision-language models of Hugging Face: they look at a picture and write about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from curator_core import AnyStage, WorkerInfo
from curator_models.devices import device_of, keep_to_cores
from curator_models.digests import digest_of, weights_in
from curator_models.importing import transformers
from curator_models.loading import pretrained, told

from curator_image.decoding import Pixels
from curator_image.models.captioning import PROMPT
from curator_image.models.composing import ImageModel
from curator_image.models.inferring import PictureModel
from curator_image.models.sources import CaptionSource
from curator_image.views import View


@dataclass(kw_only=True)
class Captioner(ImageModel):
    """Adds what a vision-language model of Hugging Face writes about each picture.

    It always writes what is likeliest. Only models whose code is part of transformers are loaded.
    """

    model: str
    """The folder of a model, or its name at Hugging Face, such as `Qwen/Qwen2.5-VL-3B-Instruct`."""

    prompt: str = PROMPT
    """What is asked of each picture; models that only caption are given it as a beginning, and
    want it empty."""

    caption_field: str = "caption"
    """A column for what it writes."""

    max_new_tokens: int = 128
    """How long a caption may be."""

    model_inference_batch_size: int = 8
    """How many pictures go through the model together, until that is more than the device holds."""

    short_side: int = 768
    """The shorter side that the model is shown pictures with, if they are larger."""

    model_field: str | None = "caption_model"
    """A column for the name of the model, and the digest of its weights; null for none."""

    revision: str | None = None
    """The version at Hugging Face: a branch, a tag, a commit."""

    cache_dir: str | None = None
    """Where downloads are kept; the usual place of Hugging Face unless given."""

    token_variable: str | None = None
    """The environment variable that holds a token of Hugging Face; HF_TOKEN needs no naming."""

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
    """Shows pictures to a model, and reads what it writes."""

    source: CaptionSource
    prompt: str
    caption_field: str
    max_new_tokens: int
    short_side: int

    def sources(self) -> Sequence[CaptionSource]:
        return (self.source,)

    def load(self, worker: WorkerInfo) -> str:
        folder = self.source.folder()
        self._device = device_of(worker, self.resources, self.name)
        keep_to_cores(worker)
        self._processor = processor_in(folder)
        network = pretrained("AutoModelForImageTextToText", folder, as_saved=True)
        self._network = network.to(self._device).eval()
        return f"{self.source.name} sha256:{digest_of(weights_in(folder))}"

    def unload(self) -> None:
        for name in ("_network", "_processor"):
            vars(self).pop(name, None)

    def view(self) -> View:
        return View(short_side=self.short_side)

    def columns(self) -> Sequence[str]:
        return (self.caption_field,)

    def ask(self, pictures: Sequence[Pixels]) -> Sequence[Any]:
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
            written = written[:, ids.shape[1] :]  # most repeat the question before they answer
        answers = self._processor.batch_decode(written, skip_special_tokens=True)
        return [str(answer).strip() for answer in answers]

    def _questions(self, pictures: Sequence[Any]) -> dict[str, Any]:
        """Pictures and texts as the model's kind wants them: in a chat, or as a beginning."""
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

    def described(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        return {self.caption_field: pa.array(answers, pa.string())}


def processor_in(folder: Path) -> Any:
    """What prepares pictures and texts for a model, filling up before them, not behind."""
    with told(folder):
        found = transformers().AutoProcessor.from_pretrained(str(folder), trust_remote_code=False)
    tokenizer = getattr(found, "tokenizer", found)
    tokenizer.padding_side = "left"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return found
