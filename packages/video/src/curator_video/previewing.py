"""Clip previews: a small animation of each clip, for viewing without a video player."""

from collections.abc import Iterator
from dataclasses import dataclass

from curator_video.analysis.wants import Sampling, Wanted
from curator_video.clips import Clip
from curator_video.models.sampling import pictures_of
from curator_video.sharing import LookingStage


@dataclass
class ClipPreviewer(LookingStage):
    """Make an animated WebP of each clip, which the writer puts into `previews/`.

    Its pictures come from the shared decode.
    """

    fps: float = 1.0
    """Pictures per second, both sampled and shown."""

    height: int = 240
    """Maximum height in pixels."""

    quality: int = 50
    """Quality of the WebP, from 0 to 100."""

    def check(self) -> Iterator[str]:
        if not self.fps > 0:
            yield f"fps is {self.fps}, but must be more than 0"
        if self.height < 1:
            yield f"height is {self.height}, but must be 1 or more"
        if not 0 <= self.quality <= 100:
            yield f"quality is {self.quality}, but must lie between 0 and 100"

    def wanted(self) -> Wanted:
        return Wanted(frames=frozenset({Sampling(self.fps, self.height)}))

    def process(self, task: Clip) -> Clip:
        from curator_video.stills import animation

        pictures = pictures_of(self, task, Sampling(self.fps, self.height))
        return task.with_preview(animation(pictures, self.fps, self.quality))
