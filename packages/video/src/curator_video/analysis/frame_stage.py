"""The base class of stages that use frames of clips; neighbours share one decode."""

from collections.abc import Sequence
from copy import copy
from typing import Any

from curator_core import AnyStage, ProcessingStage
from curator_core.errors import InputError

from curator_video.analysis.measurements import ClipAnalysis, FrameNeeds, Pixels
from curator_video.analysis.sampling import Sampling, SamplingGrid
from curator_video.analysis.shared_decode import analyze_span
from curator_video.tasks import Clip

_ANALYSIS = "curator_video.analysis"


class SharedDecode:
    """A stage whose decode also takes the measurements that later stages need."""

    later_needs = FrameNeeds()
    """What later stages need; the plan sets it."""

    def fuse_with(self, near: Sequence[AnyStage], later: Sequence[AnyStage]) -> AnyStage | None:
        changed: Any = copy(self)
        object.__setattr__(changed, "later_needs", combined_needs([*near, *later]))
        fused: AnyStage = changed
        return fused


class FrameStage(SharedDecode, ProcessingStage[Clip, Clip]):
    """Base class for stages that use the frames of clips. It also decodes for later stages."""

    def frame_needs(self) -> FrameNeeds:
        """Return the measurements that it needs."""
        raise NotImplementedError(f"{type(self).__name__} does not define frame_needs()")

    def analyze(self, clip: Clip) -> ClipAnalysis:
        """Return the measurements of a clip: from an earlier stage, or from one decode."""
        known = cached_analysis(clip)
        if known is None or self.frame_needs() not in known.needs:
            before = known.needs if known else FrameNeeds()
            known = analyze_span(clip.data, self.frame_needs() | self.later_needs | before)
            cache_analysis(clip, known)
        return known

    def sample_frames(self, clip: Clip, sampling: Sampling) -> list[Pixels]:
        """Return at least one frame; raise InputError if the clip is too short for the rate."""
        return [pixels for _, pixels in self.sample_timed_frames(clip, sampling)]

    def sample_timed_frames(self, clip: Clip, sampling: Sampling) -> list[tuple[float, Pixels]]:
        """Return sampled frames with their times, like `sample_frames`."""
        is_sampled = SamplingGrid(sampling.fps, clip.data.start).next_time < clip.data.end
        if is_sampled and (found := self.analyze(clip).sampled_frames(sampling)):
            return found
        raise InputError(
            f"{clip.describe()} is too short for {sampling.fps:g} frames per second: it contains "
            f"no sampling time; give stage {self.name!r} a higher fps, or let a DurationFilter "
            "drop such clips"
        )


def combined_needs(stages: Sequence[AnyStage]) -> FrameNeeds:
    """Combine the needs of the stages, up to the first that does not take or return clips."""
    total = FrameNeeds()
    for stage in stages:
        if not issubclass(stage.input_type, Clip):
            break
        if isinstance(stage, FrameStage):
            total |= stage.frame_needs()
        if not issubclass(stage.output_type, Clip):
            break
    return total


def cached_analysis(clip: Clip) -> ClipAnalysis | None:
    known: ClipAnalysis | None = clip.derived.get(_ANALYSIS)
    return known


def cache_analysis(clip: Clip, analysis: ClipAnalysis) -> None:
    clip.derived[_ANALYSIS] = analysis
