"""CLIP and similar models: turn pictures and texts into comparable vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from curator_models.hub import ModelError, ModelSource
from curator_models.loading import load_pretrained, load_tokenizer


@dataclass(frozen=True)
class ClipSource(ModelSource):
    """A transformers model for pictures and texts."""

    extra: ClassVar[str] = "curator-image[clip]"


def load_image_tower(folder: Path) -> Any:
    """Return the model for pictures only; its text part is released."""
    return _drop_part(_load_model(folder), "text_model")


def load_text_tower(folder: Path) -> Any:
    """Return the model for texts only; its vision part is released."""
    return _drop_part(_load_model(folder), "vision_model")


def _load_model(folder: Path) -> Any:
    model = load_pretrained("AutoModel", folder)
    if not (hasattr(model, "get_image_features") and hasattr(model, "get_text_features")):
        kind = type(model).__name__
        raise ModelError(f"{folder} is a {kind}, which cannot compare pictures with texts")
    return model


def _drop_part(model: Any, part: str) -> Any:
    if hasattr(model, part):
        setattr(model, part, None)
    return model


def image_vectors(model: Any, pixel_values: Any) -> Any:
    """Return one unit vector per picture."""
    return _normalize(model.get_image_features(pixel_values=pixel_values))


def text_vectors(model: Any, tokens: Any) -> Any:
    """Return one unit vector per text."""
    return _normalize(model.get_text_features(**tokens))


def _normalize(found: Any) -> Any:
    from torch.nn.functional import normalize

    return normalize(getattr(found, "pooler_output", found).float(), dim=-1)


class ClipTokenizer:
    """Tokenize texts for a model, truncated to its maximum length."""

    def __init__(self, folder: Path, model: Any) -> None:
        self._tokenizer = load_tokenizer(folder)
        settings = getattr(model.config, "text_config", model.config)
        self._most = int(getattr(settings, "max_position_embeddings", 77))
        # SigLIP was trained on texts padded to the maximum length, CLIP on texts without padding.
        self._padding = "max_length" if "siglip" in model.config.model_type else True

    def tokens(self, texts: Sequence[str], device: Any) -> Any:
        return self._tokenizer(
            list(texts),
            padding=self._padding,
            truncation=True,
            max_length=self._most,
            return_tensors="pt",
        ).to(device)
