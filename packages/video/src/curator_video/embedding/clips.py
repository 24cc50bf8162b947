"""Clip vectors from video models, which look at several pictures at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from curator_core.model.provenance import tell_model
from curator_core.model.resources import NodeInfo, WorkerInfo
from curator_models.devices import Autocast, Device, device_of, precision, resources_for
from curator_models.digests import digest_of, weights_in

from curator_video.analysis.wants import Sampling, Wanted
from curator_video.clips import Clip
from curator_video.embedding.sources import VideoModelSource, refuse_untrusted_code
from curator_video.embedding.vectors import unit
from curator_video.models.lending import lacking
from curator_video.models.sampling import pictures_of, spread
from curator_video.sharing import LookingStage


@dataclass(kw_only=True)
class VideoModelEmbedder(LookingStage):
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
    """Number of pictures per clip for the model. The model's own setting by default."""

    fps: float = 2.0
    """Rate at which candidate pictures are sampled."""

    height: int = 448
    """Maximum picture height; higher pictures are scaled down. Stages with the same rate and height
    share them."""

    trust_remote_code: bool = False
    """Run code that comes with the model. It has all your permissions."""

    device: Device = "auto"
    """`cuda` requires a GPU, `cpu` uses none, `auto` uses one if this machine has one."""

    autocast: Autocast = True
    """Half precision on a GPU. For a CPU, name the type: `bf16`, `fp16`."""

    revision: str | None = None
    """Revision on Hugging Face: a branch, tag or commit."""

    cache_dir: str | None = None
    """Folder for downloads. The cache of Hugging Face by default."""

    token_variable: str | None = None
    """Environment variable with a Hugging Face token. HF_TOKEN is used by default."""

    def __post_init__(self) -> None:
        self.resources = resources_for(self.device, self.name)

    @property
    def source(self) -> VideoModelSource:
        return VideoModelSource(
            self.model,
            self.revision,
            self.cache_dir,
            self.token_variable,
            with_code=self.trust_remote_code,
        )

    @property
    def sampling(self) -> Sampling:
        return Sampling(self.fps, self.height)

    def wanted(self) -> Wanted:
        return Wanted(frames=frozenset({self.sampling}))

    def check(self) -> Iterator[str]:
        yield from lacking("clip")
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
        from curator_video.embedding.networks import VideoNetwork

        refuse_untrusted_code(self.source, self.trust_remote_code)
        folder = self.source.folder()
        device = device_of(worker, self.resources, self.name)
        self._half = precision(device, self.autocast)
        self._network: Any = VideoNetwork(folder, self.trust_remote_code, device)
        self._known_as = f"{self.model} sha256:{digest_of(weights_in(folder))}"

    def teardown(self) -> None:
        vars(self).pop("_network", None)

    def process(self, task: Clip) -> Clip:
        seen = pictures_of(self, task, self.sampling)
        chosen = spread(seen, self.pictures or self._network.count)
        vector = unit(self._network.vector(chosen, self._half))
        labels = {self.model_field: self._known_as} if self.model_field else {}
        known = task.with_vector(self.embedding_field, vector).with_scores(**labels)
        tell_model(known, self._known_as)
        return known
