"""Captions from models that run locally."""

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
    """Run a transformers model with greedy decoding."""

    model: str
    """Folder of a model, or its name on Hugging Face."""

    model_inference_batch_size: int = 4
    """Number of windows per model batch; reduced if the device runs out of memory."""

    device: Device = "auto"
    """`cuda` requires a GPU, `cpu` uses none, `auto` uses one if this machine has one."""

    revision: str | None = None
    """Revision on Hugging Face: a branch, tag or commit."""

    cache_dir: str | None = None
    """Folder for downloads. The cache of Hugging Face by default."""

    token_variable: str | None = None
    """Environment variable with a Hugging Face token. HF_TOKEN is used by default."""

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
    """Caption each window of a clip with a vision-language model.

    The model sees the pictures in order and decodes greedily. Only models whose code is part of
    transformers are supported, such as `llava-hf/llava-interleave-qwen-0.5b-hf`; some, such as
    Qwen2.5-VL, also need torchvision.
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
    """Rewrite captions with a language model, such as `Qwen/Qwen2.5-7B-Instruct`."""

    def check(self) -> Iterator[str]:
        yield from self.problems()
        yield from Rewriting.check(self)

    def setup(self, worker: WorkerInfo) -> None:
        from curator_video.captioning.writers import TextWriter

        self.load(worker, TextWriter)

    def written_for(self, prompts: Sequence[str]) -> Sequence[Told]:
        found: Sequence[Told] = self._writer.written(prompts, self.max_new_tokens)
        return found
