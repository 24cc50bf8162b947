"""Motion filter: by motion vectors if the codec has them, else by changes between frames."""

from dataclasses import dataclass
from typing import Any

from curator_video.analysis.measurements import FrameNeeds
from curator_video.analysis.motion import MOTION_VECTOR_CODECS
from curator_video.filters.base import ClipRuleSet
from curator_video.tasks import Clip, ScoreValue

VECTORS, LUMA = "vectors", "luma"


@dataclass
class MotionFilter(ClipRuleSet):
    """Drop clips with little motion. `motion_method` records how it was measured.

    H.264 and MPEG-4 export motion vectors; for HEVC, VP9 and AV1, changes between frames are
    measured. The whole clip is examined.
    """

    min_motion: float = 0.00098
    """Minimum mean length of motion vectors, as a share of frame width plus height."""

    min_patch_motion: float = 0.000001
    """The same minimum for the patch of 256 pixels with the least motion."""

    min_change: float = 0.002
    """Minimum mean change between frames, from 0 to 1, used if there are no motion vectors."""

    def frame_needs(self) -> FrameNeeds:
        return FrameNeeds(luma=True, motion=True)

    def scores(self, clip: Clip) -> dict[str, ScoreValue]:
        analysis, facts = self.analyze(clip), clip.data.facts
        sides = (facts.width, facts.height)
        stored = sides if facts.rotation % 180 == 0 else sides[::-1]
        motion = analysis.motion(*stored) if facts.codec in MOTION_VECTOR_CODECS else None
        if motion is not None:
            return {
                "motion_mean": motion.mean,
                "motion_patch_minimum": motion.patch_minimum,
                "motion_method": VECTORS,
            }
        changes = analysis.changes
        mean = float(changes.mean()) if changes.size else 0.0
        return {"motion_mean": mean, "motion_patch_minimum": None, "motion_method": LUMA}

    def broken_rule(self, scores: dict[str, Any]) -> str | None:
        mean = scores["motion_mean"]
        if scores["motion_method"] == LUMA:
            return "little motion" if mean < self.min_change else None
        if mean < self.min_motion:
            return "little motion"
        quiet = scores["motion_patch_minimum"] < self.min_patch_motion
        return "a part without motion" if quiet else None
