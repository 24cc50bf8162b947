"""Inference: run pixels through a model and add its answers as columns."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import pyarrow as pa
from curator_core import ProcessingStage, Rejected, WorkerInfo
from curator_core.logs import log
from curator_core.model.provenance import tell_model
from curator_core.model.resources import NodeInfo
from curator_models.batching import MicroBatches
from curator_models.devices import release

from curator_image.batches import IMAGE, ImageBatch
from curator_image.decoding import Pixels, UndecodableError
from curator_image.views import View

LOG = log("curator_image")


class Source(Protocol):
    """The files of a model."""

    def problems(self) -> Iterable[str]: ...
    def fetch(self) -> Any: ...


@dataclass(kw_only=True)
class PictureModel(ProcessingStage[ImageBatch, ImageBatch], ABC):
    """Base class of models over pictures: run them in batches and add the answers as columns.

    Subclasses define how the model is loaded and which columns its answers fill.
    """

    inference_batch_size: int = 32
    model_field: str | None = None
    """Column for the name of the model and the digest of its weights."""

    @abstractmethod
    def sources(self) -> Sequence[Source]:
        """Return the sources of its files."""

    @abstractmethod
    def load(self, worker: WorkerInfo) -> str:
        """Load the model; return its name and the digest of its weights."""

    @abstractmethod
    def view(self) -> View:
        """Return the view of pictures that the loaded model expects."""

    @abstractmethod
    def ask(self, pictures: Sequence[Pixels]) -> Sequence[Any]:
        """Return the model's answer for each picture."""

    @abstractmethod
    def described(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        """Return the columns for these answers."""

    def unload(self) -> None:
        """Release what `load` loaded."""

    def inputs(self) -> Sequence[str]:
        return (IMAGE,)

    def check(self) -> Iterable[str]:
        for source in self.sources():
            yield from source.problems()
        if self.inference_batch_size < 1:
            size = self.inference_batch_size
            yield f"model_inference_batch_size is {size}, but must be 1 or more"
        named = list(self.outputs())
        if len(set(named)) < len(named):
            yield f"two of its results would be written to one column: {', '.join(named)}"

    def setup_on_node(self, node: NodeInfo) -> None:
        for source in self.sources():
            source.fetch()

    def setup(self, worker: WorkerInfo) -> None:
        self._known_as = self.load(worker)
        LOG.info("stage %r uses %s", self.name, self._known_as)
        self._batches = MicroBatches(
            self.inference_batch_size,
            by_length=False,
            say=self._say_less,
            release=release,
            alone=lambda _: (
                "the device has no room for one picture alone; give the stage a larger "
                "device, or one that it does not share"
            ),
        )

    def teardown(self) -> None:
        if vars(self).pop("_batches", None) is not None:
            self.unload()
            release()

    def process(self, task: ImageBatch) -> Iterable[ImageBatch | Rejected]:
        answers: list[Any] = []
        failed: dict[int, Exception] = {}
        for start, seen in _pieces(task.pictures(self.view()), self.inference_batch_size):
            good = [pixels for pixels in seen if not isinstance(pixels, UndecodableError)]
            rows = [row for row, pixels in enumerate(seen, start)
                    if not isinstance(pixels, UndecodableError)]  # fmt: skip
            failed |= {row: pixels for row, pixels in enumerate(seen, start)
                       if isinstance(pixels, UndecodableError)}  # fmt: skip
            found, lost = self._asked(good)
            failed |= {rows[place]: error for place, error in lost.items()}
            answers += [answer for place, answer in enumerate(found) if place not in lost]
        batch, rejected = task.without(failed)
        described = batch.with_columns(self._columns(answers))
        tell_model(described, self._known_as)
        yield described
        yield from rejected

    def _asked(self, pictures: Sequence[Pixels]) -> tuple[list[Any], dict[int, Exception]]:
        def forward(places: Sequence[int]) -> Sequence[Any]:
            return self.ask([pictures[place] for place in places])

        return self._batches.run([1] * len(pictures), forward)

    def _columns(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        columns = dict(self.described(answers))
        if self.model_field is not None:
            columns[self.model_field] = pa.array([self._known_as] * len(answers), pa.string())
        return columns

    def outputs(self) -> Sequence[str]:
        return (*self.columns(), *([self.model_field] if self.model_field else ()))

    @abstractmethod
    def columns(self) -> Sequence[str]:
        """Return the names of the answer columns."""

    def _say_less(self, rows: int, _: int) -> None:
        LOG.warning(
            "stage %r: %d pictures did not fit into the memory of its device; from now on it takes "
            "at most %d at a time (model_inference_batch_size=%d would have begun there)",
            self.name,
            rows,
            rows // 2,
            rows // 2,
        )


def _pieces(pictures: Iterator[Any], size: int) -> Iterator[tuple[int, list[Any]]]:
    start = 0
    while piece := list(islice(pictures, size)):
        yield start, piece
        start += len(piece)
