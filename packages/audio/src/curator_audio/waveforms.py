"""Waveforms: samples in memory, with their sample rate."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True)
class Waveform:
    """Samples between -1 and 1, with a row per channel."""

    samples: "Samples"
    sample_rate: int

    @property
    def seconds(self) -> float:
        return float(self.samples.shape[1] / self.sample_rate)

    def __reduce__(self) -> str:
        raise TypeError(
            "a waveform stays in the process that decoded it; send the row of the manifest instead"
        )
