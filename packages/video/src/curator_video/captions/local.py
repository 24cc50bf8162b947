"""Captions from models that run locally."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from curator_core import NodeInfo, WorkerInfo
from curator_models import hub
from curator_models.devices import Device, choose_device, default_resources
from curator_models.weights import weight_files, weights_digest

from curator_video.analysis.measurements import Pixels
from curator_video.captions.base import CaptionResult, CaptionRewriter, WindowCaptioner


@dataclass(frozen=True)
class CaptionModelSource(hub.ModelSource):
    """A transformers model that generates text from frames or prompts."""

    extra: ClassVar[str] = "curator-video[captions]"


@dataclass(kw_only=True)
class LocalModel:
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
        self.resources = default_resources(self.device, str(getattr(self, "name", "")))

    @property
    def source(self) -> CaptionModelSource:
        return CaptionModelSource(self.model, self.revision, self.cache_dir, self.token_variable)

    @property
    def model_label(self) -> str:
        return self._model_label

    def problems(self) -> Iterator[str]:
        yield from self.source.problems()
        if self.model_inference_batch_size < 1:
            size = self.model_inference_batch_size
            yield f"model_inference_batch_size is {size}, but must be 1 or more"

    def setup_on_node(self, node: NodeInfo) -> None:
        self.source.fetch()

    def load(self, worker: WorkerInfo, generator_type: Any) -> None:
        folder = self.source.folder()
        device = choose_device(worker, self.resources, str(getattr(self, "name", "")))
        self._generator: Any = generator_type(folder, device, self.model_inference_batch_size)
        self._model_label = f"{self.model} sha256:{weights_digest(weight_files(folder))}"

    def teardown(self) -> None:
        vars(self).pop("_generator", None)


@dataclass(kw_only=True)
class ClipCaptioner(LocalModel, WindowCaptioner):
    """Caption each window of a clip with a vision-language model.

    The model sees the frames in order and decodes greedily. Only models whose code is part of
    transformers are supported, such as `llava-hf/llava-interleave-qwen-0.5b-hf`; some, such as
    Qwen2.5-VL, also need torchvision.
    """

    def check(self) -> Iterator[str]:
        yield from self.problems()
        yield from WindowCaptioner.check(self)

    def setup(self, worker: WorkerInfo) -> None:
        from curator_video.captions.generation import FrameTextGenerator

        self.load(worker, FrameTextGenerator)

    def caption_windows(self, shown: Sequence[Sequence[Pixels]]) -> Sequence[CaptionResult]:
        found: Sequence[CaptionResult] = self._generator.generate(
            shown, self.prompt, self.max_new_tokens
        )
        return found


@dataclass(kw_only=True)
class CaptionEnhancer(LocalModel, CaptionRewriter):
    """Rewrite captions with a language model, such as `Qwen/Qwen2.5-7B-Instruct`."""

    def check(self) -> Iterator[str]:
        yield from self.problems()
        yield from CaptionRewriter.check(self)

    def setup(self, worker: WorkerInfo) -> None:
        from curator_video.captions.generation import PromptTextGenerator

        self.load(worker, PromptTextGenerator)

    def generate(self, prompts: Sequence[str]) -> Sequence[CaptionResult]:
        found: Sequence[CaptionResult] = self._generator.generate(prompts, self.max_new_tokens)
        return found
