"""Recognitions: the interface of engines, and their results."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from curator_core import WorkerInfo

    from curator_audio.cutting import Sound


@dataclass(frozen=True)
class Word:
    """A word with its start and end in seconds."""

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
    """Options of an engine."""

    language: str | None = None
    words: bool = False
    beam_size: int = 1
    compute_type: str = "int8"
    device: str = "cpu"
    batch_size: int = field(default=8)


class Engine(Protocol):
    """A speech recognition model, loaded in `setup`."""

    def setup(self, worker: "WorkerInfo") -> str:
        """Load the model; return its name and the digest of its weights."""

    def hear(self, sound: "Sound") -> Recognition:
        """Transcribe one channel at 16 kHz, of any length."""
