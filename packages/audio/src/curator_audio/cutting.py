"""Cutting: split recordings of any length into pieces for a model while decoding."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any, Protocol

from curator_audio.waveforms import Waveform

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Sound = NDArray[np.float32]


@dataclass(frozen=True)
class Piece:
    """One channel of a part of a recording."""

    samples: "Sound"
    length: int
    """Number of samples, also after they are freed."""

    weight: float
    """Weight of its answer among those of the recording."""

    start: int = 0
    """First sample within the row."""

    def without_samples(self) -> "Piece":
        return replace(self, samples=self.samples[:0])


def piece_of(samples: "Sound", start: int, weight: float | None = None) -> Piece:
    """Make a piece from a copy, so that the source array can be freed."""
    return Piece(samples.copy(), len(samples), len(samples) if weight is None else weight, start)


@dataclass
class Awaited:
    """A piece with its answer, once there is one."""

    piece: Piece
    answer: Any = None
    error: Exception | None = None


class Cut(Protocol):
    """Strategy for cutting one recording."""

    def ready(self, held: "Sound") -> tuple[list[Piece], "Sound"]:
        """Return the pieces that are final, and the samples to keep for later."""

    def rest(self, held: "Sound") -> list[Piece]:
        """Return the last pieces, at the end of the recording."""


class CuttingListener:
    """Cut one row, hand over each piece when it is complete, and collect the answers."""

    def __init__(self, cut: Cut, put: Callable[[Piece], Awaited]) -> None:
        self._cut, self._put = cut, put
        self._held: list[Sound] = []
        self._given: list[Awaited] = []

    def hear(self, piece: Waveform) -> None:
        self._held.append(piece.samples[0])
        pieces, rest = self._cut.ready(self._joined())
        self._held = [rest]
        self._given += map(self._put, pieces)

    def answer(self) -> list[Awaited]:
        self._given += map(self._put, self._cut.rest(self._joined()))
        self._held = []
        return self._given

    def _joined(self) -> "Sound":
        import numpy as np

        return self._held[0] if len(self._held) == 1 else np.concatenate(self._held)


@dataclass
class EvenCut:
    """Cut into pieces of equal length; the remainder is divided evenly over the last two.

    Rows shorter than the model's minimum are repeated until they are long enough.
    """

    longest: int
    shortest: int
    _position: int = 0

    def ready(self, held: "Sound") -> tuple[list[Piece], "Sound"]:
        pieces = []
        while len(held) >= 2 * self.longest:
            pieces.append(piece_of(held[: self.longest], self._position))
            held = held[self.longest :]
            self._position += self.longest
        return pieces, held

    def rest(self, held: "Sound") -> list[Piece]:
        count = max(1, ceil(len(held) / self.longest))
        step = ceil(len(held) / count)
        return [
            piece_of(_filled(held[first : first + step], self.shortest), self._position + first)
            for first in range(0, len(held), step)
        ]


def _filled(samples: "Sound", shortest: int) -> "Sound":
    import numpy as np

    return samples if len(samples) >= shortest else np.resize(samples, shortest)


def weighted_mean(answers: Sequence[tuple[Piece, Any]]) -> Any:
    """Return the weighted mean of numbers or arrays."""
    total = sum(piece.weight for piece, _ in answers)
    return sum(answer * (piece.weight / total) for piece, answer in answers if piece.weight)
