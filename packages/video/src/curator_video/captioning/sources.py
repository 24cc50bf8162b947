"""Where models that write come from."""

from dataclasses import dataclass
from typing import ClassVar

from curator_models import locating


@dataclass(frozen=True)
class WriterSource(locating.ModelSource):
    """A model of transformers that writes, about pictures or about texts."""

    extra: ClassVar[str] = "curator-video[captions]"
