"""Captions from models that run here."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from curator_core.model.resources import NodeInfo, WorkerInfo
from curator_models.devices import Device, device_of, resources_for
from curator_models.digests import digest_of, weights_in

from curator_video.analysis.observing import Pixels
from curator_video.captioning.describing import Describing, Told
from curator_video.captioning.rewriting import Rewriting
from curator_video.captioning.sources import WriterSource


@dataclass(kw_only=True)
class Local:
    """Runs a model of transformers that writes what is likeliest."""

    model: str
    """The folder of a model, or its name at Hugging Face."""

    model_inference_batch_size: int = 4
    """How many windows go through the model together, until that is more than the device holds."""

    device: Device = "auto"
    """`cuda` asks for a GPU, `cpu` does not, `auto` does where this machine has one."""

    revision: str | None = None
    """The version at Hugging Face: a branch, a tag, a commit."""

    cache_dir: str | None = None
    """Where downloads are kept; the usual place of Hugging Face unless given."""

    token_variable: str | None = None
    """The environment variable that holds a token of Hugging Face; HF_TOKEN needs no naming."""

    def __post_init__(self) -> None:
        self.resources = resources_for(self.device, str(getattr(self, "name", "")))

    @property
    def source(self) -> WriterSource:
        return WriterSource(self.model, self.revision, self.cache_dir, self.token_variable)

    @property
    def known_as(self) -> str:
        return self._known_as

    def problems(self) -> Iterator[str]:
        yield from self.source.problems()
        if self.model_inference_batch_size < 1:
            size = self.model_inference_batch_size
            yield f"model_inference_batch_size is {size}, but must be 1 or more"

    def setup_on_node(self, node: NodeInfo) -> None:
        self.source.fetch()

    def load(self, worker: WorkerInfo, kind: Any) -> None:
        folder = self.source.folder()
        device = device_of(worker, self.resources, str(getattr(self, "name", "")))
        self._writer: Any = kind(folder, device, self.model_inference_batch_size)
        self._known_as = f"{self.model} sha256:{digest_of(weights_in(folder))}"

    def teardown(self) -> None:
        vars(self).pop("_writer", None)


@dataclass(kw_only=True)
class ClipCaptioner(Local, Describing):
    """Adds what a vision-language model writes about each window of a clip.

    It is shown the pictures one after another, and always writes what is likeliest. Only models
    whose code is part of transformers are loaded, such as `llava-hf/llava-interleave-qwen-0.5b-hf`;
    some, such as Qwen2.5-VL, need torchvision as well.
    """

    def check(self) -> Iterator[str]:
        yield from self.problems()
        yield from Describing.check(self)

    def setup(self, worker: WorkerInfo) -> None:
        from curator_video.captioning.writers import PictureWriter

        self.load(worker, PictureWriter)

    def told_of(self, shown: Sequence[Sequence[Pixels]]) -> Sequence[Told]:
        found: Sequence[Told] = self._writer.written(shown, self.prompt, self.max_new_tokens)
        return found


@dataclass(kw_only=True)
class CaptionEnhancer(Local, Rewriting):
    """Has captions written anew by a language model, such as `Qwen/Qwen2.5-7B-Instruct`."""

    def check(self) -> Iterator[str]:
        yield from self.problems()
        yield from Rewriting.check(self)

    def setup(self, worker: WorkerInfo) -> None:
        from curator_video.captioning.writers import TextWriter

        self.load(worker, TextWriter)

    def written_for(self, prompts: Sequence[str]) -> Sequence[Told]:
        found: Sequence[Told] = self._writer.written(prompts, self.max_new_tokens)
        return found
