"""Locating: where a text model comes from, and which extra it needs."""

from dataclasses import dataclass
from typing import ClassVar

from curator_models import locating


@dataclass(frozen=True)
class ModelSource(locating.ModelSource):
    """A model for texts. Its dependencies are in `curator-text[models]`."""

    extra: ClassVar[str] = "curator-text[models]"
