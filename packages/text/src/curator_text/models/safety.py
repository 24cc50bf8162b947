"""Safety: a guard model reads a text within its prompt, and writes its verdict."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from curator_models.loading import pretrained, tokenizer_in

from curator_text.models.adapters import add_adapter
from curator_text.models.composing import TextModel
from curator_text.models.inferring import ModelStage
from curator_text.models.labelling import LabelFilter, label_filters
from curator_text.models.locating import ModelSource
from curator_text.models.prompts import PLACE, Prompt
from curator_text.models.token_columns import Side

SAFE, UNKNOWN = "safe", "unknown"
_CATEGORY = re.compile(r"\b[OS]\d{1,2}\b")
DEFENSIVE = "nvidia/Aegis-AI-Content-Safety-LlamaGuard-Defensive-1.0"


@dataclass(kw_only=True)
class AegisClassifier(TextModel):
    """Whether a text is safe, by a guard model of Llama Guard's kind with NVIDIA's Aegis adapter.

    The label is `safe`, the category that the model names for an unsafe text (O1 to O13), or
    `unknown` where its verdict cannot be read. The prompt of Aegis is on its page at Hugging Face:
    put it into `prompt_template`. Without it the model is asked by its own template for chats.
    """

    model: str = "meta-llama/LlamaGuard-7b"
    """The folder of a causal language model, or its name at Hugging Face."""

    adapter: str | None = DEFENSIVE
    """A LoRA adapter to add: a folder, a name at Hugging Face, or null for none."""

    prompt_template: str | None = None
    """The prompt, with {text} in the place of the text."""

    label_field: str = "aegis_pred"
    """A column for the label."""

    verdict_field: str | None = None
    """A column for the verdict as the model wrote it."""

    filter_by: list[str] | None = None
    """The labels to keep, such as [safe]; all documents stay unless given."""

    max_new_tokens: int = 100
    """How long a verdict may be."""

    max_chars: int | None = 6000
    """How much of a text is tokenized; the rest is not looked at."""

    max_seq_length: int | None = 4096
    """How many tokens the model is shown, the prompt among them."""

    model_inference_batch_size: int = 64
    """How many texts go through the model together, until that is more than the device holds."""

    def prompt(self) -> Prompt:
        return Prompt(self.prompt_template or PLACE, chat=self.prompt_template is None)

    def model_stage(self) -> ModelStage:
        return SafetyModel(
            self.source_of(self.model),
            None if self.adapter is None else self.source_of(self.adapter),
            self.label_field,
            self.verdict_field,
            self.max_new_tokens,
            inference=self.inference(),
        )

    def filters(self) -> Sequence[LabelFilter]:
        return label_filters(self.label_field, self.filter_by)


@dataclass
class SafetyModel(ModelStage):
    """Adds the verdict of a causal language model. What it writes is always its likeliest."""

    padding_side: ClassVar[Side] = "left"  # it goes on writing at the right

    adapter: ModelSource | None
    label_field: str
    verdict_field: str | None
    max_new_tokens: int

    def outputs(self) -> Sequence[str]:
        return [self.label_field, *([self.verdict_field] if self.verdict_field else [])]

    def others(self) -> Sequence[ModelSource]:
        return () if self.adapter is None else (self.adapter,)

    def load(self, folder: Path) -> Any:
        self._tokenizer = tokenizer_in(folder)
        model = pretrained("AutoModelForCausalLM", folder, as_saved=True)
        return model if self.adapter is None else add_adapter(model, self.adapter.folder())

    def ask(self, network: Any, ids: Any, mask: Any) -> Sequence[Any]:
        written = network.generate(
            input_ids=ids,
            attention_mask=mask,
            max_new_tokens=self.max_new_tokens,
            do_sample=False,
            pad_token_id=self._pad,
        )
        answers = written[:, ids.shape[1] :]
        return list(self._tokenizer.batch_decode(answers, skip_special_tokens=True))

    def described(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        labels = [None if answer is None else verdict_of(answer) for answer in answers]
        columns = {self.label_field: pa.array(labels, pa.string())}
        if self.verdict_field is not None:
            columns[self.verdict_field] = pa.array(answers, pa.string())
        return columns


def verdict_of(written: str) -> str:
    """The label that a verdict stands for: `safe`, or the first category behind `unsafe`."""
    lines = written.strip().splitlines()
    word = lines[0].strip().lower() if lines else ""
    if word == SAFE:
        return SAFE
    category = _CATEGORY.search(written) if word.startswith("unsafe") else None
    return category[0] if category else UNKNOWN
