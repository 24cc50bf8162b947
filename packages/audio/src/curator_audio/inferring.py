"""Inference: run pieces of recordings through a model in batches, and add columns."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import pyarrow as pa
from curator_core import Dropped, ProcessingStage, Rejected, WorkerInfo
from curator_core.io.filesystems import StorageOptions
from curator_core.logs import log
from curator_core.model.provenance import tell_model
from curator_core.model.resources import NodeInfo
from curator_models.batching import MicroBatches
from curator_models.devices import keep_to_cores, release

from curator_audio.batches import PATH, AudioBatch
from curator_audio.cutting import Awaited, Cut, CuttingListener, Piece
from curator_audio.forms import SPEECH, Form
from curator_audio.settling import numbers_in, settled
from curator_audio.torch_extra import torch_problem

LOG = log("curator_audio")


class Source(Protocol):
    """Source of a model's files."""

    def problems(self) -> Iterable[str]: ...
    def fetch(self) -> Any: ...


@dataclass(kw_only=True)
class AudioModel(ProcessingStage[AudioBatch, AudioBatch], ABC):
    """Base class of stages that run a model on pieces of recordings and add columns.

    Subclasses load the model, choose how to cut recordings, and combine the answers for the pieces
    of a row. Pieces of several rows go through the model together.
    """

    model_batch_size: int = 16
    """Pieces per model call; reduced automatically if memory is short."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    form: ClassVar[Form] = SPEECH

    @abstractmethod
    def sources(self) -> Sequence[Source]:
        """Return the sources of the model's files."""

    @abstractmethod
    def load(self, worker: WorkerInfo) -> str:
        """Load the model; return its name and the digest of its weights."""

    @abstractmethod
    def cut(self) -> Cut:
        """Return a new cut for one recording."""

    @abstractmethod
    def ask(self, pieces: Sequence[Piece]) -> Sequence[Any]:
        """Run the model; return one answer per piece."""

    @abstractmethod
    def amount(self, answers: Sequence[tuple[Piece, Any]]) -> Any:
        """Combine the answers for the pieces of one row."""

    @abstractmethod
    def described(self, amounts: Sequence[Any]) -> Mapping[str, pa.Array]:
        """Return the columns for the combined answers of these rows."""

    @abstractmethod
    def columns(self) -> Sequence[str]:
        """Return the names of the columns with answers."""

    def fault(self, amount: Any) -> str | None:
        """Return why a row with this answer is dropped, or None to keep it."""
        return None

    @property
    def model_column(self) -> str:
        """Column for the name of the model and the digest of its weights."""
        return f"{self.columns()[0]}_model"

    def inputs(self) -> Sequence[str]:
        return (PATH,)

    def outputs(self) -> Sequence[str]:
        return (*self.columns(), self.model_column)

    def needs_torch(self) -> bool:
        """Return whether the model, as configured, runs on torch."""
        return True

    def check(self) -> Iterable[str]:
        if self.needs_torch() and (problem := torch_problem(self.name)):
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
            keep_to_cores(worker)
        self._known_as = self.load(worker)
        LOG.info("stage %r uses %s", self.name, self._known_as)
        self._batches = MicroBatches(
            self.model_batch_size,
            release=release,
            alone=lambda length: (
                f"the device has no room for a piece of {length / self.rate:.1f} s alone; give the "
                "stage a larger device"
            ),
        )

    @property
    def rate(self) -> int:
        return self.form.sample_rate or 1

    def teardown(self) -> None:
        vars(self).pop("_batches", None)
        self.unload()
        release()

    def unload(self) -> None:
        """Free the model loaded by `load`."""

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Dropped | Rejected]:
        waiting: list[Awaited] = []

        def put(piece: Piece) -> Awaited:
            if len(waiting) >= self.model_batch_size:
                self._answer(waiting)
            waiting.append(Awaited(piece))
            return waiting[-1]

        heard = task.listen(
            self.form, lambda: CuttingListener(self.cut(), put), self.storage_options
        )
        self._answer(waiting)
        yield from self._told(heard.batch, heard.values)
        yield from heard.rejected

    def _answer(self, waiting: list[Awaited]) -> None:
        """Run the model on all waiting pieces, and free their samples."""
        pieces = [one.piece for one in waiting]

        def forward(places: Sequence[int]) -> Sequence[Any]:
            return self.ask([pieces[place] for place in places])

        answers, failed = self._batches.run([piece.length for piece in pieces], forward)
        for place, one in enumerate(waiting):
            one.answer, one.error = answers[place], failed.get(place)
            one.piece = one.piece.without_samples()
        waiting.clear()

    def _told(
        self, batch: AudioBatch, answers: Sequence[Sequence[Awaited]]
    ) -> Iterator[AudioBatch | Dropped | Rejected]:
        failed = {
            row: error
            for row, pieces in enumerate(answers)
            if (error := next((one.error for one in pieces if one.error), None))
        }
        batch, rejected = batch.without(failed)
        amounts = [
            self.amount([(one.piece, one.answer) for one in pieces])
            for row, pieces in enumerate(answers)
            if row not in failed
        ]
        names = pa.array([self._known_as] * len(amounts), pa.string())
        columns = self.described(amounts)
        known = batch.with_columns({**columns, self.model_column: names})
        faults = [self.fault(amount) for amount in amounts]
        for one in settled(known, faults, numbers_in(columns)):
            if isinstance(one, AudioBatch):
                tell_model(one, self._known_as)
            yield one
        yield from rejected
