"""Shot splitting: one pass over a video finds the shots and yields clips as they complete."""

from abc import abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, get_args

from curator_core.errors import hint
from curator_core.model.provenance import tell_model
from curator_core.model.stages import AnyStage, ProcessingStage
from curator_core.model.tasks import Dropped, Rejected

from curator_video.analysis.wants import Wanted
from curator_video.clips import Clip, Score, Span
from curator_video.sharing import keep_findings, wanted_by
from curator_video.splitting.scenes import Edges, Lengths, LongScenes, Scene
from curator_video.videos import Video

if TYPE_CHECKING:
    from curator_video.analysis.observing import Observation
    from curator_video.decoding import Damage
    from curator_video.splitting.detecting import ShotDetector

_EPSILON = 1e-4
_HELD = 1.0
"""Seconds. A last picture held for longer than this beyond the usual step is part of its shot."""
_LONGEST = 1000.0
"""Seconds. A picture that seems to be shown for longer than this has a wrong time."""

SHOT_MODEL = "shot_model"
"""Score field for the model or method that found the shots."""


@dataclass
class ShotSplitter(ProcessingStage[Video, Clip]):
    """Base class of shot splitters: split videos into clips where a detector finds shot ends."""

    min_length_s: float = 2.0
    """Minimum duration of a shot in seconds. Shorter shots make no clip."""

    max_length_s: float = 10.0
    """Maximum duration of a clip in seconds."""

    long_scenes: LongScenes = "stride"
    """How longer shots are split: `stride` makes several clips, `truncate` keeps the first one."""

    crop_s: float = 0.5
    """Seconds to leave out at the beginning and the end of each shot."""

    _shared = Wanted()

    @abstractmethod
    def detector(self) -> "ShotDetector":
        """Return a new detector; called for each video."""

    def labels(self) -> dict[str, Score]:
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
                "the first must be more than 0, and not more than the second"
            )
        if self.crop_s < 0:
            yield f"crop_s is {self.crop_s}, but must be 0 or more"

    def followed_by(self, stages: Sequence[AnyStage]) -> Self:
        aware = copy(self)
        object.__setattr__(aware, "_shared", wanted_by(stages))
        return aware

    def process(self, task: Video) -> Iterator[Clip | Dropped | Rejected]:
        from curator_video.analysis.examining import watched
        from curator_video.decoding import Damage

        lengths = Lengths(self.min_length_s, self.max_length_s, self.long_scenes, self.crop_s)
        passage = _Passage(task, self.detector(), lengths, self._shared, self.labels())
        for item in watched(task.data, self._shared | Wanted(thumbs=True)):
            if isinstance(item, Damage):
                yield from passage.breaks_off(item)
            else:
                yield from passage.goes_on(item)
        yield from passage.ends()
        if not passage.clips:
            yield Dropped(f"no shot of {self.min_length_s:g} s", records=task)


class _Passage:
    """Keep observations until no clip can need them."""

    def __init__(
        self,
        video: Video,
        detector: "ShotDetector",
        lengths: Lengths,
        wanted: Wanted,
        labels: dict[str, Score],
    ) -> None:
        self._labels = labels
        self._video = video
        self._facts = video.probed()
        self._detector = detector
        self._lengths = lengths
        self._wanted = wanted
        self._undecided: deque[Observation] = deque()
        self._seen: deque[Observation] = deque()
        self._scene: Scene | None = None
        self._last = 0.0
        self._step = 1 / (self._facts.fps or 25)
        self.clips = 0

    def goes_on(self, observation: "Observation") -> Iterator[Clip]:
        thumb, observation.thumb = observation.thumb, None
        self._undecided.append(observation)
        if thumb is not None:
            yield from self._decide(self._detector.push(thumb))

    def breaks_off(self, damage: "Damage") -> Iterator[Clip | Rejected]:
        yield from self.ends(min(damage.start, self._facts.duration or damage.start))
        place = f"{self._video.path}[{damage.start:.2f}-{damage.end:.2f} s]"
        yield Rejected(damage.reason, place)

    def ends(self, at: float | None = None) -> Iterator[Clip]:
        """Finish the shot, because the video ends or its next part is damaged."""
        yield from self._decide(self._detector.finish())
        if self._scene is not None:
            edges = self._scene.ends(self._end() if at is None else at)
            yield from self._made(list(edges))
        self._scene = None
        self._seen.clear()

    def _end(self) -> float:
        """Return when the last picture of the video ends; it may be held for long."""
        from curator_video.ending import last_end_of

        end = last_end_of(self._video.data, self._facts)
        is_held = self._facts.is_variable or end > self._last + self._step + _HELD
        return min(end, self._last + _LONGEST) if is_held else self._last + self._step

    def _next(self) -> float:
        """Return when the picture after the last one is shown."""
        if self._facts.may_hold_pictures and self._undecided:
            return self._undecided[0].time
        return self._last + self._step

    def _decide(self, decisions: list[bool]) -> Iterator[Clip]:
        for is_end in decisions:
            observation = self._undecided.popleft()
            self._last = observation.time
            if self._scene is None:
                if is_end:
                    continue  # within a dissolve: the next shot begins after it
                self._scene = Scene(observation.time, self._lengths)
            self._seen.append(observation)
            if is_end:
                yield from self._made(list(self._scene.ends(self._next())))
                self._scene = None
                self._seen.clear()
            else:
                yield from self._made(list(self._scene.reaches(observation.time)))
                self._forget(self._scene.needs_from)

    def _made(self, edges: list[Edges]) -> Iterator[Clip]:
        from curator_video.analysis.findings import Findings

        for start, end in edges:
            clip = Clip(Span(self._video.data, self._facts, start, end, self.clips, self._labels))
            self.clips += 1
            if isinstance(model := self._labels.get(SHOT_MODEL), str):
                tell_model(clip, model)
            if self._wanted:
                inside = [o for o in self._seen if start - _EPSILON <= o.time < end - _EPSILON]
                keep_findings(clip, Findings(self._wanted, inside))
            yield clip

    def _forget(self, time: float) -> None:
        while self._seen and self._seen[0].time < time - _EPSILON:
            self._seen.popleft()


@dataclass
class HistogramShotSplitter(ShotSplitter):
    """Split videos into shots where colours change abruptly: fast, without a model."""

    threshold: float = 0.9
    """Minimum colour change for a cut, from 0 to 6."""

    def detector(self) -> Any:
        from curator_video.splitting.detecting import HistogramDetector

        return HistogramDetector(self.threshold)
