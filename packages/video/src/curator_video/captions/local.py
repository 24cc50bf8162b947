"""Captions from models that run locally."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from curator_core import NodeInfo, WorkerInfo
from curator_models import hub
from curator_models.batching import MicroBatches
from curator_models.devices import Device, choose_device, default_resources
from curator_models.generation import PictureTextGenerator, PromptTextGenerator
from curator_models.hub_options import HubOptions
from curator_models.weights import weight_files, weights_digest

from curator_video.analysis.measurements import Pixels
from curator_video.captions.base import CaptionResult, CaptionRewriter, WindowCaptioner


@dataclass(frozen=True)
class CaptionModelSource(hub.ModelSource):
    """A transformers model that generates text from frames or prompts."""

    extra: ClassVar[str] = "curator-video[captions]"


@dataclass(kw_only=True)
class LocalModel(HubOptions):
    """Run a transformers model with greedy decoding."""

    model: str
    """Folder of a model, or its name on Hugging Face."""

    model_inference_batch_size: int = 4
    """Number of windows per model batch; reduced if the device runs out of memory."""

    device: Device = "auto"
    """`cuda` requires a GPU, `cpu` uses none, `auto` uses one if this machine has one."""

    def __post_init__(self) -> None:
        self.resources = default_resources(self.device, str(getattr(self, "name", "")))

    @property
    def source(self) -> CaptionModelSource:
        return self.model_source(CaptionModelSource, self.model)

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
        self._generator: Any = generator_type(folder, device)
        self._model_label = f"{self.model} sha256:{weights_digest(weight_files(folder))}"
        self._batches = MicroBatches(
            self.model_inference_batch_size,
            sort_by_length=False,
            too_long_message=lambda _: "a single window does not fit into the memory of the device",
        )

    def generate_batches(self, questions: Sequence[Any], *options: Any) -> list[CaptionResult]:
        """Generate a text for each question, as many together as the device can hold."""

        def forward(indices: Sequence[int]) -> Sequence[str]:
            texts: list[str] = self._generator.generate(
                [questions[index] for index in indices], *options
            )
            return texts

        texts, failed = self._batches.run([1] * len(questions), forward)
        return [failed.get(index, text) for index, text in enumerate(texts)]

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
        self.load(worker, PictureTextGenerator)

    def caption_windows(self, windows: Sequence[Sequence[Pixels]]) -> Sequence[CaptionResult]:
        from PIL import Image

        rows = [[Image.fromarray(pixels) for pixels in frames] for frames in windows]
        return self.generate_batches(rows, self.prompt, self.max_new_tokens)


@dataclass(kw_only=True)
class CaptionEnhancer(LocalModel, CaptionRewriter):
    """Rewrite captions with a language model, such as `Qwen/Qwen2.5-7B-Instruct`."""

    def check(self) -> Iterator[str]:
        yield from self.problems()
        yield from CaptionRewriter.check(self)

    def setup(self, worker: WorkerInfo) -> None:
        self.load(worker, PromptTextGenerator)

    def generate(self, prompts: Sequence[str]) -> Sequence[CaptionResult]:
        return self.generate_batches(prompts, self.max_new_tokens)
