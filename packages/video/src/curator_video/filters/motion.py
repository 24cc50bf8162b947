"""Motion: by the vectors of the codec where it has them, else by how much the pictures change."""

from dataclasses import dataclass

from curator_video.analysis.vectors import CODECS
from curator_video.analysis.wants import Wanted
from curator_video.clips import Clip, Score
from curator_video.filters.deciding import ClipFilter, number

VECTORS, LUMA = "vectors", "luma"


@dataclass
class MotionFilter(ClipFilter):
    """Drops clips in which little moves. How that was measured stands beside the score.

    H.264 and MPEG-4 hand out motion vectors; of HEVC, VP9 and AV1 the change from picture to
    picture is taken. All of the clip counts.
    """

    min_motion: float = 0.00098
    """The least mean length of motion vectors, as a share of width and height together."""

    min_patch_motion: float = 0.000001
    """The least such mean in the quietest patch of 256 pixels."""

    min_change: float = 0.002
    """The least mean change from picture to picture, from 0 to 1, where there are no vectors."""

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
