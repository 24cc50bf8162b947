"""Captions from servers with an OpenAI-compatible chat API."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from curator_models.endpoint_stage import EndpointStage

from curator_video.analysis.measurements import Pixels
from curator_video.captions.base import CaptionResult, CaptionRewriter, WindowCaptioner
from curator_video.thumbnails import encode_jpeg


@dataclass(kw_only=True)
class EndpointClipCaptioner(EndpointStage, WindowCaptioner):
    """Caption each window of a clip with a model behind an OpenAI-compatible API.

    A clip without an answer is quarantined with the server's error. Each worker first sends a
    one-word request: if the server refuses the key or the model, the run fails before any clip is
    processed.
    """

    @property
    def model_label(self) -> str:
        return self.model

    def check(self) -> Iterator[str]:
        yield from self.endpoint_problems()
        yield from WindowCaptioner.check(self)

    def caption_windows(self, windows: Sequence[Sequence[Pixels]]) -> Sequence[CaptionResult]:
        return self.ask_all(windows, self._ask)

    def _ask(self, frames: Sequence[Pixels]) -> str:
        return self.endpoint().ask(self.prompt, self.max_new_tokens, list(map(encode_jpeg, frames)))


@dataclass(kw_only=True)
class EndpointCaptionEnhancer(EndpointStage, CaptionRewriter):
    """Rewrite captions with a model behind an OpenAI-compatible API."""

    @property
    def model_label(self) -> str:
        return self.model

    def check(self) -> Iterator[str]:
        yield from self.endpoint_problems()
        yield from CaptionRewriter.check(self)

    def generate(self, prompts: Sequence[str]) -> Sequence[CaptionResult]:
        return self.ask_all(prompts, lambda one: self.endpoint().ask(one, self.max_new_tokens))
