"""Motion filter: by motion vectors if the codec has them, else by changes between pictures."""

from dataclasses import dataclass

from curator_video.analysis.vectors import CODECS
from curator_video.analysis.wants import Wanted
from curator_video.clips import Clip, Score
from curator_video.filters.deciding import ClipFilter, number

VECTORS, LUMA = "vectors", "luma"


@dataclass
class MotionFilter(ClipFilter):
    """Drop clips with little motion. `motion_method` records how it was measured.

    H.264 and MPEG-4 export motion vectors; for HEVC, VP9 and AV1, changes between pictures are
    measured. The whole clip is examined.
    """

    min_motion: float = 0.00098
    """Minimum mean length of motion vectors, as a share of picture width plus height."""

    min_patch_motion: float = 0.000001
    """The same minimum for the patch of 256 pixels with the least motion."""

    min_change: float = 0.002
    """Minimum mean change between pictures, from 0 to 1, used if there are no motion vectors."""

    def wanted(self) -> Wanted:
        return Wanted(luma=True, motion=True)

    def scores(self, clip: Clip) -> dict[str, Score]:
        found, facts = self.findings(clip), clip.data.facts
        sides = (facts.width, facts.height)
        stored = sides if facts.rotation % 180 == 0 else sides[::-1]
        field = found.motion(*stored) if facts.codec in CODECS else None
        if field is not None:
            return {
                "motion_mean": field.mean,
                "motion_patch_minimum": field.patch_minimum,
                "motion_method": VECTORS,
            }
        changes = found.changes
        mean = float(changes.mean()) if changes.size else 0.0
        return {"motion_mean": mean, "motion_patch_minimum": None, "motion_method": LUMA}

    def reason(self, scores: dict[str, Score]) -> str | None:
        mean = number(scores["motion_mean"])
        if scores["motion_method"] == LUMA:
            return "little motion" if mean < self.min_change else None
        if mean < self.min_motion:
            return "little motion"
        quiet = number(scores["motion_patch_minimum"]) < self.min_patch_motion
        return "a part without motion" if quiet else None
