"""What stages want to know of the pictures of a clip."""

from dataclasses import dataclass, field

MOTION_FPS = 2.0
"""Motion vectors and sharpness are looked at so many times a second."""


@dataclass(frozen=True, order=True)
class Sampling:
    """Pictures at so many a second, not higher than `height`; as large as they are unless given.

    They are the first at or after each point of time that the rate gives, counted from the
    beginning of the video: so all clips of a video, and all stages, mean the same pictures.
    """

    fps: float
    height: int = 0


@dataclass(frozen=True)
class Wanted:
    """What is to be found out in one decode."""

    luma: bool = False
    motion: bool = False
    sharpness: bool = False
    thumbs: bool = False
    frames: frozenset[Sampling] = field(default_factory=frozenset)

    def __or__(self, other: "Wanted") -> "Wanted":
        return Wanted(
            self.luma or other.luma,
            self.motion or other.motion,
            self.sharpness or other.sharpness,
            self.thumbs or other.thumbs,
            self.frames | other.frames,
        )

    def __contains__(self, other: "Wanted") -> bool:
        return self | other == self

    def __bool__(self) -> bool:
        return self != Wanted()

    @property
    def needs_every_picture(self) -> bool:
        """Pictures at a rate are found without decoding all the others."""
        return self.luma or self.motion or self.thumbs
