"""Text generation with transformers models, from frames or text prompts."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import torch
from curator_models.batching import MicroBatches
from curator_models.loading import check_vocabulary, load_pretrained
from curator_models.transformers_compat import import_transformers, loading_errors

from curator_video.analysis.measurements import Pixels
from curator_video.captions.base import CaptionResult

InputPreparation: TypeAlias = Callable[[Sequence[int]], Any]
"""Build the model inputs for the questions at these indices."""


class TextGenerator:
    """A model, its processor, and its batch size."""

    def __init__(self, folder: Path, device: "torch.device", batch: int, kinds: Sequence[str]):
        model, preparer = kinds
        self._folder = folder
        self._device = device
        self._batches = MicroBatches(
            batch,
            sort_by_length=False,
            too_long_message=lambda _: "a single window does not fit into the memory of the device",
        )
        with loading_errors(folder):
            found = getattr(import_transformers(), preparer).from_pretrained(
                str(folder), trust_remote_code=False
            )
        self.preparer: Any = found
        self.tokenizer: Any = getattr(found, "tokenizer", found)
        check_vocabulary(self.tokenizer, folder)
        self.tokenizer.padding_side = "left"
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        self._network = load_pretrained(model, folder, as_saved=True).to(device).eval()

    def _generate(
        self, count: int, prepare: InputPreparation, max_tokens: int
    ) -> list[CaptionResult]:
        def forward(places: Sequence[int]) -> Sequence[str]:
            given = prepare(places)
            return self._decode(
                {name: self._to_device(one) for name, one in given.items()}, max_tokens
            )

        answers, failed = self._batches.run([1] * count, forward)
        return [failed.get(place, answers[place]) for place in range(count)]

    def _to_device(self, values: Any) -> Any:
        """Move values to the device; frames also get the precision of the model's weights."""
        dtype = self._network.dtype if values.is_floating_point() else values.dtype
        return values.to(self._device, dtype)

    def _decode(self, given: Any, max_tokens: int) -> list[str]:
        with torch.inference_mode():
            written = self._network.generate(**given, max_new_tokens=max_tokens, do_sample=False)
        ids = given.get("input_ids")
        if ids is not None and torch.equal(written[:, : ids.shape[1]], ids):
            written = written[:, ids.shape[1] :]  # most models repeat the prompt
        answers = self.tokenizer.batch_decode(written, skip_special_tokens=True)
        return [str(answer).strip() for answer in answers]


class FrameTextGenerator(TextGenerator):
    """Generate text about sequences of frames."""

    def __init__(self, folder: Path, device: "torch.device", batch: int) -> None:
        super().__init__(folder, device, batch, ("AutoModelForImageTextToText", "AutoProcessor"))

    def generate(
        self, windows: Sequence[Sequence[Pixels]], prompt: str, max_tokens: int
    ) -> list[CaptionResult]:
        def prepare(places: Sequence[int]) -> Any:
            rows = [windows[place] for place in places]
            return self.preparer(**self._questions(rows, prompt), return_tensors="pt")

        return self._generate(len(windows), prepare, max_tokens)

    def _questions(self, rows: Sequence[Sequence[Pixels]], prompt: str) -> dict[str, Any]:
        """Return frames and prompts in the form that the model expects: a chat, or plain text."""
        if not getattr(self.preparer, "chat_template", None):
            texts = {"text": [prompt] * len(rows), "padding": True} if prompt else {}
            return {"images": [_to_image(row[len(row) // 2]) for row in rows], **texts}
        texts = {"text": [self._question(len(row), prompt) for row in rows], "padding": True}
        return {"images": [[_to_image(pixels) for pixels in row] for row in rows], **texts}

    def _question(self, frames: int, prompt: str) -> str:
        content = [*[{"type": "image"}] * frames, {"type": "text", "text": prompt}]
        return str(
            self.preparer.apply_chat_template(
                [{"role": "user", "content": content}], add_generation_prompt=True
            )
        )


class PromptTextGenerator(TextGenerator):
    """Continue a text, or answer it if the model has a chat template."""

    def __init__(self, folder: Path, device: "torch.device", batch: int) -> None:
        super().__init__(folder, device, batch, ("AutoModelForCausalLM", "AutoTokenizer"))

    def generate(self, prompts: Sequence[str], max_tokens: int) -> list[CaptionResult]:
        def prepare(places: Sequence[int]) -> Any:
            texts = [self._question(prompts[place]) for place in places]
            return self.preparer(texts, padding=True, return_tensors="pt")

        return self._generate(len(prompts), prepare, max_tokens)

    def _question(self, prompt: str) -> str:
        if not getattr(self.preparer, "chat_template", None):
            return prompt
        return str(
            self.preparer.apply_chat_template(
                [{"role": "user", "content": prompt}], add_generation_prompt=True, tokenize=False
            )
        )


def _to_image(pixels: Pixels) -> Any:
    from PIL import Image

    return Image.fromarray(pixels)
