"""Watermark detection: find pictures that show a watermark's words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from curator_core import AnyStage, Dropped, InputError, ProcessingStage

from curator_image.batches import ImageBatch
from curator_image.models.text_areas import TextAreaModel
from curator_image.models.thresholds import divided

WORDS = (
    "123rf", "adobe stock", "alamy", "bigstock", "can stock photo", "deposit photos", "dreamstime",
    "fotolia", "freepik", "getty images", "istock", "sample photo", "shutterstock", "stock photo",
    "vectorstock", "watermark",
)  # fmt: skip


@dataclass(kw_only=True)
class WatermarkFilter(TextAreaModel):
    """Drop pictures that show words of watermarks, such as names of stock agencies.

    PaddleOCR's networks read the text (`rapidocr`, includes the weights). Faint watermarks, and
    those without words, are missed.
    """

    words: list[str] = field(default_factory=lambda: list(WORDS))
    """Words to look for. Case, spaces and punctuation are ignored."""

    watermark_field: str = "watermark"
    """Column for the word that was found; null if there is none."""

    text_field: str = "text_seen"
    """Column for all text that was read, line by line."""

    drops: bool = True
    """Drop pictures with a watermark; otherwise only mark them."""

    def text_column(self) -> str:
        return self.text_field

    def other_stages(self) -> Sequence[AnyStage]:
        return [
            MarkedPictures(self.text_field, tuple(self.words), self.watermark_field, self.drops)
        ]


@dataclass
class MarkedPictures(ProcessingStage[ImageBatch, ImageBatch]):
    """Look for words in the text that was read."""

    text_field: str
    words: tuple[str, ...]
    watermark_field: str
    drops: bool

    def inputs(self) -> Sequence[str]:
        return (self.text_field,)

    def outputs(self) -> Sequence[str]:
        return (self.watermark_field,)

    def check(self) -> Iterable[str]:
        if not self.words:
            yield "words is empty; name what marks a picture, or leave it out"
        for word in self.words:
            if not _bare(word):
                yield f"words has {word!r}, which has neither letters nor digits"

    def process(self, task: ImageBatch) -> list[ImageBatch | Dropped]:
        texts = task.data.column(self.text_field)
        if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
            raise InputError(f"column {self.text_field!r} holds {texts.type}, but must hold text")
        found = [self.mark_in(text) for text in texts.to_pylist()]
        marked = task.with_columns({self.watermark_field: pa.array(found, pa.string())})
        reasons = [f"watermark: {word}" if word else None for word in found]
        return divided(marked, reasons) if self.drops else [marked]

    def mark_in(self, text: str | None) -> str | None:
        """Return the first of the words in a text, ignoring case, spaces and punctuation."""
        bare = _bare(text or "")
        return next((word for word in self.words if _bare(word) in bare), None)


def _bare(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())
