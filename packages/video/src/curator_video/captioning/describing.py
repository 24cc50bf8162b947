"""Captioning base: windows, options and checks shared by all captioners."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TypeAlias

from curator_core.model.provenance import tell_model

from curator_video.analysis.observing import Pixels
from curator_video.analysis.wants import Sampling, Wanted
from curator_video.clips import Clip
from curator_video.models.sampling import timed_pictures_of
from curator_video.sharing import LookingStage
from curator_video.windows import Window, windows_between

Told: TypeAlias = "str | Exception"
"""A caption, or the error that prevented it."""

PROMPT = (
    "These pictures are taken from a video, one after another. Describe in a few sentences who or "
    "what is in it, what happens, where it is, and how the camera moves. Say only what can be seen."
)
_EPSILON = 1e-4
_PLACES = tuple(one.name for one in fields(Window))


def misnamed(option: str, name: str) -> Iterator[str]:
    if not name or name in _PLACES:
        yield f"{option} is {name!r}, which has another meaning in a window; choose another name"


@dataclass(kw_only=True)
class Describing(LookingStage, ABC):
    """Split clips into windows and caption each window.

    A window has 256 pictures of the video; a model sees two per second. Windows that a clip already
    has are kept.
    """

    prompt: str = PROMPT
    """The prompt for the model."""

    caption_field: str = "caption"
    """Name of the caption, in each window and in the index."""

    max_new_tokens: int = 512
    """Maximum length of a caption, in tokens."""

    window_frames: int = 256
    """Number of video pictures per window."""

    remainder_frames: int = 128
    """Minimum number of pictures for the rest of a clip to become a window. A shorter rest is added
    to the last window."""

    fps: float = 2.0
    """Pictures per second that the model sees."""

    height: int = 448
    """Maximum picture height; higher pictures are scaled down. Stages with the same rate and height
    share them."""

    model_field: str | None = field(default="caption_model")
    """Score field for the name of the model; null writes none."""

    batch_size = 8

    @property
    def sampling(self) -> Sampling:
        return Sampling(self.fps, self.height)

    def wanted(self) -> Wanted:
        return Wanted(frames=frozenset({self.sampling}))

    def check(self) -> Iterator[str]:
        yield from misnamed("caption_field", self.caption_field)
        for name in ("max_new_tokens", "window_frames"):
            if getattr(self, name) < 1:
                yield f"{name} is {getattr(self, name)}, but must be 1 or more"
        if not self.fps > 0:
            yield f"fps is {self.fps}, but must be more than 0"

    @abstractmethod
    def told_of(self, shown: Sequence[Sequence[Pixels]]) -> Sequence[Told]:
        """Return a caption or an error for each sequence of pictures."""

    @property
    @abstractmethod
    def known_as(self) -> str:
        """Name of the model."""

    def process_batch(self, tasks: Sequence[Clip]) -> list[Clip | Iterator[Clip]]:
        windows = [self.windows_of(clip) for clip in tasks]
        told = iter(self.told_of([shown for row in windows for _, shown in row]))
        return [
            self._described(clip, [(window, next(told)) for window, _ in row])
            for clip, row in zip(tasks, windows, strict=True)
        ]

    def windows_of(self, clip: Clip) -> list[tuple[Window, list[Pixels]]]:
        """Return the windows of a clip that contain pictures, each with its pictures."""
        span = clip.data
        pictures = timed_pictures_of(self, clip, self.sampling)
        windows: Sequence[Window] = span.windows or windows_between(
            span.start, span.end, span.facts.fps or 25.0, self.window_frames, self.remainder_frames
        )
        found = [(window, _within(window, pictures)) for window in windows]
        return [(window, shown) for window, shown in found if shown]

    def _described(self, clip: Clip, told: Sequence[tuple[Window, Told]]) -> Clip | Iterator[Clip]:
        done = []
        for window, said in told:
            if not isinstance(said, str):
                return failed(clip, said)
            done.append(window.with_caption(self.caption_field, said))
        labels = {self.model_field: self.known_as} if self.model_field else {}
        captioned = clip.with_windows(done).with_scores(**labels)
        tell_model(captioned, self.known_as)
        return captioned


def failed(clip: Clip, reason: Exception) -> Iterator[Clip]:
    """Fail one clip of a batch, so that it can be retried; a rejected clip could not."""
    reason.add_note(f"The clip is {clip.place}.")
    raise reason
    yield


def _within(window: Window, pictures: Sequence[tuple[float, Pixels]]) -> list[Pixels]:
    return [
        pixels
        for time, pixels in pictures
        if window.start - _EPSILON <= time < window.end - _EPSILON
    ]
