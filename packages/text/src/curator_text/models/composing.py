"""Composing: a model as a pipeline has it, in parts that run side by side on different tasks."""

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
    """A model over one column of text: tokens on the CPU, the model on its device, then a filter.

    A missing or blank text gets no answer. Answers do not depend on how texts are batched, beyond
    what a device rounds off.
    """

    model: str
    """The folder of a model, or its name at Hugging Face."""

    text_field: str = "text"
    """The column that holds the text."""

    max_chars: int | None = None
    """How many characters of a text are tokenized; 100 for each token unless given."""

    max_seq_length: int | None = 512
    """How many tokens of a text the model is shown, at most as many as it knows."""

    model_inference_batch_size: int = 256
    """How many texts go through the model together, until that is more than the device holds."""

    sort_by_length: bool = True
    """Put texts of like length together, so that less is filled up; their order stays."""

    autocast: Autocast = True
    """Half precision on a GPU. On a CPU only by name: `bf16`, `fp16`."""

    device: Device = "auto"
    """`cuda` asks for a GPU, `cpu` does not, `auto` does where this machine has one."""

    revision: str | None = None
    """The version at Hugging Face: a branch, a tag, a commit."""

    cache_dir: str | None = None
    """Where downloads are kept; the usual place of Hugging Face unless given."""

    token_variable: str | None = None
    """The environment variable that holds a token of Hugging Face; HF_TOKEN needs no naming."""

    @abstractmethod
    def model_stage(self) -> ModelStage:
        """The part that runs the model."""

    def prompt(self) -> Prompt:
        """What is put around each text."""
        return Prompt()

    def tokenizer_source(self) -> ModelSource:
        return self.source_of(self.model)

    def filters(self) -> Sequence[LabelFilter]:
        """The parts that drop what the answers speak against."""
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
        """Resources and workers are meant for the model; the other parts need neither."""
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
