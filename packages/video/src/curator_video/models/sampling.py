"""Sampled pictures of a clip: at least one, else an error."""

from curator_core.errors import InputError

from curator_video.analysis.observing import Grid, Pixels
from curator_video.analysis.wants import Sampling
from curator_video.clips import Clip
from curator_video.sharing import LookingStage


def pictures_of(stage: LookingStage, clip: Clip, sampling: Sampling) -> list[Pixels]:
    return [pixels for _, pixels in timed_pictures_of(stage, clip, sampling)]


def timed_pictures_of(
    stage: LookingStage, clip: Clip, sampling: Sampling
) -> list[tuple[float, Pixels]]:
    """Return pictures with their times; raise InputError if the clip is too short for the rate."""
    if Grid(sampling.fps, clip.data.start).first < clip.data.end:
        found: list[tuple[float, Pixels]] = stage.findings(clip).pictures(sampling)
        if found:
            return found
    raise InputError(
        f"{clip.place} is too short for {sampling.fps:g} pictures a second: no such point of "
        f"time lies in it; give stage {stage.name!r} a larger fps, or let a DurationFilter drop "
        "such clips"
    )


def spread(pictures: list[Pixels], count: int) -> list[Pixels]:
    """Return `count` evenly spread pictures; some repeat if there are too few."""
    last = len(pictures) - 1
    if count == 1:
        return [pictures[last // 2]]
    return [pictures[round(place * last / (count - 1))] for place in range(count)]
