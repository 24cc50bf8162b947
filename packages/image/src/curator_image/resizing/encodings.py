"""Encodings: output formats and their quality."""

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from PIL import Image

OutputFormat: TypeAlias = Literal["same", "jpeg", "png", "webp"]

EXTENSIONS = {"jpeg": "jpg", "png": "png", "webp": "webp"}


@dataclass(frozen=True)
class Encoding:
    """An output format, and the quality of lossy formats."""

    format: OutputFormat = "same"
    quality: int = 95

    def format_for(self, found: str) -> str:
        """Return the output format for an input format.

        `same` turns other formats into PNG (lossless).
        """
        if self.format != "same":
            return self.format
        found = "jpeg" if found == "mpo" else found
        return found if found in EXTENSIONS else "png"

    def encoded(self, picture: "Image.Image", kind: str) -> bytes:
        sink = io.BytesIO()
        if kind == "jpeg":
            picture.save(sink, "JPEG", quality=self.quality, subsampling=self._subsampling)
        elif kind == "webp":
            picture.save(sink, "WEBP", quality=self.quality)
        else:
            picture.save(sink, "PNG")
        return sink.getvalue()

    @property
    def _subsampling(self) -> int:
        """Chroma subsampling: none at high quality."""
        return 0 if self.quality >= 95 else 2
