"""Sources of video models."""

from dataclasses import dataclass
from typing import ClassVar

from curator_models import locating
from curator_models.locating import ModelError, settings_in


@dataclass(frozen=True)
class VideoModelSource(locating.ModelSource):
    """A transformers model that looks at several pictures at once."""

    extra: ClassVar[str] = "curator-video[clip]"


def refuse_untrusted_code(source: VideoModelSource, trusts: bool) -> None:
    """Raise if the model brings its own code and the user has not allowed it."""
    brought = settings_in(source.folder()).get("auto_map")
    if brought and not trusts:
        place = brought.get("AutoModel", next(iter(brought.values())))
        raise ModelError(
            f"{source.name} brings code of its own ({str(place).partition('.')[0]}.py): look at "
            "it, and set trust_remote_code to true if you trust it"
        )
