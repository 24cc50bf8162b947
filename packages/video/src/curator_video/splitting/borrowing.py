"""Shot splitting with the detectors of PySceneDetect, on the shared decode."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from curator_core.errors import hint
from curator_core.model.optional_dependencies import not_installed

from curator_video.analysis.observing import Pixels
from curator_video.clips import Score
from curator_video.splitting.detecting import ShotDetector
from curator_video.splitting.shots import SHOT_MODEL, ShotSplitter

Kind: TypeAlias = Literal["adaptive", "content", "hash", "histogram"]

_CLASSES: dict[Kind, str] = {
    "adaptive": "AdaptiveDetector",
    "content": "ContentDetector",
    "hash": "HashDetector",
    "histogram": "HistogramDetector",
}
_FPS = 25.0
"""Any value works: pictures are counted, and these detectors do not use seconds."""


@dataclass
class SceneDetectShotSplitter(ShotSplitter):
    """Split videos into shots with PySceneDetect.

    It works on the 48x27 thumbnails that all shot splitters use. PySceneDetect documents the
    thresholds.
    """

    kind: Kind = "adaptive"
    """The detector: adaptive, content, hash, or histogram."""

    threshold: float | None = None
    """Threshold of the detector. PySceneDetect's default if not set."""

    min_scene_frames: int = 15
    """Minimum number of pictures between two cuts."""

    def check(self) -> Iterator[str]:
        yield from super().check()
        if self.kind not in get_args(Kind):
            yield f"kind is {self.kind!r}{hint(self.kind, get_args(Kind))}"
        if self.min_scene_frames < 1:
            yield f"min_scene_frames is {self.min_scene_frames}, but must be 1 or more"
        way_out = "pip install 'curator-video[scenes]'"
        if problem := not_installed("PySceneDetect", ("scenedetect", "cv2"), way_out):
            yield problem

    def labels(self) -> dict[str, Score]:
        import scenedetect

        return {SHOT_MODEL: f"scenedetect {scenedetect.__version__} {self.kind}"}

    def detector(self) -> "BorrowedDetector":
        return BorrowedDetector(self.kind, self.threshold, self.min_scene_frames)


class BorrowedDetector(ShotDetector):
    """Adapt a PySceneDetect detector, which reports cuts some pictures later."""

    def __init__(self, kind: Kind, threshold: float | None, least: int) -> None:
        self._kind = kind
        self._options = [] if threshold is None else [threshold]
        self._least = least
        self._begin()

    def _begin(self) -> None:
        from scenedetect import detectors

        made = getattr(detectors, _CLASSES[self._kind])
        self._detector: Any = made(*self._options, min_scene_len=self._least)
        self._lag = int(self._detector.event_buffer_length) + 1
        self._ends: set[int] = set()
        self._seen = self._told = 0

    def push(self, thumb: Pixels) -> list[bool]:
        blue_first = np.ascontiguousarray(thumb[..., ::-1])
        self._note(self._detector.process_frame(self._time(self._seen), blue_first))
        self._seen += 1
        return self._tell(self._seen - self._lag)

    def finish(self) -> list[bool]:
        if self._seen:
            self._note(self._detector.post_process(self._time(self._seen - 1)))
        told = self._tell(self._seen)
        self._begin()
        return told

    def _note(self, cuts: Any) -> None:
        """Note the end of a shot before each cut; a cut is the first picture of the next shot."""
        self._ends |= {int(cut.frame_num) - 1 for cut in cuts}

    def _tell(self, until: int) -> list[bool]:
        told = [place in self._ends for place in range(self._told, until)]
        self._told = max(self._told, until)
        return told

    def _time(self, number: int) -> Any:
        from scenedetect import FrameTimecode

        return FrameTimecode(number, fps=_FPS)
