"""Captions from an endpoint: requests run in parallel, and pictures fail one by one."""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from curator_core import ProcessingStage, Rejected, attach_model
from curator_models.endpoint_stage import EndpointStage

from curator_image.decoding import ImageDecodeError, Pixels
from curator_image.image_batch import IMAGE, ImageBatch
from curator_image.pixel_view import View

PROMPT = "Describe this picture in one or two sentences."
_JPEG_QUALITY = 90


@dataclass
class EndpointCaptioner(EndpointStage, ProcessingStage[ImageBatch, ImageBatch]):
    """Caption each picture with a model behind an OpenAI-compatible API.

    Works with vLLM, SGLang and others. Pictures without an answer are quarantined with the server's
    error. Each worker first sends a one-word request: if the server refuses the key or the model,
    the run fails before any picture is sent.
    """

    prompt: str = PROMPT
    """The prompt for each picture."""

    caption_field: str = "caption"
    """Column for the caption."""

    max_new_tokens: int = 256
    """Maximum length of a caption, in tokens."""

    short_side: int = 768
    """Length of the shorter side that larger pictures are scaled down to."""

    def inputs(self) -> Sequence[str]:
        return (IMAGE,)

    def outputs(self) -> Sequence[str]:
        return (self.caption_field,)

    def check(self) -> Iterable[str]:
        yield from self.endpoint_problems()
        for name in ("max_new_tokens", "short_side"):
            if getattr(self, name) < 1:
                yield f"{name} is {getattr(self, name)}, but must be 1 or more"

    def process(self, task: ImageBatch) -> Iterable[ImageBatch | Rejected]:
        failed: dict[int, Exception] = {}
        rows: list[int] = []

        def encoded_pictures() -> Iterator[bytes]:
            for row, seen in enumerate(task.pictures(View(short_side=self.short_side))):
                if isinstance(seen, ImageDecodeError):
                    failed[row] = seen
                else:
                    rows.append(row)
                    yield _encode_jpeg(seen)

        captions = []
        answers = self.ask_all(encoded_pictures(), self._ask)
        for row, answer in zip(rows, answers, strict=True):
            if isinstance(answer, str):
                captions.append(answer)
            else:
                failed[row] = answer
        batch, rejected = task.without(dict(sorted(failed.items())))
        captioned = batch.with_columns({self.caption_field: pa.array(captions, pa.string())})
        attach_model(captioned, self.model)
        yield captioned
        yield from rejected

    def _ask(self, jpeg: bytes) -> str:
        return self.endpoint().ask(self.prompt, self.max_new_tokens, [jpeg])


def _encode_jpeg(pixels: Pixels) -> bytes:
    from PIL import Image

    sink = io.BytesIO()
    Image.fromarray(pixels).save(sink, "JPEG", quality=_JPEG_QUALITY)
    return sink.getvalue()
