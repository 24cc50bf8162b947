"""Embedder: turn texts into vectors."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyarrow as pa
from curator_models.hub import ModelError, read_config
from curator_models.loading import load_pretrained

from curator_text.models.base import ModelStage, TextModel
from curator_text.models.labels import vectors
from curator_text.models.tokenizer import PLACEHOLDER, Prompt, module_list, transformer_in

if TYPE_CHECKING:
    from curator_text.models.networks import Pooling


PoolingChoice: TypeAlias = Literal["auto", "mean", "last_token", "cls"]

_POOLINGS: dict[str, "Pooling"] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last_token",
    "pooling_mode_mean": "mean",
    "pooling_mode_cls": "cls",
}
_MODES = {
    *_POOLINGS,
    "pooling_mode_max_tokens",
    "pooling_mode_mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens",
}
_KNOWN_PARTS = ("Transformer", "Pooling", "Normalize")


@dataclass(kw_only=True)
class TextEmbedder(TextModel):
    """Adds a vector to each text. Reads sentence-transformers folders directly.

    A missing or blank text gets no vector.
    """

    model: str = "sentence-transformers/all-MiniLM-L6-v2"
    """Folder of a model, or its Hugging Face name."""

    embedding_field: str = "embedding"
    """Output column for the vector. Semantic deduplication reads it by default."""

    pooling: PoolingChoice = "auto"
    """How to combine token vectors: `mean`, `last_token` or `cls`. `auto` uses the setting in the
    model's folder, or `mean` if there is none."""

    normalize: bool | None = None
    """Normalize vectors to length 1. If unset, uses the setting in the model's folder."""

    prefix: str = ""
    """Prefix for each text, such as `query: ` for models that need one."""

    max_seq_length: int | None = None
    """Maximum number of tokens of a text passed to the model; by default the model's own limit."""

    model_inference_batch_size: int = 1024
    """Texts per micro-batch. Reduced automatically if the device runs out of memory."""

    def prompt(self) -> Prompt:
        return Prompt(self.prefix + PLACEHOLDER)

    def model_stage(self) -> ModelStage:
        return EmbeddingModel(
            self.source_of(self.model),
            self.embedding_field,
            self.pooling,
            self.normalize,
            inference=self.inference(),
        )


@dataclass
class EmbeddingModel(ModelStage):
    """Adds the vector of each text."""

    embedding_field: str
    pooling: PoolingChoice
    normalize: bool | None

    def outputs(self) -> Sequence[str]:
        return (self.embedding_field,)

    def load(self, folder: Path) -> Any:
        from curator_text.models.networks import Embedder

        parts = module_list(folder)
        _refuse_other_parts(parts, folder)
        pooling = self.pooling if self.pooling != "auto" else pooling_of(folder, parts)
        normalize = self.normalize
        if normalize is None:
            normalize = any(_part_kind(part) == "Normalize" for part in parts)
        backbone = load_pretrained("AutoModel", transformer_in(folder))
        return Embedder(backbone, pooling, normalize)

    def to_columns(self, answers: Sequence[Any]) -> Mapping[str, pa.Array]:
        return {self.embedding_field: vectors(answers)}


def pooling_of(folder: Path, parts: Iterable[Mapping[str, Any]]) -> "Pooling":
    """Return the pooling configured in a sentence-transformers folder; `mean` if there is none."""
    for part in parts:
        if _part_kind(part) != "Pooling":
            continue
        settings = read_config(folder / str(part.get("path", "")))
        chosen = [key for key, value in settings.items() if value is True and key in _MODES]
        if not chosen and (named := settings.get("pooling_mode")):
            chosen = [f"pooling_mode_{named}"]
        if len(chosen) == 1 and chosen[0] in _POOLINGS:
            return _POOLINGS[chosen[0]]
        configured = ", ".join(chosen) or "none"
        raise ModelError(
            f"{folder} uses an unsupported pooling ({configured}); set pooling to mean, "
            "last_token or cls if one of them fits"
        )
    return "mean"


def _part_kind(part: Mapping[str, Any]) -> str:
    return str(part.get("type", "")).rpartition(".")[2]


def _refuse_other_parts(parts: Iterable[Mapping[str, Any]], folder: Path) -> None:
    for part in parts:
        if _part_kind(part) not in _KNOWN_PARTS:
            raise ModelError(
                f"{folder} has a part of type {_part_kind(part)!r}, which needs "
                f"sentence-transformers; supported are {', '.join(_KNOWN_PARTS)}"
            )
