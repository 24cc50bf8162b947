"""Scoring: base class of stages whose model gives a few scores per recording."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from curator_core import Resources
from curator_models.devices import Device, resources_for

from curator_audio.cutting import Cut, EvenCut, Piece, weighted_mean
from curator_audio.inferring import AudioModel

_LONGEST, _SHORTEST = 10.0, 1.0
"""Piece lengths in seconds that such models were trained on. Scores of pieces are averaged."""


@dataclass(kw_only=True)
class ScoringModel(AudioModel):
    """Add scores by a model, and drop recordings below a limit."""

    device: Device = "auto"
    """auto, cuda or cpu."""

    def __post_init__(self) -> None:
        self.resources: Resources = resources_for(self.device, self.name)

    @abstractmethod
    def limits(self) -> Mapping[str, float | None]:
        """Return the columns, each with the lowest score to keep."""

    def columns(self) -> Sequence[str]:
        return list(self.limits())

    def check(self) -> Iterable[str]:
        yield from super().check()
        for name, limit in self.limits().items():
            if limit is not None and limit != limit:
                yield f"the limit for {name} is no number"

    def cut(self) -> Cut:
        return EvenCut(round(_LONGEST * self.rate), round(_SHORTEST * self.rate))

    def amount(self, answers: Sequence[tuple[Piece, Any]]) -> Any:
        return weighted_mean(answers)

    def described(self, amounts: Sequence[Any]) -> Mapping[str, pa.Array]:
        return {
            column: pa.array([float(scores[place]) for scores in amounts], pa.float64())
            for place, column in enumerate(self.columns())
        }

    def fault(self, amount: Any) -> str | None:
        for (name, limit), score in zip(self.limits().items(), amount, strict=True):
            if limit is not None and not score >= limit:
                return f"{name} below {limit:g}"
        return None
