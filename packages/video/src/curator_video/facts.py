"""What is known of a video without decoding it."""

from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True)
class AudioFacts:
    """The first audio track."""

    codec: str
    sample_rate: int
    channels: int


UNSPECIFIED = 2
_HDR = {16: "PQ", 18: "HLG"}


@dataclass(frozen=True)
class ColorFacts:
    """How numbers stand for colours, in the code points of ITU-T H.273; 2 is unspecified."""

    primaries: int = UNSPECIFIED
    transfer: int = UNSPECIFIED
    matrix: int = UNSPECIFIED
    is_full_range: bool = False

    @property
    def hdr(self) -> str | None:
        """`PQ` or `HLG` where brightness goes beyond that of usual screens."""
        return _HDR.get(self.transfer)


@dataclass(frozen=True)
class VideoFacts:
    """The video track, and the file around it.

    `width` and `height` are those of the picture as it is shown: turned by `rotation` degrees,
    counterclockwise, against what is stored. Times of clips count from `start`, the timestamp of
    the first picture. Pixels are `sample_aspect_ratio` times as wide as they are high, as stored.
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
    sample_aspect_ratio: str = "1:1"
    color: ColorFacts = ColorFacts()
    is_interlaced: bool = False

    @property
    def may_hold_pictures(self) -> bool:
        """Whether a picture may be shown for long. Nothing announces that in Matroska and WebM."""
        return self.is_variable or "matroska" in self.container

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> Self:
        audio, color = facts.get("audio"), facts.get("color", {})
        known = {"audio": None if audio is None else AudioFacts(**audio)}
        return cls(**{**facts, **known, "color": ColorFacts(**color)})
