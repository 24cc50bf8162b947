"""Base classes of captioners and caption enhancers: windows, options, checks."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from typing import TypeAlias

from curator_core import ProcessingStage, Rejected, attach_model

from curator_video.analysis.frame_stage import FrameStage
from curator_video.analysis.measurements import FrameNeeds, Pixels
from curator_video.analysis.sampling import Sampling
from curator_video.tasks import CaptionWindow, Clip

CaptionResult: TypeAlias = "str | Exception"
"""A caption, or the error that prevented it."""

CAPTION_PROMPT = (
    "These pictures are taken from a video, one after another. Describe in a few sentences who or "
    "what is in it, what happens, where it is, and how the camera moves. Say only what can be seen."
)

_EPSILON = 1e-4
_WINDOW_FIELDS = tuple(one.name for one in fields(CaptionWindow))

CAPTION = "{caption}"

REWRITE_PROMPT = (
    "Here is a description of a part of a video. Write it anew as one fluent and exact paragraph, "
    "without repetitions, and add nothing to what it says.\n\n" + CAPTION
)


def check_field_name(option: str, name: str) -> Iterator[str]:
    if not name or name in _WINDOW_FIELDS:
        yield f"{option} is {name!r}, which is a field of every window; choose another name"


@dataclass(kw_only=True)
class WindowCaptioner(FrameStage, ABC):
    """Split clips into windows and caption each window.

    A window has 256 frames of the video; a model sees two per second. Windows that a clip already
    has are kept.
    """

    prompt: str = CAPTION_PROMPT
    """The prompt for the model."""

    caption_field: str = "caption"
    """Name of the caption, in each window and in the index."""

    max_new_tokens: int = 512
    """Maximum length of a caption, in tokens."""

    window_frames: int = 256
    """Number of video frames per window."""

    remainder_frames: int = 128
    """Minimum number of frames for the rest of a clip to become a window. A shorter rest is added
    to the last window."""

    fps: float = 2.0
    """Frames per second that the model sees."""

    height: int = 448
    """Maximum frame height; higher frames are scaled down. Stages with the same rate and height
    share them."""

    model_field: str | None = field(default="caption_model")
    """Score field for the name of the model; null writes none."""

    batch_size = 8

    @property
    def sampling(self) -> Sampling:
        return Sampling(self.fps, self.height)

    def frame_needs(self) -> FrameNeeds:
        return FrameNeeds(frames=frozenset({self.sampling}))

    def check(self) -> Iterator[str]:
        yield from check_field_name("caption_field", self.caption_field)
        for name in ("max_new_tokens", "window_frames"):
            if getattr(self, name) < 1:
                yield f"{name} is {getattr(self, name)}, but must be 1 or more"
        if not self.fps > 0:
            yield f"fps is {self.fps}, but must be more than 0"

    @abstractmethod
    def caption_windows(self, windows: Sequence[Sequence[Pixels]]) -> Sequence[CaptionResult]:
        """Return a caption or an error for each window, given its frames."""

    @property
    @abstractmethod
    def model_label(self) -> str:
        """Name of the model."""

    def process_batch(self, tasks: Sequence[Clip]) -> list[Clip | Iterator[Clip]]:
        windows = [self.sampled_windows(clip) for clip in tasks]
        results = iter(self.caption_windows([frames for row in windows for _, frames in row]))
        return [
            self._with_captions(clip, [(window, next(results)) for window, _ in row])
            for clip, row in zip(tasks, windows, strict=True)
        ]

    def sampled_windows(self, clip: Clip) -> list[tuple[CaptionWindow, list[Pixels]]]:
        """Return the windows of a clip that contain frames, each with its frames."""
        span = clip.data
        frames = self.sample_timed_frames(clip, self.sampling)
        windows: Sequence[CaptionWindow] = span.windows or split_windows(
            span.start, span.end, span.facts.fps or 25.0, self.window_frames, self.remainder_frames
        )
        found = [(window, _frames_in(window, frames)) for window in windows]
        return [(window, inside) for window, inside in found if inside]

    def _with_captions(
        self, clip: Clip, results: Sequence[tuple[CaptionWindow, CaptionResult]]
    ) -> Clip | Iterator[Clip]:
        done = []
        for window, result in results:
            if not isinstance(result, str):
                return fail_clip(clip, result)
            done.append(window.with_caption(self.caption_field, result))
        labels = {self.model_field: self.model_label} if self.model_field else {}
        captioned = clip.with_windows(done).with_scores(**labels)
        attach_model(captioned, self.model_label)
        return captioned


def fail_clip(clip: Clip, reason: Exception) -> Iterator[Clip]:
    """Fail one clip of a batch, so that it can be retried; a rejected clip could not."""
    reason.add_note(f"The clip is {clip.describe()}.")
    raise reason
    yield


def _frames_in(window: CaptionWindow, frames: Sequence[tuple[float, Pixels]]) -> list[Pixels]:
    return [
        pixels for time, pixels in frames if window.start - _EPSILON <= time < window.end - _EPSILON
    ]


def split_windows(
    start: float, end: float, fps: float, frames: int, remainder: int
) -> list[CaptionWindow]:
    """Split into windows of `frames` frames; a rest below `remainder` is added to the last one."""
    count = max(1, round((end - start) * fps))
    edges = list(range(0, count, frames))
    if len(edges) > 1 and count - edges[-1] < remainder:
        edges.pop()
    bounds = zip(edges, [*edges[1:], count], strict=True)
    windows = [
        CaptionWindow(first, last, round(start + first / fps, 6), round(start + last / fps, 6))
        for first, last in bounds
    ]
    windows[-1] = replace(windows[-1], end=end)  # a variable frame rate must not move the end
    return windows


@dataclass(kw_only=True)
class CaptionRewriter(ProcessingStage[Clip, Clip], ABC):
    """Rewrite the caption of each window and keep both versions."""

    prompt: str = REWRITE_PROMPT
    """The prompt for the model; {caption} is replaced by the original caption."""

    caption_field: str = "caption"
    """Name of the caption to read."""

    enhanced_field: str = "enhanced_caption"
    """Name of the caption to write."""

    max_new_tokens: int = 512
    """Maximum length of a caption, in tokens."""

    model_field: str | None = "enhanced_caption_model"
    """Score field for the name of the model; null writes none."""

    batch_size = 8

    def check(self) -> Iterator[str]:
        yield from check_field_name("enhanced_field", self.enhanced_field)
        if CAPTION not in self.prompt:
            yield f"prompt has no place for the caption; put {CAPTION} into it"
        if self.max_new_tokens < 1:
            yield f"max_new_tokens is {self.max_new_tokens}, but must be 1 or more"

    @abstractmethod
    def generate(self, prompts: Sequence[str]) -> Sequence[CaptionResult]:
        """Return a caption or an error for each prompt."""

    @property
    @abstractmethod
    def model_label(self) -> str:
        """Name of the model."""

    def process_batch(self, tasks: Sequence[Clip]) -> list[Clip | Rejected | Iterator[Clip]]:
        prompts = [
            self.prompt.replace(CAPTION, window.captions[self.caption_field])
            for clip in tasks
            if self._has_captions(clip)
            for window in clip.data.windows
        ]
        written = iter(self.generate(prompts))
        return [
            self._with_rewritten_captions(clip, list(islice(written, len(clip.data.windows))))
            if self._has_captions(clip)
            else self._reject(clip)
            for clip in tasks
        ]

    def _has_captions(self, clip: Clip) -> bool:
        windows = clip.data.windows
        return bool(windows) and all(self.caption_field in one.captions for one in windows)

    def _reject(self, clip: Clip) -> Rejected:
        named = {name for window in clip.data.windows for name in window.captions}
        has = f"has {', '.join(sorted(named))}" if named else "has no captions"
        return Rejected(
            f"no caption called {self.caption_field!r}: the clip {has}; put a captioner before "
            "this stage",
            where=clip.describe(),
        )

    def _with_rewritten_captions(
        self, clip: Clip, results: Sequence[CaptionResult]
    ) -> Clip | Iterator[Clip]:
        done = []
        for window, result in zip(clip.data.windows, results, strict=True):
            if not isinstance(result, str):
                return fail_clip(clip, result)
            done.append(window.with_caption(self.enhanced_field, result))
        labels = {self.model_field: self.model_label} if self.model_field else {}
        rewritten = clip.with_windows(done).with_scores(**labels)
        attach_model(rewritten, self.model_label)
        return rewritten
