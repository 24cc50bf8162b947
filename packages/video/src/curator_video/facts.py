"""Facts about a video that need no full decode."""

from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True)
class AudioFacts:
    """Facts about the first audio track."""

    codec: str
    sample_rate: int
    channels: int


UNSPECIFIED = 2
_HDR = {16: "PQ", 18: "HLG"}


@dataclass(frozen=True)
class ColorFacts:
    """Colour encoding, as ITU-T H.273 code points; 2 is unspecified."""

    primaries: int = UNSPECIFIED
    transfer: int = UNSPECIFIED
    matrix: int = UNSPECIFIED
    is_full_range: bool = False

    @property
    def hdr(self) -> str | None:
        """`PQ` or `HLG` for high dynamic range, else None."""
        return _HDR.get(self.transfer)


@dataclass(frozen=True)
class VideoFacts:
    """Facts about the video track and its file.

    `width` and `height` are those of the displayed picture: rotated by `rotation` degrees
    counterclockwise from the stored one. Clip times count from `start`, the timestamp of the first
    picture. `sample_aspect_ratio` is the width of a stored pixel to its height.
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
        """Whether a picture may be shown for long. Matroska and WebM do not announce it."""
        return self.is_variable or "matroska" in self.container

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> Self:
        audio, color = facts.get("audio"), facts.get("color", {})
        known = {"audio": None if audio is None else AudioFacts(**audio)}
        return cls(**{**facts, **known, "color": ColorFacts(**color)})
