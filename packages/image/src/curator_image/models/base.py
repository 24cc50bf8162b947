"""Base classes of stages with models: run pixels through a model and add its answers as columns."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
from curator_core import (
    AnyStage,
    CompositeStage,
    NodeInfo,
    ProcessingStage,
    Rejected,
    Resources,
    WorkerInfo,
    attach_model,
)
from curator_core.logs import log
from curator_core.model.hardware import empty_device_cache
from curator_models.batching import MicroBatches
from curator_models.devices import Device, default_resources
from curator_models.hub import ModelFiles

from curator_image.decoding import ImageDecodeError, Pixels
from curator_image.image_batch import IMAGE, ImageBatch
from curator_image.pixel_view import View


@dataclass(kw_only=True)
class ImageModel(CompositeStage[ImageBatch, ImageBatch], ABC):
    """An image model: it adds a score, and limits on the score drop pictures."""

    model_inference_batch_size: int = 32
    """Number of pictures per model batch; reduced if the device runs out of memory."""

    device: Device = "auto"
    """`cuda` requires a GPU, `cpu` uses none, `auto` uses one if this machine has one."""

    @abstractmethod
    def model_stages(self) -> Sequence[AnyStage]:
        """Return the parts that run models.

        Resources and workers set on this stage apply to them.
        """

    def other_stages(self) -> Sequence[AnyStage]:
        """Return the CPU parts that follow. The last part gets the name of this stage."""
        return ()

    def decompose(self) -> Sequence[AnyStage]:
        models, others = list(self.model_stages()), list(self.other_stages())
        resources = default_resources(self.device, self.name)
        models = [part.with_(resources=resources) for part in models]
        parts = [*models, *others]
        *first, last = parts
        return [
            *(part.with_(name=f"{self.name}_{part.name}") for part in first),
            last.with_(name=self.name),
        ]

    def parts(self) -> Sequence[AnyStage]:
        """Return the parts. Only model parts keep the given resources and workers."""
        count = len(self.model_stages())
        return [
            part if index < count else part.with_(resources=Resources(), num_workers=None)
            for index, part in enumerate(super().parts())
        ]


LOG = log("curator_image")


@dataclass(kw_only=True)
class InferenceStage(ProcessingStage[ImageBatch, ImageBatch], ABC):
    """Base class of stages that run a model over pictures and add its answers as columns.

    Subclasses define how the model is loaded and which columns its answers fill.
    """

    inference_batch_size: int = 32
    model_field: str | None = None
    """Column for the name of the model and the digest of its weights."""

    @abstractmethod
    def sources(self) -> Sequence[ModelFiles]:
        """Return the sources of its files."""

    @abstractmethod
    def load(self, worker: WorkerInfo) -> str:
        """Load the model; return its name and the digest of its weights."""

    @abstractmethod
    def view(self) -> View:
        """Return the view of pictures that the loaded model expects."""

    @abstractmethod
    def predict(self, pictures: Sequence[Pixels]) -> Sequence[Any]:
        """Return the model's answer for each picture."""

    @abstractmethod
    def answer_columns(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
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
            yield f"two results would be written to the same column: {', '.join(named)}"

    def setup_on_node(self, node: NodeInfo) -> None:
        for source in self.sources():
            source.fetch()

    def setup(self, worker: WorkerInfo) -> None:
        self._model_id = self.load(worker)
        LOG.info("stage %r uses %s", self.name, self._model_id)
        self._batches = MicroBatches(
            self.inference_batch_size,
            sort_by_length=False,
            on_out_of_memory=self._warn_smaller_batches,
            too_long_message=lambda _: (
                "a single picture does not fit into the memory of the device; give the stage "
                "a larger device, or one that it does not share"
            ),
        )

    def teardown(self) -> None:
        if vars(self).pop("_batches", None) is not None:
            self.unload()
            if self.resources.needs_gpu:
                empty_device_cache()

    def process(self, task: ImageBatch) -> Iterable[ImageBatch | Rejected]:
        answers: list[Any] = []
        failed: dict[int, Exception] = {}
        for start, seen in _split_rows(task.pictures(self.view()), self.inference_batch_size):
            good = [pixels for pixels in seen if not isinstance(pixels, ImageDecodeError)]
            rows = [row for row, pixels in enumerate(seen, start)
                    if not isinstance(pixels, ImageDecodeError)]  # fmt: skip
            failed |= {row: pixels for row, pixels in enumerate(seen, start)
                       if isinstance(pixels, ImageDecodeError)}  # fmt: skip
            found, lost = self._run_batches(good)
            failed |= {rows[index]: error for index, error in lost.items()}
            answers += [answer for index, answer in enumerate(found) if index not in lost]
        batch, rejected = task.without(failed)
        answered = batch.with_columns(self._columns(answers))
        attach_model(answered, self._model_id)
        yield answered
        yield from rejected

    def _run_batches(self, pictures: Sequence[Pixels]) -> tuple[list[Any], dict[int, Exception]]:
        def forward(indices: Sequence[int]) -> Sequence[Any]:
            return self.predict([pictures[index] for index in indices])

        return self._batches.run([1] * len(pictures), forward)

    def _columns(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        columns = dict(self.answer_columns(answers))
        if self.model_field is not None:
            columns[self.model_field] = pa.array([self._model_id] * len(answers), pa.string())
        return columns

    def outputs(self) -> Sequence[str]:
        return (*self.columns(), *([self.model_field] if self.model_field else ()))

    @abstractmethod
    def columns(self) -> Sequence[str]:
        """Return the names of the answer columns."""

    def _warn_smaller_batches(self, rows: int, _: int) -> None:
        LOG.warning(
            "stage %r: %d pictures did not fit into the memory of its device; from now on at "
            "most %d run at a time (set model_inference_batch_size=%d to start there)",
            self.name,
            rows,
            rows // 2,
            rows // 2,
        )


def _split_rows(pictures: Iterator[Any], size: int) -> Iterator[tuple[int, list[Any]]]:
    start = 0
    while piece := list(islice(pictures, size)):
        yield start, piece
        start += len(piece)
