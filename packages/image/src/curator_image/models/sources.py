"""Sources of transformers models, on Hugging Face or in a folder."""

from dataclasses import dataclass
from typing import ClassVar

from curator_models import locating


@dataclass(frozen=True)
class ClipSource(locating.ModelSource):
    """A transformers model for pictures and texts."""

    extra: ClassVar[str] = "curator-image[clip]"


@dataclass(frozen=True)
class CaptionSource(locating.ModelSource):
    """A vision-language model of transformers."""

    extra: ClassVar[str] = "curator-image[captions]"
