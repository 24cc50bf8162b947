"""Base classes of stages that run a model on texts."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from curator_core import (
    AnyStage,
    CompositeStage,
    DocumentBatch,
    NodeInfo,
    ProcessingStage,
    Rejected,
    Resources,
    WorkerInfo,
    attach_model,
)
from curator_core.logs import log
from curator_core.model.arrow import with_column
from curator_core.model.hardware import empty_device_cache
from curator_models import hub
from curator_models.batching import MicroBatches
from curator_models.devices import (
    Autocast,
    Device,
    choose_device,
    choose_dtype,
    default_resources,
    limit_threads,
)
from curator_models.weights import weight_files, weights_digest

from curator_text.models.tokenizer import TOKENS, Prompt, Side, TokenizerStage, TokenRows
from curator_text.row_errors import RowErrors


@dataclass(frozen=True)
class TextModelSource(hub.ModelSource):
    """A model for texts. Its dependencies are in `curator-text[models]`."""

    extra: ClassVar[str] = "curator-text[models]"


LOG = log("curator_text")

MAX_TOKENS_ON_CPU = 4096
"""Maximum tokens of a micro-batch on a CPU. Exceeding main memory gets the process killed instead
of raising an error as on a GPU, and larger batches are not faster for large transformers."""


@dataclass(frozen=True)
class Inference:
    """Inference settings common to all models."""

    batch_size: int = 256
    sort_by_length: bool = True
    autocast: Autocast = True
    text_field: str = "text"
    """The text column, which no result may replace."""


@dataclass
class ModelStage(ProcessingStage[DocumentBatch, DocumentBatch], ABC):
    """Reads tokens, adds the model's answers, and removes the tokens.

    Subclasses define how the model is loaded, and which columns its answers become.
    """

    padding_side: ClassVar[Side] = "right"

    source: TextModelSource
    inference: Inference = field(default=Inference(), kw_only=True)

    @abstractmethod
    def load(self, folder: Path) -> Any:
        """Return the network, which maps tokens and a mask to one row of numbers per text."""

    @abstractmethod
    def to_columns(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        """Return the columns for the answers, in the order of `outputs()`; None: no answer."""

    def other_sources(self) -> Sequence[TextModelSource]:
        """Return other sources that the model needs, to be downloaded as well."""
        return ()

    def run_network(self, network: Any, ids: Any, mask: Any) -> Sequence[Any]:
        """Return the network's answers, one per row."""
        return list(network(ids, mask).float().cpu().numpy())

    def inputs(self) -> Sequence[str]:
        return (TOKENS,)

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        return None if before is None else (before - {TOKENS}) | frozenset(self.outputs())

    def check(self) -> Iterable[str]:
        for source in dict.fromkeys((self.source, *self.other_sources())):
            yield from source.problems()
        if self.inference.batch_size < 1:
            size = self.inference.batch_size
            yield f"model_inference_batch_size is {size}, but must be 1 or more"
        names = list(self.outputs())
        if (text := self.inference.text_field) in names:
            yield f"its results would replace {text!r}, the column that holds the text"
        if len(set(names)) < len(names):
            yield f"two results would be written to the same column: {', '.join(names)}"

    def setup_on_node(self, node: NodeInfo) -> None:
        for source in (self.source, *self.other_sources()):
            source.fetch()

    def setup(self, worker: WorkerInfo) -> None:
        limit_threads(worker)
        device = choose_device(worker, self.resources, self.name)
        folder = self.source.folder()
        network = self.load(folder)
        name = self.source.name if self.source.local_folder is None else folder.name
        weights = weight_files(folder)
        self._model_id = f"{name} sha256:{weights_digest(weights)}" if weights else name
        self._network = network.to(device).eval()
        self._device = device
        self._precision = choose_dtype(device, self.inference.autocast)
        self._batches = MicroBatches(
            self.inference.batch_size,
            self.inference.sort_by_length,
            on_out_of_memory=self._warn_smaller_batches,
            max_cells=MAX_TOKENS_ON_CPU if device.type == "cpu" else None,
            too_long_message=_describe_too_long,
        )

    def teardown(self) -> None:
        if vars(self).pop("_network", None) is not None:
            empty_device_cache()

    def process(self, task: DocumentBatch) -> Iterable[DocumentBatch | Rejected]:
        tokens = TokenRows.of(task.data.column(TOKENS))
        answers, failed = self._batches.run(
            tokens.lengths, lambda indexes: self._run_batch(tokens, indexes)
        )
        bare = task.with_data(task.data.drop_columns([TOKENS]))
        errors = RowErrors(bare, {tokens.rows[index]: error for index, error in failed.items()})
        by_row = dict(zip(tokens.rows, answers, strict=True))
        failed_rows = {tokens.rows[index] for index in failed}
        kept = [by_row.get(row) for row in range(task.num_items) if row not in failed_rows]
        for result in errors.apply(lambda table: self._with_columns(table, kept)):
            if isinstance(result, DocumentBatch):
                attach_model(result, self._model_id)
            yield result

    def _with_columns(self, table: pa.Table, answers: Sequence[Any]) -> pa.Table:
        for name, values in self.to_columns(answers).items():
            table = with_column(table, name, values)
        return table

    def _run_batch(self, tokens: TokenRows, indexes: Sequence[int]) -> Sequence[Any]:
        import torch

        ids, mask = tokens.padded(indexes, self._pad, self.padding_side)
        kind, half = self._device.type, self._precision
        with torch.inference_mode(), torch.autocast(kind, half, enabled=half is not None):
            return self.run_network(
                self._network,
                torch.from_numpy(ids).to(self._device),
                torch.from_numpy(mask).to(self._device),
            )

    @property
    def _pad(self) -> int:
        """Return the padding token.

        Some models use it to find the end, so it must be the model's own.
        """
        for part in self._network.modules():
            pad = getattr(getattr(part, "config", None), "pad_token_id", None)
            if pad is not None:
                return int(pad)
        return 0

    def _warn_smaller_batches(self, rows: int, longest: int) -> None:
        LOG.warning(
            "stage %r: %d documents of up to %d tokens did not fit into the memory of %s; it now "
            "takes at most %d of that length at a time (set model_inference_batch_size=%d to start "
            "there)",
            self.name,
            rows,
            longest,
            self._device,
            rows // 2,
            rows // 2,
        )


def _describe_too_long(length: int) -> str:
    return (
        f"this document alone does not fit on the device ({length} tokens); "
        "lower max_chars or max_seq_length, or give the stage a larger device"
    )


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

    def tokenizer_source(self) -> TextModelSource:
        return self.source_of(self.model)

    def filters(self) -> Sequence[AnyStage]:
        """Return the stages that drop documents by their answers."""
        return ()

    def decompose(self) -> Sequence[AnyStage]:
        tokenizer = TokenizerStage(
            self.tokenizer_source(),
            self.text_field,
            self.max_chars,
            self.max_seq_length,
            self.prompt(),
        )
        return [
            tokenizer.with_(name=f"{self.name}_tokens"),
            self.model_stage().with_(
                name=f"{self.name}_model", resources=default_resources(self.device, self.name)
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

    def source_of(self, model: str) -> TextModelSource:
        is_own = model == self.model
        return TextModelSource(
            model, self.revision if is_own else None, self.cache_dir, self.token_variable
        )

    def inference(self) -> Inference:
        return Inference(
            self.model_inference_batch_size, self.sort_by_length, self.autocast, self.text_field
        )
