"""Sources of models that generate text."""

from dataclasses import dataclass
from typing import ClassVar

from curator_models import locating


@dataclass(frozen=True)
class WriterSource(locating.ModelSource):
    """A transformers model that generates text from pictures or text."""

    extra: ClassVar[str] = "curator-video[captions]"
