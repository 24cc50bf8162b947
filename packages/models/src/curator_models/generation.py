"""Text generation with transformers models, about pictures or from prompts, decoded greedily."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from curator_models.loading import check_vocabulary, load_pretrained
from curator_models.transformers_compat import import_transformers, loading_errors

if TYPE_CHECKING:
    import torch


class TextGenerator:
    """Base class: a model with the processor that prepares its inputs."""

    model_class: ClassVar[str]
    processor_class: ClassVar[str]

    def __init__(self, folder: Path, device: "torch.device") -> None:
        self._device = device
        with loading_errors(folder):
            processor = getattr(import_transformers(), self.processor_class).from_pretrained(
                str(folder), trust_remote_code=False
            )
        self._processor: Any = processor
        self._tokenizer: Any = getattr(processor, "tokenizer", processor)
        check_vocabulary(self._tokenizer, folder)
        self._tokenizer.padding_side = "left"
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        network = load_pretrained(self.model_class, folder, as_saved=True)
        self._network = network.to(device).eval()

    def _generate(self, inputs: Any, max_tokens: int) -> list[str]:
        """Return the generated texts without the prompts."""
        import torch

        given = {name: self._to_device(values) for name, values in inputs.items()}
        with torch.inference_mode():
            written = self._network.generate(**given, max_new_tokens=max_tokens, do_sample=False)
        ids = given.get("input_ids")
        if ids is not None and torch.equal(written[:, : ids.shape[1]], ids):
            written = written[:, ids.shape[1] :]  # most models repeat the prompt
        answers = self._tokenizer.batch_decode(written, skip_special_tokens=True)
        return [str(answer).strip() for answer in answers]

    def _to_device(self, values: Any) -> Any:
        """Move values to the device; pixels also get the precision of the model's weights."""
        dtype = self._network.dtype if values.is_floating_point() else values.dtype
        return values.to(self._device, dtype)

    @property
    def _has_chat_template(self) -> bool:
        return bool(getattr(self._processor, "chat_template", None))


class PictureTextGenerator(TextGenerator):
    """Generate a text about each row of pictures, which are images of Pillow."""

    model_class = "AutoModelForImageTextToText"
    processor_class = "AutoProcessor"

    def generate(self, rows: Sequence[Sequence[Any]], prompt: str, max_tokens: int) -> list[str]:
        """Return an answer to the prompt for each row."""
        inputs = self._processor(**self._questions(rows, prompt), return_tensors="pt")
        return self._generate(inputs, max_tokens)

    def _questions(self, rows: Sequence[Sequence[Any]], prompt: str) -> dict[str, Any]:
        """Return pictures and prompts in the form that the model expects: a chat, or plain text.

        A model without chats sees one picture of each row, from its middle.
        """
        if not self._has_chat_template:
            texts = {"text": [prompt] * len(rows), "padding": True} if prompt else {}
            return {"images": [row[len(row) // 2] for row in rows], **texts}
        return {
            "images": [list(row) for row in rows],
            "text": [self._question(len(row), prompt) for row in rows],
            "padding": True,
        }

    def _question(self, pictures: int, prompt: str) -> str:
        content = [*[{"type": "image"}] * pictures, {"type": "text", "text": prompt}]
        return str(
            self._processor.apply_chat_template(
                [{"role": "user", "content": content}], add_generation_prompt=True
            )
        )


class PromptTextGenerator(TextGenerator):
    """Answer prompts if the model has a chat template; otherwise, continue them."""

    model_class = "AutoModelForCausalLM"
    processor_class = "AutoTokenizer"

    def generate(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        """Return an answer to each prompt."""
        texts = [self._question(prompt) for prompt in prompts]
        inputs = self._processor(texts, padding=True, return_tensors="pt")
        return self._generate(inputs, max_tokens)

    def _question(self, prompt: str) -> str:
        if not self._has_chat_template:
            return prompt
        return str(
            self._processor.apply_chat_template(
                [{"role": "user", "content": prompt}], add_generation_prompt=True, tokenize=False
            )
        )
