"""What stages want to know about the pictures of a clip."""

from dataclasses import dataclass, field

MOTION_FPS = 2.0
"""Motion vectors and sharpness are sampled this often per second."""


@dataclass(frozen=True, order=True)
class Sampling:
    """Pictures sampled at `fps`, scaled down to `height` if higher; 0 keeps the original size.

    A sample is the first picture at or after each sampling time. Sampling times count from the
    beginning of the video, so all clips of a video and all stages select the same pictures.
    """

    fps: float
    height: int = 0


@dataclass(frozen=True)
class Wanted:
    """What one decode has to measure."""

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
        """Whether all pictures must be decoded. Sampling at a rate can skip some."""
        return self.luma or self.motion or self.thumbs
