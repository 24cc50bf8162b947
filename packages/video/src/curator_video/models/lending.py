"""Image models from curator-image, applied to the pictures of clips.

This is the only module that knows curator-image. It imports the package when a model is checked or
loaded.
"""

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

from curator_core.model.resources import WorkerInfo
from curator_models.batching import MicroBatches
from curator_models.digests import digest_of

if TYPE_CHECKING:
    from curator_image.models.aesthetics import AestheticFilter, ClipHeadModel
    from curator_image.models.composing import ImageModel
    from curator_image.models.framing import Framing

    from curator_video.analysis.observing import Pixels

Making: TypeAlias = Callable[[], "ImageModel"]


def lacking(extra: str) -> Iterator[str]:
    """Report if curator-image is not installed, with the extra that installs it."""
    if not find_spec("curator_image"):
        yield (
            "models of pictures are those of curator-image, which is not installed: "
            f"pip install 'curator-video[{extra}]'"
        )


class Lent:
    """An image model from curator-image, with the head over its vectors if it has one."""

    def __init__(self, making: Making, extra: str) -> None:
        self._making = making
        self._extra = extra
        self.known_as = ""

    def problems(self) -> Iterator[str]:
        if missing := list(lacking(self._extra)):
            yield from missing
            return
        for source in self._sources():
            yield from source.problems()

    def fetch(self) -> None:
        for source in self._sources():
            source.fetch()

    def _sources(self) -> list[Any]:
        whole = self._making()
        [model] = whole.model_stages()
        head = _head_of(whole)
        return [*model.sources(), *([] if head is None else [head.head()])]  # type: ignore[attr-defined]

    def load(self, worker: WorkerInfo, called: str, resources: Any) -> None:
        """Load the model as a part of the stage of this name."""
        from curator_image.models.heads import head_in

        whole = self._making()
        [model] = whole.model_stages()
        self._model: Any = model
        self._model = self._model.with_(name=called, resources=resources)
        self.known_as = self.vectors_as = self._model.load(worker)
        self._batches = MicroBatches(whole.model_inference_batch_size, by_length=False)
        self._head: Any = None
        if (owner := _head_of(whole)) is not None:
            file = owner.head().file()
            self._head = head_in(file, owner.head_shape())
            self.known_as = f"{file.name} sha256:{digest_of([file])}"

    def unload(self) -> None:
        if (model := vars(self).pop("_model", None)) is not None:
            model.unload()

    def answers(self, pictures: "Sequence[Pixels]") -> list[Any]:
        """Return the model's answer for each picture; vectors if a head scores them."""

        def forward(places: Sequence[int]) -> Sequence[Any]:
            return list(self._model.ask([pictures[place] for place in places]))

        found, failed = self._batches.run([1] * len(pictures), forward)
        for error in failed.values():
            raise error
        return found

    @property
    def has_head(self) -> bool:
        return self._head is not None

    def judged(self, vectors: Sequence[Any]) -> list[float]:
        """Return the head's scores of the vectors."""
        import numpy as np

        return [float(score) for score in self._head.scores(np.array(vectors, np.float32))]


def _head_of(whole: "ImageModel") -> "ClipHeadModel | None":
    """Return the stage if it runs a head over vectors."""
    from curator_image.models.networks import ClipVectors

    has_head = hasattr(whole, "head") and isinstance(whole.model_stages()[0], ClipVectors)
    return whole if has_head else None  # type: ignore[return-value]


def embedder(model: str, batch: int, **options: Any) -> "ImageModel":
    from curator_image.models.embedding import ImageEmbedder

    return ImageEmbedder(model=model, model_inference_batch_size=batch, **options)


def aesthetics(batch: int, **options: Any) -> "AestheticFilter":
    from curator_image.models.aesthetics import AestheticFilter

    return AestheticFilter(model_inference_batch_size=batch, **given(options))


def nudity(batch: int, **options: Any) -> "ImageModel":
    from curator_image.models.nudity import NSFWFilter

    return NSFWFilter(model_inference_batch_size=batch, **given(options))


def text_areas(height: int) -> "ImageModel":
    from curator_image.models.text_areas import TextAreaFilter

    return TextAreaFilter(short_side=height)


def framing(folder: Any) -> "Framing":
    """Return how a transformers model prepares pictures."""
    from curator_image.models.framing import framing_of

    return framing_of(folder)


def given(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were set, so that the defaults of curator-image apply."""
    return {name: value for name, value in options.items() if value is not None}
