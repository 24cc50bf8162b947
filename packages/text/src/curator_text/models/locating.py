"""Where a model of text comes from, and what to install for it."""

from dataclasses import dataclass
from typing import ClassVar

from curator_models import locating


@dataclass(frozen=True)
class ModelSource(locating.ModelSource):
    """A model over texts: `curator-text[models]` brings what it needs."""

    extra: ClassVar[str] = "curator-text[models]"
