"""Cutting: recordings of any length become pieces that a model can take, as they are heard."""

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
    """How many samples there are, also when they are gone."""

    weight: float
    """How much its answer counts among those of its recording."""

    start: int = 0
    """The sample of the row at which it begins."""

    def without_samples(self) -> "Piece":
        return replace(self, samples=self.samples[:0])


def piece_of(samples: "Sound", start: int, weight: float | None = None) -> Piece:
    """A copy of its own, so that what it was cut from is free to go."""
    return Piece(samples.copy(), len(samples), len(samples) if weight is None else weight, start)


@dataclass
class Awaited:
    """A piece that waits for its answer."""

    piece: Piece
    answer: Any = None
    error: Exception | None = None


class Cut(Protocol):
    """How one recording is cut."""

    def ready(self, held: "Sound") -> tuple[list[Piece], "Sound"]:
        """Pieces that are certain, and what is left to be heard on."""

    def rest(self, held: "Sound") -> list[Piece]:
        """The last pieces, when nothing follows."""


class CuttingListener:
    """Hears one row, hands its pieces over as they are complete, and knows who awaits answers."""

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
    """Pieces of one length; what is left over makes the last two of them equally long.

    What is shorter than a model can take is repeated until it is long enough.
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
    """The mean of answers that are numbers, or arrays of them."""
    total = sum(piece.weight for piece, _ in answers)
    return sum(answer * (piece.weight / total) for piece, answer in answers if piece.weight)
