"""Guarding: whether an instruction was written to poison a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import AnyStage, DocumentBatch, Dropped, ProcessingStage
from curator_models.loading import pretrained, state_in
from curator_models.locating import ModelError

from curator_text.models.adapters import add_adapter
from curator_text.models.composing import TextModel
from curator_text.models.inferring import ModelStage
from curator_text.models.labelling import NO_LABEL, numbers
from curator_text.models.locating import ModelSource
from curator_text.models.safety import DEFENSIVE

THRESHOLD = 0.5
_LAYERS = ("input_layer", "hidden_layer_0", "hidden_layer_1", "hidden_layer_2")
_WEIGHTS = [f"{layer}.{part}" for layer in _LAYERS for part in ("weight", "bias")]


@dataclass(kw_only=True)
class InstructionDataGuard(TextModel):
    """Whether an instruction was written to poison a model, by NVIDIA's Instruction-Data-Guard.

    A small network judges what a guard model (Llama Guard with the Aegis adapter) makes of the
    last token; a score above 0.5 means poison.
    """

    model: str = "nvidia/instruction-data-guard"
    """The folder of the small network, or its name at Hugging Face."""

    base_model: str = "meta-llama/LlamaGuard-7b"
    """The folder of the guard model, or its name at Hugging Face."""

    adapter: str | None = DEFENSIVE
    """A LoRA adapter to add to the guard model: a folder, a name, or null for none."""

    label_field: str = "is_poisoned"
    """A column for the decision: true or false."""

    score_field: str = "instruction_data_guard_poisoning_score"
    """A column for the score, from 0 to 1."""

    drop_poisoned: bool = False
    """Drop what is poisoned, and what is missing or blank."""

    max_chars: int | None = 6000
    """How much of a text is tokenized; the rest is not looked at."""

    max_seq_length: int | None = 4096
    """How many tokens of a text the model is shown."""

    model_inference_batch_size: int = 64
    """How many texts go through the model together, until that is more than the device holds."""

    def tokenizer_source(self) -> ModelSource:
        return self.source_of(self.base_model)

    def model_stage(self) -> ModelStage:
        return GuardModel(
            self.source_of(self.model),
            self.source_of(self.base_model),
            None if self.adapter is None else self.source_of(self.adapter),
            self.label_field,
            self.score_field,
            inference=self.inference(),
        )

    def decompose(self) -> Sequence[AnyStage]:
        parts = super().decompose()
        if not self.drop_poisoned:
            return parts
        return [*parts, PoisonFilter(self.label_field).with_(name=self.name)]


@dataclass
class GuardModel(ModelStage):
    """Adds how surely a text is poisoned."""

    base_model: ModelSource
    adapter: ModelSource | None
    label_field: str
    score_field: str

    def outputs(self) -> Sequence[str]:
        return (self.score_field, self.label_field)

    def others(self) -> Sequence[ModelSource]:
        return [self.base_model, *([self.adapter] if self.adapter else [])]

    def load(self, folder: Path) -> Any:
        from curator_text.models.networks import GuardLayers

        state = state_in(folder)
        if lacking := [name for name in _WEIGHTS if name not in state]:
            raise ModelError(
                f"{folder} holds no Instruction-Data-Guard: its weights lack {lacking[0]}"
            )
        backbone = pretrained("AutoModel", self.base_model.folder(), as_saved=True)
        if self.adapter is not None:
            add_adapter(backbone, self.adapter.folder())
        wanted, there = state["input_layer.weight"].shape[1], backbone.config.hidden_size
        if wanted != there:
            raise ModelError(
                f"{folder} is for a model of {wanted} dimensions, but base_model "
                f"{self.base_model.name!r} has {there}"
            )
        return GuardLayers(backbone, state)

    def described(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        scores = numbers(answers)
        decisions = [None if score is None else score > THRESHOLD for score in scores]
        return {
            self.score_field: pa.array(scores, pa.float32()),
            self.label_field: pa.array(decisions, pa.bool_()),
        }


@dataclass
class PoisonFilter(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Drops what was found to be poisoned, and what could not be judged."""

    label_field: str

    def inputs(self) -> Sequence[str]:
        return (self.label_field,)

    def process(self, task: DocumentBatch) -> list[DocumentBatch | Dropped]:
        found = task.data.column(self.label_field)
        outcomes: list[DocumentBatch | Dropped] = []
        clean = pc.fill_null(pc.invert(found), False)
        outcomes.append(task.with_data(task.data.filter(clean)))
        for reason, mask in (("poisoned", found), (NO_LABEL, pc.is_null(found))):
            gone = task.data.filter(pc.fill_null(mask, False))
            if gone.num_rows:
                outcomes.append(Dropped(reason, gone.num_rows, partial(task.with_data, gone)))
        return outcomes
