"""Composing: split a model into pipeline stages that process different tasks in parallel."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from curator_core import AnyStage, CompositeStage, DocumentBatch, Resources
from curator_models.devices import Autocast, Device, resources_for

from curator_text.models.inferring import Inference, ModelStage
from curator_text.models.labelling import LabelFilter
from curator_text.models.locating import ModelSource
from curator_text.models.prompts import Prompt
from curator_text.models.tokenizing import Tokenizing


@dataclass(kw_only=True)
class TextModel(CompositeStage[DocumentBatch, DocumentBatch], ABC):
    """Runs a model on a text column.

    The stages are a tokenizer on the CPU, the model on its device, and filters.
    Missing or blank texts get no answer. Answers do not depend on batching, apart from the device's
    rounding errors.
    """

    model: str
    """Folder of a model, or its Hugging Face name."""

    text_field: str = "text"
    """The column that holds the text."""

    max_chars: int | None = None
    """Number of characters of a text to tokenize; if unset, 100 per token."""

    max_seq_length: int | None = 512
    """Maximum tokens of a text passed to the model, limited by what the model supports."""

    model_inference_batch_size: int = 256
    """Texts per micro-batch. Reduced automatically if the device runs out of memory."""

    sort_by_length: bool = True
    """Batch texts of similar length together to reduce padding. The output order is unchanged."""

    autocast: Autocast = True
    """Half precision on a GPU. On a CPU, only if named: `bf16`, `fp16`."""

    device: Device = "auto"
    """`cuda` requests a GPU, `cpu` does not, `auto` does if this machine has one."""

    revision: str | None = None
    """Version at Hugging Face: a branch, tag or commit."""

    cache_dir: str | None = None
    """Folder for downloads; by default the Hugging Face cache."""

    token_variable: str | None = None
    """Environment variable with a Hugging Face token. HF_TOKEN is used automatically."""

    @abstractmethod
    def model_stage(self) -> ModelStage:
        """Return the stage that runs the model."""

    def prompt(self) -> Prompt:
        """Return the template around each text."""
        return Prompt()

    def tokenizer_source(self) -> ModelSource:
        return self.source_of(self.model)

    def filters(self) -> Sequence[LabelFilter]:
        """Return the stages that drop documents by their answers."""
        return ()

    def decompose(self) -> Sequence[AnyStage]:
        tokenizing = Tokenizing(
            self.tokenizer_source(),
            self.text_field,
            self.max_chars,
            self.max_seq_length,
            self.prompt(),
        )
        return [
            tokenizing.with_(name=f"{self.name}_tokens"),
            self.model_stage().with_(
                name=f"{self.name}_model", resources=resources_for(self.device, self.name)
            ),
            *(part.with_(name=self.name) for part in self.filters()),
        ]

    def parts(self) -> Sequence[AnyStage]:
        """Return the stages.

        Resources and workers apply to the model only; the others need neither.
        """
        return [
            part
            if isinstance(part, ModelStage)
            else part.with_(resources=Resources(), num_workers=None)
            for part in super().parts()
        ]

    def source_of(self, model: str) -> ModelSource:
        mine = model == self.model
        return ModelSource(
            model, self.revision if mine else None, self.cache_dir, self.token_variable
        )

    def inference(self) -> Inference:
        return Inference(
            self.model_inference_batch_size, self.sort_by_length, self.autocast, self.text_field
        )
