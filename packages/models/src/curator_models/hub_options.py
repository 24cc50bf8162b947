"""Options of stages whose models come from Hugging Face or a folder."""

from dataclasses import dataclass
from typing import TypeVar

from curator_models.hub import ModelSource

Source = TypeVar("Source", bound=ModelSource)


@dataclass(kw_only=True)
class HubOptions:
    """Choose the revision, the cache and the token. A base class besides the one of the stage."""

    revision: str | None = None
    """Revision on Hugging Face: a branch, tag or commit."""

    cache_dir: str | None = None
    """Folder for downloads. The cache of Hugging Face by default."""

    token_variable: str | None = None
    """Environment variable with a Hugging Face token. HF_TOKEN is used by default."""

    def model_source(self, source_type: type[Source], name: str) -> Source:
        """Return the source of a model, given as a folder or a name on Hugging Face."""
        return source_type(name, self.revision, self.cache_dir, self.token_variable)
