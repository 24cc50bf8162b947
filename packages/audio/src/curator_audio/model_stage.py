"""Base class of stages that run a model on pieces of recordings, and ways to cut the pieces."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import pyarrow as pa
from curator_core import Dropped, NodeInfo, ProcessingStage, Rejected, WorkerInfo, attach_model
from curator_core.io.filesystems import StorageOptions
from curator_core.logs import log
from curator_core.model.hardware import empty_device_cache
from curator_core.model.optional_dependencies import not_installed
from curator_models.batching import MicroBatches
from curator_models.devices import limit_threads
from curator_models.hub import ModelFiles

from curator_audio.audio_batch import PATH, AudioBatch
from curator_audio.row_selection import apply_drop_reasons, numeric_columns
from curator_audio.waveform import SPEECH, AudioFormat, Waveform

if TYPE_CHECKING:
    from curator_audio.waveform import MonoSamples

LOG = log("curator_audio")


@dataclass(frozen=True)
class AudioPiece:
    """One channel of a part of a recording."""

    samples: "MonoSamples"
    length: int
    """Number of samples, also after they are freed."""

    weight: float
    """Weight of its output in the mean of the recording."""

    start: int = 0
    """First sample within the row."""

    def without_samples(self) -> "AudioPiece":
        return replace(self, samples=self.samples[:0])


def make_piece(samples: "MonoSamples", start: int, weight: float | None = None) -> AudioPiece:
    """Make a piece from a copy, so that the source array can be freed."""
    return AudioPiece(
        samples.copy(), len(samples), len(samples) if weight is None else weight, start
    )


@dataclass
class PendingPiece:
    """A piece with the output of the model, once there is one."""

    piece: AudioPiece
    output: Any = None
    error: Exception | None = None


class Cutter(Protocol):
    """Cuts one recording into pieces."""

    def next_pieces(self, held: "MonoSamples") -> tuple[list[AudioPiece], "MonoSamples"]:
        """Return the pieces that are final, and the samples to keep for later."""

    def last_pieces(self, held: "MonoSamples") -> list[AudioPiece]:
        """Return the last pieces, at the end of the recording."""


class PieceCollector:
    """Cut one row, submit each piece when it is complete, and collect the results."""

    def __init__(self, cutter: Cutter, submit: Callable[[AudioPiece], PendingPiece]) -> None:
        self._cutter, self._submit = cutter, submit
        self._held: list[MonoSamples] = []
        self._submitted: list[PendingPiece] = []

    def add(self, block: Waveform) -> None:
        self._held.append(block.samples[0])
        pieces, rest = self._cutter.next_pieces(self._concatenate())
        self._held = [rest]
        self._submitted += map(self._submit, pieces)

    def result(self) -> list[PendingPiece]:
        self._submitted += map(self._submit, self._cutter.last_pieces(self._concatenate()))
        self._held = []
        return self._submitted

    def _concatenate(self) -> "MonoSamples":
        import numpy as np

        return self._held[0] if len(self._held) == 1 else np.concatenate(self._held)


@dataclass
class EvenCutter:
    """Cut into pieces of equal length; the remainder is divided evenly over the last two.

    Rows shorter than the model's minimum are repeated until they are long enough.
    """

    longest: int
    shortest: int
    _position: int = 0

    def next_pieces(self, held: "MonoSamples") -> tuple[list[AudioPiece], "MonoSamples"]:
        pieces = []
        while len(held) >= 2 * self.longest:
            pieces.append(make_piece(held[: self.longest], self._position))
            held = held[self.longest :]
            self._position += self.longest
        return pieces, held

    def last_pieces(self, held: "MonoSamples") -> list[AudioPiece]:
        count = max(1, ceil(len(held) / self.longest))
        step = ceil(len(held) / count)
        return [
            make_piece(
                _repeat_to(held[first : first + step], self.shortest), self._position + first
            )
            for first in range(0, len(held), step)
        ]


def _repeat_to(samples: "MonoSamples", shortest: int) -> "MonoSamples":
    import numpy as np

    return samples if len(samples) >= shortest else np.resize(samples, shortest)


def weighted_mean(outputs: Sequence[tuple[AudioPiece, Any]]) -> Any:
    """Return the weighted mean of numbers or arrays."""
    total = sum(piece.weight for piece, _ in outputs)
    return sum(output * (piece.weight / total) for piece, output in outputs if piece.weight)


def missing_torch(feature: str) -> str | None:
    """Return a message with the install command if torch, which a feature needs, is missing."""
    return not_installed(feature, ["torch"], "pip install 'curator-audio[torch]'")


@dataclass(kw_only=True)
class AudioModel(ProcessingStage[AudioBatch, AudioBatch], ABC):
    """Base class of stages that run a model on pieces of recordings and add columns.

    Subclasses load the model, choose how to cut recordings, and combine the outputs for the pieces
    of a row. Pieces of several rows go through the model together.
    """

    model_batch_size: int = 16
    """Pieces per model call; reduced automatically if memory is short."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    audio_format: ClassVar[AudioFormat] = SPEECH

    @abstractmethod
    def sources(self) -> Sequence[ModelFiles]:
        """Return the sources of the model's files."""

    @abstractmethod
    def load(self, worker: WorkerInfo) -> str:
        """Load the model; return its name and the digest of its weights."""

    @abstractmethod
    def cutter(self) -> Cutter:
        """Return a new cutter for one recording."""

    @abstractmethod
    def predict(self, pieces: Sequence[AudioPiece]) -> Sequence[Any]:
        """Run the model; return one output per piece."""

    @abstractmethod
    def combine(self, outputs: Sequence[tuple[AudioPiece, Any]]) -> Any:
        """Combine the outputs for the pieces of one row."""

    @abstractmethod
    def build_columns(self, values: Sequence[Any]) -> Mapping[str, pa.Array]:
        """Return the columns for the combined values of these rows."""

    @abstractmethod
    def column_names(self) -> Sequence[str]:
        """Return the names of these columns."""

    def drop_reason(self, value: Any) -> str | None:
        """Return why a row with this value is dropped, or None to keep it."""
        return None

    @property
    def model_column(self) -> str:
        """Column for the name of the model and the digest of its weights."""
        return f"{self.column_names()[0]}_model"

    def inputs(self) -> Sequence[str]:
        return (PATH,)

    def outputs(self) -> Sequence[str]:
        return (*self.column_names(), self.model_column)

    def needs_torch(self) -> bool:
        """Return whether the model, as configured, runs on torch."""
        return True

    def check(self) -> Iterable[str]:
        if self.needs_torch() and (problem := missing_torch(self.name)):
            yield problem
        for source in self.sources():
            yield from source.problems()
        if self.model_batch_size < 1:
            yield f"model_batch_size is {self.model_batch_size}, but must be 1 or more"

    def setup_on_node(self, node: NodeInfo) -> None:
        for source in self.sources():
            source.fetch()

    def setup(self, worker: WorkerInfo) -> None:
        if self.needs_torch():
            limit_threads(worker)
        self._model_label = self.load(worker)
        LOG.info("stage %r uses %s", self.name, self._model_label)
        self._batches = MicroBatches(
            self.model_batch_size,
            too_long_message=lambda length: (
                "the device has too little memory for a single piece of "
                f"{length / self.rate:.1f} s; give the stage a larger device"
            ),
        )

    @property
    def rate(self) -> int:
        return self.audio_format.sample_rate or 1

    def teardown(self) -> None:
        vars(self).pop("_batches", None)
        self.unload()
        if self.resources.needs_gpu:
            empty_device_cache()

    def unload(self) -> None:
        """Free the model loaded by `load`."""

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Dropped | Rejected]:
        waiting: list[PendingPiece] = []

        def submit(piece: AudioPiece) -> PendingPiece:
            if len(waiting) >= self.model_batch_size:
                self._run_model(waiting)
            waiting.append(PendingPiece(piece))
            return waiting[-1]

        decoded = task.decode_into(
            self.audio_format, lambda: PieceCollector(self.cutter(), submit), self.storage_options
        )
        self._run_model(waiting)
        yield from self._add_columns(decoded.batch, decoded.values)
        yield from decoded.rejected

    def _run_model(self, waiting: list[PendingPiece]) -> None:
        """Run the model on all waiting pieces, and free their samples."""
        pieces = [one.piece for one in waiting]

        def forward(indices: Sequence[int]) -> Sequence[Any]:
            return self.predict([pieces[index] for index in indices])

        outputs, failed = self._batches.run([piece.length for piece in pieces], forward)
        for index, one in enumerate(waiting):
            one.output, one.error = outputs[index], failed.get(index)
            one.piece = one.piece.without_samples()
        waiting.clear()

    def _add_columns(
        self, batch: AudioBatch, rows: Sequence[Sequence[PendingPiece]]
    ) -> Iterator[AudioBatch | Dropped | Rejected]:
        failed = {
            row: error
            for row, pieces in enumerate(rows)
            if (error := next((one.error for one in pieces if one.error), None))
        }
        batch, rejected = batch.reject_rows(failed)
        values = [
            self.combine([(one.piece, one.output) for one in pieces])
            for row, pieces in enumerate(rows)
            if row not in failed
        ]
        names = pa.array([self._model_label] * len(values), pa.string())
        columns = self.build_columns(values)
        labelled = batch.with_columns({**columns, self.model_column: names})
        drop_reasons = [self.drop_reason(value) for value in values]
        for one in apply_drop_reasons(labelled, drop_reasons, numeric_columns(columns)):
            if isinstance(one, AudioBatch):
                attach_model(one, self._model_label)
            yield one
        yield from rejected
