"""Text generation with transformers models, from pictures or text prompts."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import torch
from curator_models.batching import MicroBatches
from curator_models.importing import transformers
from curator_models.loading import pretrained, refuse_wordless, told

from curator_video.analysis.observing import Pixels
from curator_video.captioning.describing import Told

Preparing: TypeAlias = Callable[[Sequence[int]], Any]
"""Build the model inputs for the questions at these indices."""


class Writer:
    """A model, its processor, and its batch size."""

    def __init__(self, folder: Path, device: "torch.device", batch: int, kinds: Sequence[str]):
        model, preparer = kinds
        self._folder = folder
        self._device = device
        self._batches = MicroBatches(
            batch, by_length=False, alone=lambda _: "the device has no room for one window alone"
        )
        with told(folder):
            found = getattr(transformers(), preparer).from_pretrained(
                str(folder), trust_remote_code=False
            )
        self.preparer: Any = found
        self.tokenizer: Any = getattr(found, "tokenizer", found)
        refuse_wordless(self.tokenizer, folder)
        self.tokenizer.padding_side = "left"
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        self._network = pretrained(model, folder, as_saved=True).to(device).eval()

    def _written(self, count: int, prepare: Preparing, most: int) -> list[Told]:
        def forward(places: Sequence[int]) -> Sequence[str]:
            given = prepare(places)
            return self._answers({name: self._placed(one) for name, one in given.items()}, most)

        answers, failed = self._batches.run([1] * count, forward)
        return [failed.get(place, answers[place]) for place in range(count)]

    def _placed(self, values: Any) -> Any:
        """Move values to the device; pictures also get the precision of the model's weights."""
        kind = self._network.dtype if values.is_floating_point() else values.dtype
        return values.to(self._device, kind)

    def _answers(self, given: Any, most: int) -> list[str]:
        with torch.inference_mode():
            written = self._network.generate(**given, max_new_tokens=most, do_sample=False)
        ids = given.get("input_ids")
        if ids is not None and torch.equal(written[:, : ids.shape[1]], ids):
            written = written[:, ids.shape[1] :]  # most models repeat the prompt before the answer
        answers = self.tokenizer.batch_decode(written, skip_special_tokens=True)
        return [str(answer).strip() for answer in answers]


class PictureWriter(Writer):
    """Generate text about sequences of pictures."""

    def __init__(self, folder: Path, device: "torch.device", batch: int) -> None:
        super().__init__(folder, device, batch, ("AutoModelForImageTextToText", "AutoProcessor"))

    def written(self, shown: Sequence[Sequence[Pixels]], prompt: str, most: int) -> list[Told]:
        def prepare(places: Sequence[int]) -> Any:
            rows = [shown[place] for place in places]
            return self.preparer(**self._questions(rows, prompt), return_tensors="pt")

        return self._written(len(shown), prepare, most)

    def _questions(self, rows: Sequence[Sequence[Pixels]], prompt: str) -> dict[str, Any]:
        """Return pictures and prompts in the form that the model expects: a chat, or plain text."""
        if not getattr(self.preparer, "chat_template", None):
            texts = {"text": [prompt] * len(rows), "padding": True} if prompt else {}
            return {"images": [_image(row[len(row) // 2]) for row in rows], **texts}
        texts = {"text": [self._question(len(row), prompt) for row in rows], "padding": True}
        return {"images": [[_image(pixels) for pixels in row] for row in rows], **texts}

    def _question(self, pictures: int, prompt: str) -> str:
        content = [*[{"type": "image"}] * pictures, {"type": "text", "text": prompt}]
        return str(
            self.preparer.apply_chat_template(
                [{"role": "user", "content": content}], add_generation_prompt=True
            )
        )


class TextWriter(Writer):
    """Continue a text, or answer it if the model has a chat template."""

    def __init__(self, folder: Path, device: "torch.device", batch: int) -> None:
        super().__init__(folder, device, batch, ("AutoModelForCausalLM", "AutoTokenizer"))

    def written(self, prompts: Sequence[str], most: int) -> list[Told]:
        def prepare(places: Sequence[int]) -> Any:
            texts = [self._question(prompts[place]) for place in places]
            return self.preparer(texts, padding=True, return_tensors="pt")

        return self._written(len(prompts), prepare, most)

    def _question(self, prompt: str) -> str:
        if not getattr(self.preparer, "chat_template", None):
            return prompt
        return str(
            self.preparer.apply_chat_template(
                [{"role": "user", "content": prompt}], add_generation_prompt=True, tokenize=False
            )
        )


def _image(pixels: Pixels) -> Any:
    from PIL import Image

    return Image.fromarray(pixels)
