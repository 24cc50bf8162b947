"""What is known of a video without decoding it."""

from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True)
class AudioFacts:
    """The first audio track."""

    codec: str
    sample_rate: int
    channels: int


@dataclass(frozen=True)
class VideoFacts:
    """The video track, and the file around it.

    `width` and `height` are those of the picture as it is shown: turned by `rotation` degrees,
    counterclockwise, against what is stored. Times of clips count from `start`, the timestamp of
    the first picture.
    """

    container: str
    codec: str
    width: int
    height: int
    fps: float
    duration: float
    frames: int | None = None
    rotation: int = 0
    is_variable: bool = False
    pixel_format: str = ""
    bit_depth: int = 8
    bit_rate: int = 0
    start: float = 0.0
    audio: AudioFacts | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> Self:
        audio = facts.get("audio")
        return cls(**{**facts, "audio": None if audio is None else AudioFacts(**audio)})
