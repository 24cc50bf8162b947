"""Inferring: run tokens through a model and turn its answers into columns."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from curator_core import DocumentBatch, ProcessingStage, Rejected, WorkerInfo
from curator_core.logs import log
from curator_core.model.arrow import with_column
from curator_core.model.provenance import tell_model
from curator_core.model.resources import NodeInfo
from curator_models.batching import MicroBatches
from curator_models.devices import Autocast, device_of, keep_to_cores, precision
from curator_models.digests import digest_of, weights_in

from curator_text.models.locating import ModelSource
from curator_text.models.token_columns import TOKENS, Side, TokenRows
from curator_text.rejecting import RowErrors

LOG = log("curator_text")

MOST_TOKENS_ON_A_CPU = 4096
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

    source: ModelSource
    inference: Inference = field(default=Inference(), kw_only=True)

    @abstractmethod
    def load(self, folder: Path) -> Any:
        """Return the network, which maps tokens and a mask to one row of numbers per text."""

    @abstractmethod
    def described(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        """Return the columns for the answers, in the order of `outputs()`; None: no answer."""

    def others(self) -> Sequence[ModelSource]:
        """Return other sources that the model needs, to be downloaded as well."""
        return ()

    def ask(self, network: Any, ids: Any, mask: Any) -> Sequence[Any]:
        """Return the network's answers, one per row."""
        return list(network(ids, mask).float().cpu().numpy())

    def inputs(self) -> Sequence[str]:
        return (TOKENS,)

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        return None if before is None else (before - {TOKENS}) | frozenset(self.outputs())

    def check(self) -> Iterable[str]:
        for source in dict.fromkeys((self.source, *self.others())):
            yield from source.problems()
        if self.inference.batch_size < 1:
            size = self.inference.batch_size
            yield f"model_inference_batch_size is {size}, but must be 1 or more"
        named = list(self.outputs())
        if (text := self.inference.text_field) in named:
            yield f"its results would replace {text!r}, the column that holds the text"
        if len(set(named)) < len(named):
            yield f"two of its results would be written to one column: {', '.join(named)}"

    def setup_on_node(self, node: NodeInfo) -> None:
        for source in (self.source, *self.others()):
            source.fetch()

    def setup(self, worker: WorkerInfo) -> None:
        keep_to_cores(worker)
        device = device_of(worker, self.resources, self.name)
        folder = self.source.folder()
        network = self.load(folder)
        name = self.source.name if self.source.local is None else folder.name
        weights = weights_in(folder)
        self._known_as = f"{name} sha256:{digest_of(weights)}" if weights else name
        self._network = network.to(device).eval()
        self._device = device
        self._precision = precision(device, self.inference.autocast)
        self._batches = MicroBatches(
            self.inference.batch_size,
            self.inference.sort_by_length,
            say=self._say_less,
            release=self._release,
            most_cells=MOST_TOKENS_ON_A_CPU if device.type == "cpu" else None,
            alone=_too_long,
        )

    def teardown(self) -> None:
        if vars(self).pop("_network", None) is not None:
            self._release()

    def process(self, task: DocumentBatch) -> Iterable[DocumentBatch | Rejected]:
        tokens = TokenRows.of(task.data.column(TOKENS))
        answers, failed = self._batches.run(
            tokens.lengths, lambda places: self._asked(tokens, places)
        )
        bare = task.with_data(task.data.drop_columns([TOKENS]))
        errors = RowErrors(bare, {tokens.rows[place]: error for place, error in failed.items()})
        by_row = dict(zip(tokens.rows, answers, strict=True))
        lost = {tokens.rows[place] for place in failed}
        left = [by_row.get(row) for row in range(task.num_items) if row not in lost]
        for one in errors.settle(lambda table: self._with_columns(table, left)):
            if isinstance(one, DocumentBatch):
                tell_model(one, self._known_as)
            yield one

    def _with_columns(self, table: pa.Table, answers: Sequence[Any]) -> pa.Table:
        for name, values in self.described(answers).items():
            table = with_column(table, name, values)
        return table

    def _asked(self, tokens: TokenRows, places: Sequence[int]) -> Sequence[Any]:
        import torch

        ids, mask = tokens.padded(places, self._pad, self.padding_side)
        kind, half = self._device.type, self._precision
        with torch.inference_mode(), torch.autocast(kind, half, enabled=half is not None):
            return self.ask(
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

    def _release(self) -> None:
        import torch

        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _say_less(self, rows: int, longest: int) -> None:
        LOG.warning(
            "stage %r: %d documents of up to %d tokens did not fit into the memory of %s; from now "
            "on it takes at most %d of that length at a time (model_inference_batch_size=%d would "
            "have begun there)",
            self.name,
            rows,
            longest,
            self._device,
            rows // 2,
            rows // 2,
        )


def _too_long(length: int) -> str:
    return (
        f"the device has no room for this document alone ({length} tokens); "
        "lower max_chars or max_seq_length, or give the stage a larger device"
    )
