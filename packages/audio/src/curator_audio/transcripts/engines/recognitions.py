"""Recognitions: what an engine heard in one recording."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from curator_core import WorkerInfo

    from curator_audio.cutting import Sound


@dataclass(frozen=True)
class Word:
    """A word, and the seconds at which it begins and ends."""

    word: str
    start: float
    end: float


@dataclass(frozen=True)
class Recognition:
    text: str
    language: str | None = None
    words: Sequence[Word] = ()


@dataclass(frozen=True)
class Wishes:
    """How an engine is to listen."""

    language: str | None = None
    words: bool = False
    beam_size: int = 1
    compute_type: str = "int8"
    device: str = "cpu"
    batch_size: int = field(default=8)


class Engine(Protocol):
    """Loads a model in `setup`, and is let go of as a whole."""

    def setup(self, worker: "WorkerInfo") -> str:
        """Load the model; its name and the digest of its weights."""

    def hear(self, sound: "Sound") -> Recognition:
        """One channel at 16 kHz, of any length."""
