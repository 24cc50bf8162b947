"""Image models from curator-image, applied to sampled frames of clips."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

from curator_core import NodeInfo, WorkerInfo
from curator_models.batching import MicroBatches
from curator_models.devices import Device, default_resources
from curator_models.weights import weights_digest

from curator_video.analysis.frame_stage import FrameStage
from curator_video.analysis.measurements import FrameNeeds
from curator_video.analysis.sampling import Sampling
from curator_video.tasks import Clip

if TYPE_CHECKING:
    from curator_image.models.aesthetic import AestheticFilter, ClipHeadModel
    from curator_image.models.base import ImageModel
    from curator_image.models.preprocessing import Preprocessing

    from curator_video.analysis.measurements import Pixels

ModelFactory: TypeAlias = Callable[[], "ImageModel"]

_VECTORS = "curator_video.frame_vectors"


def check_installed(extra: str) -> Iterator[str]:
    """Report if curator-image is not installed, with the extra that installs it."""
    if not find_spec("curator_image"):
        yield (
            "image models need curator-image, which is not installed: "
            f"pip install 'curator-video[{extra}]'"
        )


class FrameModel:
    """An image model from curator-image, with the head over its vectors if it has one."""

    def __init__(self, factory: ModelFactory, extra: str) -> None:
        self._factory = factory
        self._extra = extra
        self.model_label = ""

    def problems(self) -> Iterator[str]:
        if missing := list(check_installed(self._extra)):
            yield from missing
            return
        for source in self._sources():
            yield from source.problems()

    def fetch(self) -> None:
        for source in self._sources():
            source.fetch()

    def _sources(self) -> list[Any]:
        stage = self._factory()
        [model] = stage.model_stages()
        head = _head_of(stage)
        return [*model.sources(), *([] if head is None else [head.head()])]  # type: ignore[attr-defined]

    def load(self, worker: WorkerInfo, stage_name: str, resources: Any) -> None:
        """Load the model for the stage of this name."""
        from curator_image.models.heads import load_head

        stage = self._factory()
        [model] = stage.model_stages()
        self._model: Any = model
        self._model = self._model.with_(name=stage_name, resources=resources)
        self.model_label = self.vector_label = self._model.load(worker)
        self._batches = MicroBatches(stage.model_inference_batch_size, sort_by_length=False)
        self._head: Any = None
        if (owner := _head_of(stage)) is not None:
            file = owner.head().file()
            self._head = load_head(file, owner.head_kind())
            self.model_label = f"{file.name} sha256:{weights_digest([file])}"

    def unload(self) -> None:
        if (model := vars(self).pop("_model", None)) is not None:
            model.unload()

    def answers(self, frames: "Sequence[Pixels]") -> list[Any]:
        """Return the model's answer for each frame; vectors if a head scores them."""

        def forward(indices: Sequence[int]) -> Sequence[Any]:
            return list(self._model.predict([frames[index] for index in indices]))

        found, failed = self._batches.run([1] * len(frames), forward)
        for error in failed.values():
            raise error
        return found

    @property
    def has_head(self) -> bool:
        return self._head is not None

    def score_vectors(self, vectors: Sequence[Any]) -> list[float]:
        """Return the head's scores of the vectors."""
        import numpy as np

        return [float(score) for score in self._head.scores(np.array(vectors, np.float32))]


def _head_of(stage: "ImageModel") -> "ClipHeadModel | None":
    """Return the stage if it runs a head over vectors."""
    from curator_image.models.embedder import ClipVectors

    has_head = hasattr(stage, "head") and isinstance(stage.model_stages()[0], ClipVectors)
    return stage if has_head else None  # type: ignore[return-value]


def make_embedder(model: str, batch: int, **options: Any) -> "ImageModel":
    from curator_image.models.embedder import ImageEmbedder

    return ImageEmbedder(model=model, model_inference_batch_size=batch, **options)


def make_aesthetic_filter(batch: int, **options: Any) -> "AestheticFilter":
    from curator_image.models.aesthetic import AestheticFilter

    return AestheticFilter(model_inference_batch_size=batch, **_set_options(options))


def make_nsfw_filter(batch: int, **options: Any) -> "ImageModel":
    from curator_image.models.nsfw import NSFWFilter

    return NSFWFilter(model_inference_batch_size=batch, **_set_options(options))


def make_text_area_filter(height: int) -> "ImageModel":
    from curator_image.models.ocr import TextAreaFilter

    return TextAreaFilter(short_side=height)


def frame_preprocessing(folder: Any) -> "Preprocessing":
    """Return how a transformers model prepares frames."""
    from curator_image.models.preprocessing import read_preprocessing

    return read_preprocessing(folder)


def _set_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were set, so that the defaults of curator-image apply."""
    return {name: value for name, value in options.items() if value is not None}


@dataclass(kw_only=True)
class FrameModelStage(FrameStage, ABC):
    """Apply a model to sampled frames of a clip, which it shares with other stages."""

    fps: float = 1.0
    """Frames per second that the model sees."""

    height: int = 256
    """Maximum frame height; higher frames are scaled down. Stages with the same rate and height
    share them."""

    model_inference_batch_size: int = 32
    """Number of frames per model batch; reduced if the device runs out of memory."""

    device: Device = "auto"
    """`cuda` requires a GPU, `cpu` uses none, `auto` uses one if this machine has one."""

    model_field: str | None = field(default=None)
    """Score field for the name of the model and the digest of its weights; null writes none."""

    def __post_init__(self) -> None:
        self.resources = default_resources(self.device, self.name)

    @abstractmethod
    def frame_model(self) -> FrameModel:
        """Return the model; `setup` loads it."""

    @property
    def sampling(self) -> Sampling:
        return Sampling(self.fps, self.height)

    def frame_needs(self) -> FrameNeeds:
        return FrameNeeds(frames=frozenset({self.sampling}))

    def check(self) -> Iterator[str]:
        yield from self.frame_model().problems()
        for name in ("fps", "model_inference_batch_size"):
            if not getattr(self, name) > 0:
                yield f"{name} is {getattr(self, name)}, but must be more than 0"
        if self.height < 0:
            yield f"height is {self.height}, but must be 0 (keep the original height) or more"

    def setup_on_node(self, node: NodeInfo) -> None:
        self.frame_model().fetch()

    def setup(self, worker: WorkerInfo) -> None:
        self._model = self.frame_model()
        self._model.load(worker, self.name, self.resources)

    def teardown(self) -> None:
        if (model := vars(self).pop("_model", None)) is not None:
            model.unload()

    def answers(self, clip: Clip) -> list[Any]:
        """Return the model's answer for each frame. Vectors are computed once for all stages."""
        if not self._model.has_head and not self.shares_vectors:
            return self._model.answers(self.sample_frames(clip, self.sampling))
        known = clip.derived.setdefault(_VECTORS, {})
        key = (self._model.vector_label, self.sampling)
        if key not in known:
            known[key] = self._model.answers(self.sample_frames(clip, self.sampling))
        return list(self._model.score_vectors(known[key]) if self._model.has_head else known[key])

    shares_vectors = False

    @property
    def model_label(self) -> str:
        """The name of the model and the digest of its weights."""
        return self._model.model_label

    def labels(self) -> dict[str, str]:
        """Return the name of the model under the configured score field."""
        return {self.model_field: self.model_label} if self.model_field else {}
