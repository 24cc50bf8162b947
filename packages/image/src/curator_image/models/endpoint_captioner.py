"""Captions from an endpoint: requests run in parallel, and pictures fail one by one."""

import io
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import pyarrow as pa
from curator_core import ProcessingStage, Rejected, WorkerInfo, attach_model
from curator_models.endpoints import ChatEndpoint, NoAnswerError

from curator_image.decoding import ImageDecodeError, Pixels
from curator_image.image_batch import IMAGE, ImageBatch
from curator_image.pixel_view import View

PROMPT = "Describe this picture in one or two sentences."
_JPEG_QUALITY = 90


@dataclass
class EndpointCaptioner(ProcessingStage[ImageBatch, ImageBatch]):
    """Caption each picture with a model behind an OpenAI-compatible API.

    Works with vLLM, SGLang and others. Pictures without an answer are quarantined with the server's
    error. Each worker first sends a one-word request: if the server refuses the key or the model,
    the run fails before any picture is sent.
    """

    url: str
    """Address of the server, up to `/v1`."""

    model: str
    """Name of the model on the server."""

    prompt: str = PROMPT
    """The prompt for each picture."""

    api_key_variable: str | None = None
    """Environment variable with the API key."""

    caption_field: str = "caption"
    """Column for the caption."""

    max_new_tokens: int = 256
    """Maximum length of a caption, in tokens."""

    short_side: int = 768
    """Length of the shorter side that larger pictures are scaled down to."""

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

    def inputs(self) -> Sequence[str]:
        return (IMAGE,)

    def outputs(self) -> Sequence[str]:
        return (self.caption_field,)

    def check(self) -> Iterable[str]:
        yield from self._endpoint().problems()
        for name in ("concurrency", "max_new_tokens", "short_side"):
            if getattr(self, name) < 1:
                yield f"{name} is {getattr(self, name)}, but must be 1 or more"

    def _endpoint(self) -> ChatEndpoint:
        return ChatEndpoint(
            self.url,
            self.model,
            self.api_key_variable,
            self.request_timeout_s,
            self.attempts,
            self.backoff_s,
        )

    def setup(self, worker: WorkerInfo) -> None:
        self._endpoint().check_access()
        self._pool = ThreadPoolExecutor(self.concurrency, "captions")

    def teardown(self) -> None:
        if (pool := vars(self).pop("_pool", None)) is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    def process(self, task: ImageBatch) -> Iterable[ImageBatch | Rejected]:
        failed: dict[int, Exception] = {}
        asked: dict[int, Future[str]] = {}
        for row, seen in enumerate(task.pictures(View(short_side=self.short_side))):
            if isinstance(seen, ImageDecodeError):
                failed[row] = seen
            else:
                asked[row] = self._pool.submit(self._ask, _encode_jpeg(seen))
        captions = []
        try:
            for row, answer in asked.items():
                try:
                    captions.append(answer.result())
                except NoAnswerError as error:
                    failed[row] = error.with_traceback(None)  # a traceback would keep this batch
        finally:
            for answer in asked.values():
                answer.cancel()
        batch, rejected = task.without(dict(sorted(failed.items())))
        captioned = batch.with_columns({self.caption_field: pa.array(captions, pa.string())})
        attach_model(captioned, self.model)
        yield captioned
        yield from rejected

    def _ask(self, jpeg: bytes) -> str:
        return self._endpoint().ask(self.prompt, self.max_new_tokens, [jpeg])


def _encode_jpeg(pixels: Pixels) -> bytes:
    from PIL import Image

    sink = io.BytesIO()
    Image.fromarray(pixels).save(sink, "JPEG", quality=_JPEG_QUALITY)
    return sink.getvalue()
