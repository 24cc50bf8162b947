"""Captions from servers with an OpenAI-compatible chat API."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from curator_core import WorkerInfo
from curator_models.endpoints import ChatEndpoint, NoAnswerError
from curator_models.rate_limit import RateLimiter

from curator_video.analysis.measurements import Pixels
from curator_video.captions.base import CaptionResult, CaptionRewriter, WindowCaptioner
from curator_video.previews import encode_jpeg


@dataclass(kw_only=True)
class EndpointOptions:
    """Options and requests of stages that ask a server, in parallel and within a rate limit."""

    url: str
    """Address of the server, up to `/v1`."""

    model: str
    """Name of the model on the server."""

    api_key_variable: str | None = None
    """Environment variable with the API key."""

    requests_per_minute: float | None = None
    """Maximum request rate of each worker. All workers together send up to this rate times their
    number."""

    concurrency: int = field(default=8, kw_only=True)
    """Number of concurrent requests per worker."""

    request_timeout_s: float = field(default=120.0, kw_only=True)
    """Timeout in seconds for a silent server."""

    attempts: int = field(default=5, kw_only=True)
    """Maximum number of attempts per request if the server is busy or does not respond."""

    backoff_s: float = field(default=1.0, kw_only=True)
    """Seconds to wait before the second attempt; doubled for each further one. If the server
    requests a longer wait, that is used."""

    @property
    def model_label(self) -> str:
        return self.model

    def endpoint(self) -> ChatEndpoint:
        return ChatEndpoint(
            self.url,
            self.model,
            self.api_key_variable,
            self.request_timeout_s,
            self.attempts,
            self.backoff_s,
        )

    def problems(self) -> Iterator[str]:
        yield from self.endpoint().problems()
        if not self.model:
            yield "model is empty; give the name of the model on the server"
        if self.concurrency < 1:
            yield f"concurrency is {self.concurrency}, but must be 1 or more"
        if self.requests_per_minute is not None and not self.requests_per_minute > 0:
            yield f"requests_per_minute is {self.requests_per_minute}, but must be more than 0"

    def setup(self, worker: WorkerInfo) -> None:
        self._pace = RateLimiter(self.requests_per_minute)
        self._pace.wait()
        self.endpoint().check_access()
        self._pool = ThreadPoolExecutor(self.concurrency, "captions")

    def teardown(self) -> None:
        if (pool := vars(self).pop("_pool", None)) is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    def ask_all(self, questions: Sequence[Any], ask: Callable[[Any], str]) -> list[CaptionResult]:
        """Return an answer or an error per question; raise errors that affect all questions."""

        def paced(question: Any) -> str:
            self._pace.wait()
            return ask(question)

        waiting: list[Future[str]] = [self._pool.submit(paced, one) for one in questions]
        results: list[CaptionResult] = []
        try:
            for answer in waiting:
                try:
                    results.append(answer.result())
                except NoAnswerError as error:
                    results.append(error)
        finally:
            for answer in waiting:
                answer.cancel()
        return results


@dataclass(kw_only=True)
class EndpointClipCaptioner(EndpointOptions, WindowCaptioner):
    """Caption each window of a clip with a model behind an OpenAI-compatible API.

    A clip without an answer is quarantined with the server's error. Each worker first sends a
    one-word request: if the server refuses the key or the model, the run fails before any clip is
    processed.
    """

    def check(self) -> Iterator[str]:
        yield from self.problems()
        yield from WindowCaptioner.check(self)

    def caption_windows(self, windows: Sequence[Sequence[Pixels]]) -> list[CaptionResult]:
        return self.ask_all(windows, self._ask)

    def _ask(self, frames: Sequence[Pixels]) -> str:
        return self.endpoint().ask(self.prompt, self.max_new_tokens, list(map(encode_jpeg, frames)))


@dataclass(kw_only=True)
class EndpointCaptionEnhancer(EndpointOptions, CaptionRewriter):
    """Rewrite captions with a model behind an OpenAI-compatible API."""

    def check(self) -> Iterator[str]:
        yield from self.problems()
        yield from CaptionRewriter.check(self)

    def generate(self, prompts: Sequence[str]) -> list[CaptionResult]:
        return self.ask_all(prompts, lambda one: self.endpoint().ask(one, self.max_new_tokens))
