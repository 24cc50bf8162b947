"""Sources: models of transformers, at Hugging Face or in a folder."""

from dataclasses import dataclass
from typing import ClassVar

from curator_models import locating


@dataclass(frozen=True)
class ClipSource(locating.ModelSource):
    """A model of transformers that knows pictures and texts."""

    extra: ClassVar[str] = "curator-image[clip]"


@dataclass(frozen=True)
class CaptionSource(locating.ModelSource):
    """A vision-language model of transformers."""

    extra: ClassVar[str] = "curator-image[captions]"
