"""Options and requests of stages that ask a chat endpoint, many requests at a time."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from curator_core import WorkerInfo

from curator_models.endpoints import ChatEndpoint, NoAnswerError
from curator_models.rate_limit import RateLimiter

Answer: TypeAlias = str | NoAnswerError
"""The model's answer, or the error that the request ended with."""

Q = TypeVar("Q")


@dataclass
class EndpointStage:
    """Ask a model behind an OpenAI-compatible API, in parallel and within a rate limit.

    A base class besides the one of the stage. Each worker first sends a one-word request: if the
    server refuses the key or the model, the run fails before any data is sent.
    """

    url: str
    """Address of the server, up to `/v1`."""

    model: str
    """Name of the model on the server."""

    api_key_variable: str | None = field(default=None, kw_only=True)
    """Environment variable with the API key."""

    requests_per_minute: float | None = field(default=None, kw_only=True)
    """Maximum request rate of each worker. All workers together send up to this rate times their
    number."""

    concurrency: int = field(default=8, kw_only=True)
    """Number of concurrent requests per worker. All workers together send up to this many times
    their number; `with_(num_workers=1)` makes it the limit of the run."""

    request_timeout_s: float = field(default=120.0, kw_only=True)
    """Timeout in seconds for a silent server."""

    attempts: int = field(default=5, kw_only=True)
    """Maximum number of attempts per request if the server is busy or does not respond."""

    backoff_s: float = field(default=1.0, kw_only=True)
    """Seconds to wait before the second attempt; doubled for each further one. If the server
    requests a longer wait, that is used."""

    def endpoint(self) -> ChatEndpoint:
        return ChatEndpoint(
            self.url,
            self.model,
            self.api_key_variable,
            self.request_timeout_s,
            self.attempts,
            self.backoff_s,
        )

    def endpoint_problems(self) -> Iterator[str]:
        """Yield the problems of these options that can be found before any request."""
        yield from self.endpoint().problems()
        if not self.model:
            yield "model is empty; give the name of the model on the server"
        if self.concurrency < 1:
            yield f"concurrency is {self.concurrency}, but must be 1 or more"
        if self.requests_per_minute is not None and not self.requests_per_minute > 0:
            yield f"requests_per_minute is {self.requests_per_minute}, but must be more than 0"

    def setup(self, worker: WorkerInfo) -> None:
        self._limiter = RateLimiter(self.requests_per_minute)
        self._limiter.wait()
        self.endpoint().check_access()
        self._pool = ThreadPoolExecutor(self.concurrency, "requests")

    def teardown(self) -> None:
        if (pool := vars(self).pop("_pool", None)) is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    def ask_all(self, questions: Iterable[Q], ask: Callable[[Q], str]) -> list[Answer]:
        """Return an answer or an error per question; raise errors that affect all questions."""

        def ask_in_turn(question: Q) -> str:
            self._limiter.wait()
            return ask(question)

        waiting: list[Future[str]] = []
        answers: list[Answer] = []
        try:
            for question in questions:
                waiting.append(self._pool.submit(ask_in_turn, question))
            for future in waiting:
                try:
                    answers.append(future.result())
                except NoAnswerError as error:
                    answers.append(error.with_traceback(None))  # it would keep the questions
        finally:
            for future in waiting:
                future.cancel()
        return answers
