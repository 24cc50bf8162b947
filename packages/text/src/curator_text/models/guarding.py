"""Guarding: detect instructions that were written to poison a model."""

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
    """Detects instructions that were written to poison a model.

    Uses NVIDIA's Instruction-Data-Guard: a small network classifies the hidden state of the last
    token in a guard model (Llama Guard with the Aegis adapter). A score above 0.5 means poisoned.
    """

    model: str = "nvidia/instruction-data-guard"
    """Folder of the small network, or its Hugging Face name."""

    base_model: str = "meta-llama/LlamaGuard-7b"
    """Folder of the guard model, or its Hugging Face name."""

    adapter: str | None = DEFENSIVE
    """LoRA adapter for the guard model: a folder, a Hugging Face name, or null for none."""

    label_field: str = "is_poisoned"
    """Output column for the decision: true or false."""

    score_field: str = "instruction_data_guard_poisoning_score"
    """Output column for the score, from 0 to 1."""

    drop_poisoned: bool = False
    """Drop poisoned texts, and missing or blank ones."""

    max_chars: int | None = 6000
    """Number of characters of a text to tokenize; the rest is ignored."""

    max_seq_length: int | None = 4096
    """Maximum number of tokens of a text passed to the model."""

    model_inference_batch_size: int = 64
    """Texts per micro-batch. Reduced automatically if the device runs out of memory."""

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
    """Adds a poisoning score and the decision."""

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
    """Drops poisoned documents and ones without a decision."""

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
