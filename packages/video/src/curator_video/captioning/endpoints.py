"""Captions from servers with an OpenAI-compatible chat API."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from curator_core.model.resources import WorkerInfo
from curator_models.endpoints import ChatEndpoint, NoAnswerError
from curator_models.pacing import Pace

from curator_video.analysis.observing import Pixels
from curator_video.captioning.describing import Describing, Told
from curator_video.captioning.rewriting import Rewriting


@dataclass(kw_only=True)
class Served:
    """Send requests to a server in parallel, within its rate limit."""

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
    def known_as(self) -> str:
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
            yield "model is empty; name it as the server does"
        if self.concurrency < 1:
            yield f"concurrency is {self.concurrency}, but must be 1 or more"
        if self.requests_per_minute is not None and not self.requests_per_minute > 0:
            yield f"requests_per_minute is {self.requests_per_minute}, but must be more than 0"

    def setup(self, worker: WorkerInfo) -> None:
        self._pace = Pace(self.requests_per_minute)
        self._pace.wait()
        self.endpoint().greet()
        self._pool = ThreadPoolExecutor(self.concurrency, "captions")

    def teardown(self) -> None:
        if (pool := vars(self).pop("_pool", None)) is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    def asked(self, questions: Sequence[Any], ask: Callable[[Any], str]) -> list[Told]:
        """Return an answer or an error per question; raise errors that affect all questions."""

        def paced(question: Any) -> str:
            self._pace.wait()
            return ask(question)

        waiting: list[Future[str]] = [self._pool.submit(paced, one) for one in questions]
        told: list[Told] = []
        try:
            for answer in waiting:
                try:
                    told.append(answer.result())
                except NoAnswerError as error:
                    told.append(error)
        finally:
            for answer in waiting:
                answer.cancel()
        return told


@dataclass(kw_only=True)
class EndpointClipCaptioner(Served, Describing):
    """Caption each window of a clip with a model behind an OpenAI-compatible API.

    A clip without an answer is quarantined with the server's error. Each worker first sends a
    one-word request: if the server refuses the key or the model, the run fails before any clip is
    processed.
    """

    def check(self) -> Iterator[str]:
        yield from self.problems()
        yield from Describing.check(self)

    def told_of(self, shown: Sequence[Sequence[Pixels]]) -> list[Told]:
        return self.asked(shown, self._ask)

    def _ask(self, pictures: Sequence[Pixels]) -> str:
        from curator_video.stills import jpeg

        return self.endpoint().ask(self.prompt, self.max_new_tokens, list(map(jpeg, pictures)))


@dataclass(kw_only=True)
class EndpointCaptionEnhancer(Served, Rewriting):
    """Rewrite captions with a model behind an OpenAI-compatible API."""

    def check(self) -> Iterator[str]:
        yield from self.problems()
        yield from Rewriting.check(self)

    def written_for(self, prompts: Sequence[str]) -> list[Told]:
        return self.asked(prompts, lambda one: self.endpoint().ask(one, self.max_new_tokens))
