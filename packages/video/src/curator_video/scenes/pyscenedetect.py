"""Scene detection with the detectors of PySceneDetect, on the shared decode."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from curator_core.errors import hint
from curator_core.model.optional_dependencies import not_installed

from curator_video.analysis.measurements import Pixels
from curator_video.scenes.base import SHOT_MODEL, ShotDetector, ShotSplitter
from curator_video.tasks import ScoreValue

DetectorKind: TypeAlias = Literal["adaptive", "content", "hash", "histogram"]
_CLASSES: dict[DetectorKind, str] = {
    "adaptive": "AdaptiveDetector",
    "content": "ContentDetector",
    "hash": "HashDetector",
    "histogram": "HistogramDetector",
}

_FPS = 25.0
"""Any value works: frames are counted, and these detectors do not use seconds."""


@dataclass
class SceneDetectShotSplitter(ShotSplitter):
    """Split videos into shots with PySceneDetect.

    It works on the 48x27 thumbnails that all shot splitters use. PySceneDetect documents the
    thresholds.
    """

    kind: DetectorKind = "adaptive"
    """The detector: adaptive, content, hash, or histogram."""

    threshold: float | None = None
    """Threshold of the detector. PySceneDetect's default if not set."""

    min_scene_frames: int = 15
    """Minimum number of frames between two cuts."""

    def check(self) -> Iterator[str]:
        yield from super().check()
        if self.kind not in get_args(DetectorKind):
            yield f"kind is {self.kind!r}{hint(self.kind, get_args(DetectorKind))}"
        if self.min_scene_frames < 1:
            yield f"min_scene_frames is {self.min_scene_frames}, but must be 1 or more"
        install = "pip install 'curator-video[scenes]'"
        if problem := not_installed("PySceneDetect", ("scenedetect", "cv2"), install):
            yield problem

    def labels(self) -> dict[str, ScoreValue]:
        import scenedetect

        return {SHOT_MODEL: f"scenedetect {scenedetect.__version__} {self.kind}"}

    def detector(self) -> ShotDetector:
        return PySceneDetectDetector(self.kind, self.threshold, self.min_scene_frames)


class PySceneDetectDetector(ShotDetector):
    """Adapt a PySceneDetect detector, which reports cuts some frames later."""

    def __init__(self, kind: DetectorKind, threshold: float | None, min_frames: int) -> None:
        self._kind = kind
        self._options = [] if threshold is None else [threshold]
        self._min_frames = min_frames
        self._reset()

    def _reset(self) -> None:
        from scenedetect import detectors

        detector_class = getattr(detectors, _CLASSES[self._kind])
        self._detector: Any = detector_class(*self._options, min_scene_len=self._min_frames)
        self._lag = int(self._detector.event_buffer_length) + 1
        self._ends: set[int] = set()
        self._seen = self._decided = 0

    def push(self, thumb: Pixels) -> list[bool]:
        blue_first = np.ascontiguousarray(thumb[..., ::-1])
        self._add_cuts(self._detector.process_frame(self._time(self._seen), blue_first))
        self._seen += 1
        return self._decide(self._seen - self._lag)

    def finish(self) -> list[bool]:
        if self._seen:
            self._add_cuts(self._detector.post_process(self._time(self._seen - 1)))
        decisions = self._decide(self._seen)
        self._reset()
        return decisions

    def _add_cuts(self, cuts: Any) -> None:
        """Record the end of a shot before each cut; a cut is the first frame of the next shot."""
        self._ends |= {int(cut.frame_num) - 1 for cut in cuts}

    def _decide(self, until: int) -> list[bool]:
        decisions = [index in self._ends for index in range(self._decided, until)]
        self._decided = max(self._decided, until)
        return decisions

    def _time(self, number: int) -> Any:
        from scenedetect import FrameTimecode

        return FrameTimecode(number, fps=_FPS)
