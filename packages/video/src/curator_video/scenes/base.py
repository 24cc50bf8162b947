"""Scene detection: one pass over a video finds the shots and yields clips as they complete."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from curator_core import Dropped, ProcessingStage, Rejected, attach_model
from curator_core.errors import hint

from curator_video.analysis.frame_stage import SharedDecode, cache_analysis
from curator_video.analysis.measurements import ClipAnalysis, FrameMeasurements, FrameNeeds, Pixels
from curator_video.analysis.shared_decode import measure_frames
from curator_video.decoding import DamagedSpan
from curator_video.tasks import Clip, ClipSpan, ScoreValue, Video
from curator_video.timeline import last_frame_end

LongScenes: TypeAlias = Literal["stride", "truncate"]
Edges: TypeAlias = tuple[float, float]
_ROUNDING = 1e-6

_EPSILON = 1e-4

_MAX_HELD_S = 1.0
"""Seconds. A last frame shown for longer than this beyond the usual step is part of its shot."""

_MAX_FRAME_S = 1000.0
"""Seconds. A frame that seems to be shown for longer than this has a wrong time."""

SHOT_MODEL = "shot_model"
"""Score field for the model or method that found the shots."""


@dataclass(frozen=True)
class ClipLengths:
    """Length limits of clips, and the margin cropped at both ends of a shot."""

    shortest: float = 2.0
    longest: float = 10.0
    long_scenes: LongScenes = "stride"
    crop: float = 0.5


class OpenShot:
    """A shot that may continue. Clips are yielded as soon as they are final."""

    def __init__(self, start: float, lengths: ClipLengths) -> None:
        self._lengths = lengths
        self._next = start + lengths.crop
        self._is_done = False
        self.clips = 0

    @property
    def needs_from(self) -> float:
        """Measurements from before this time are no longer needed."""
        return float("inf") if self._is_done else self._next

    def extend(self, time: float) -> Iterator[Edges]:
        """Yield the clips that are final once the shot continues up to `time`."""
        while self._next + self._lengths.longest + self._lengths.crop <= time + _ROUNDING:
            if self._is_done:
                return
            yield self._take(self._next + self._lengths.longest)

    def close(self, time: float) -> Iterator[Edges]:
        """Yield the last clips: the shot ends at `time`."""
        yield from self.extend(time)
        last = min(time - self._lengths.crop, self._next + self._lengths.longest)
        if not self._is_done and last - self._next >= self._lengths.shortest - _ROUNDING:
            yield self._take(last)

    def _take(self, end: float) -> Edges:
        edges = (round(self._next, 6), round(end, 6))
        self._next = end
        self._is_done = self._lengths.long_scenes == "truncate"
        self.clips += 1
        return edges


class ShotDetector(ABC):
    """Take frames one by one; decide for each, some frames later, whether a shot ends there.

    All frames of a dissolve or fade count as ends: a shot ends with the first of them, and the
    next one begins after the last.
    """

    @abstractmethod
    def push(self, thumb: Pixels) -> list[bool]:
        """Add a frame; return the decisions that are now known, in order and each only once."""

    @abstractmethod
    def finish(self) -> list[bool]:
        """Return the remaining decisions and reset the detector."""


@dataclass
class ShotSplitter(SharedDecode, ProcessingStage[Video, Clip]):
    """Base class of shot splitters: split videos into clips where a detector finds shot ends."""

    min_length_s: float = 2.0
    """Minimum duration of a shot in seconds. Shorter shots make no clip."""

    max_length_s: float = 10.0
    """Maximum duration of a clip in seconds."""

    long_scenes: LongScenes = "stride"
    """How longer shots are split: `stride` makes several clips, `truncate` keeps the first one."""

    crop_s: float = 0.5
    """Seconds to leave out at the beginning and the end of each shot."""

    @abstractmethod
    def detector(self) -> ShotDetector:
        """Return a new detector; called for each video."""

    def labels(self) -> dict[str, ScoreValue]:
        """Return scores for each clip that record how it was found."""
        return {}

    def check(self) -> Iterator[str]:
        if self.long_scenes not in get_args(LongScenes):
            yield (
                f"long_scenes is {self.long_scenes!r}{hint(self.long_scenes, get_args(LongScenes))}"
            )
        if not 0 < self.min_length_s <= self.max_length_s:
            yield (
                f"min_length_s is {self.min_length_s} and max_length_s {self.max_length_s}; "
                "min_length_s must be more than 0, and not more than max_length_s"
            )
        if self.crop_s < 0:
            yield f"crop_s is {self.crop_s}, but must be 0 or more"

    def process(self, task: Video) -> Iterator[Clip | Dropped | Rejected]:
        lengths = ClipLengths(self.min_length_s, self.max_length_s, self.long_scenes, self.crop_s)
        collector = _ShotCollector(task, self.detector(), lengths, self.later_needs, self.labels())
        for item in measure_frames(task.data, self.later_needs | FrameNeeds(thumbs=True)):
            if isinstance(item, DamagedSpan):
                yield from collector.add_damage(item)
            else:
                yield from collector.add(item)
        yield from collector.finish()
        if not collector.clips:
            yield Dropped(f"no shot of {self.min_length_s:g} s", records=task)


class _ShotCollector:
    """Find shots, and keep measurements until no clip can need them."""

    def __init__(
        self,
        video: Video,
        detector: ShotDetector,
        lengths: ClipLengths,
        needs: FrameNeeds,
        labels: dict[str, ScoreValue],
    ) -> None:
        self._labels = labels
        self._video = video
        self._facts = video.get_facts()
        self._detector = detector
        self._lengths = lengths
        self._needs = needs
        self._undecided: deque[FrameMeasurements] = deque()
        self._seen: deque[FrameMeasurements] = deque()
        self._shot: OpenShot | None = None
        self._last = 0.0
        self._step = 1 / (self._facts.fps or 25)
        self.clips = 0

    def add(self, measured: "FrameMeasurements") -> Iterator[Clip]:
        thumb, measured.thumb = measured.thumb, None
        self._undecided.append(measured)
        if thumb is not None:
            yield from self._decide(self._detector.push(thumb))

    def add_damage(self, damage: "DamagedSpan") -> Iterator[Clip | Rejected]:
        yield from self.finish(min(damage.start, self._facts.duration or damage.start))
        where = f"{self._video.path}[{damage.start:.2f}-{damage.end:.2f} s]"
        yield Rejected(damage.reason, where)

    def finish(self, at: float | None = None) -> Iterator[Clip]:
        """Finish the shot, because the video ends or its next part is damaged."""
        yield from self._decide(self._detector.finish())
        if self._shot is not None:
            edges = self._shot.close(self._video_end() if at is None else at)
            yield from self._make_clips(list(edges))
        self._shot = None
        self._seen.clear()

    def _video_end(self) -> float:
        """Return when the last frame of the video ends; it may be shown for long."""
        end = last_frame_end(self._video.data, self._facts)
        is_held = self._facts.is_variable or end > self._last + self._step + _MAX_HELD_S
        return min(end, self._last + _MAX_FRAME_S) if is_held else self._last + self._step

    def _next_start(self) -> float:
        """Return when the frame after the last one is shown."""
        if self._facts.may_hold_frames and self._undecided:
            return self._undecided[0].time
        return self._last + self._step

    def _decide(self, decisions: list[bool]) -> Iterator[Clip]:
        for is_end in decisions:
            measured = self._undecided.popleft()
            self._last = measured.time
            if self._shot is None:
                if is_end:
                    continue  # within a dissolve: the next shot begins after it
                self._shot = OpenShot(measured.time, self._lengths)
            self._seen.append(measured)
            if is_end:
                yield from self._make_clips(list(self._shot.close(self._next_start())))
                self._shot = None
                self._seen.clear()
            else:
                yield from self._make_clips(list(self._shot.extend(measured.time)))
                self._forget(self._shot.needs_from)

    def _make_clips(self, edges: list[Edges]) -> Iterator[Clip]:
        for start, end in edges:
            clip = Clip(
                ClipSpan(self._video.data, self._facts, start, end, self.clips, self._labels)
            )
            self.clips += 1
            if isinstance(model := self._labels.get(SHOT_MODEL), str):
                attach_model(clip, model)
            if self._needs:
                inside = [m for m in self._seen if start - _EPSILON <= m.time < end - _EPSILON]
                cache_analysis(clip, ClipAnalysis(self._needs, inside))
            yield clip

    def _forget(self, time: float) -> None:
        while self._seen and self._seen[0].time < time - _EPSILON:
            self._seen.popleft()
