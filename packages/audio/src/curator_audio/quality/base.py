"""Base class of stages whose model gives a few quality scores per recording."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from curator_core import Resources
from curator_models.devices import Device, default_resources
from curator_models.hub import ModelError

from curator_audio.model_stage import AudioModel, AudioPiece, Cutter, EvenCutter, weighted_mean


def load_weights_only(path: Path) -> Any:
    """Load weights without running code from the file."""
    import torch

    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # noqa: BLE001 - invalid files raise any error
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(f"{path} has no weights that can be loaded safely: {reason}") from None


def stack_pieces(pieces: Sequence[AudioPiece]) -> Any:
    """Stack sounds of similar length as rows; shorter ones are repeated instead of zero-padded."""
    import numpy as np
    import torch

    longest = max(piece.length for piece in pieces)
    return torch.from_numpy(np.stack([np.resize(piece.samples, longest) for piece in pieces]))


_LONGEST, _SHORTEST = 10.0, 1.0
"""Piece lengths in seconds that such models were trained on. Scores of pieces are averaged."""


@dataclass(kw_only=True)
class QualityModel(AudioModel):
    """Base class of stages that add scores by a model, and drop recordings below a limit."""

    device: Device = "auto"
    """auto, cuda or cpu."""

    def __post_init__(self) -> None:
        self.resources: Resources = default_resources(self.device, self.name)

    @abstractmethod
    def limits(self) -> Mapping[str, float | None]:
        """Return the columns, each with the lowest score to keep."""

    def column_names(self) -> Sequence[str]:
        return list(self.limits())

    def check(self) -> Iterable[str]:
        yield from super().check()
        for name, limit in self.limits().items():
            if limit is not None and limit != limit:
                yield f"the limit for {name} is not a number"

    def cutter(self) -> Cutter:
        return EvenCutter(round(_LONGEST * self.rate), round(_SHORTEST * self.rate))

    def combine(self, outputs: Sequence[tuple[AudioPiece, Any]]) -> Any:
        return weighted_mean(outputs)

    def build_columns(self, values: Sequence[Any]) -> Mapping[str, pa.Array]:
        return {
            column: pa.array([float(scores[index]) for scores in values], pa.float64())
            for index, column in enumerate(self.column_names())
        }

    def drop_reason(self, value: Any) -> str | None:
        for (name, limit), score in zip(self.limits().items(), value, strict=True):
            if limit is not None and not score >= limit:
                return f"{name} below {limit:g}"
        return None
