"""Sharing: stages that look at pictures say so, and the first of them decodes for all."""

from collections.abc import Sequence
from copy import copy
from typing import Any, Self, TypeVar

from curator_core.model.stages import AnyStage, ProcessingStage
from curator_core.model.tasks import AnyTask

from curator_video.analysis.wants import Wanted
from curator_video.clips import Clip

In = TypeVar("In", bound=AnyTask)

_FINDINGS = "curator_video.findings"


class Looking:
    """A stage that wants to know something of the pictures of clips."""

    def wanted(self) -> Wanted:
        """What it looks at."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it looks at")


def wanted_by(stages: Sequence[AnyStage]) -> Wanted:
    """What the stages want of a clip, up to the first that makes something else of it."""
    total = Wanted()
    for stage in stages:
        if not issubclass(stage.takes, Clip):
            break
        if isinstance(stage, Looking):
            total |= stage.wanted()
        if not issubclass(stage.gives, Clip):
            break
    return total


class LookingStage(ProcessingStage[Clip, Clip], Looking):
    """Works on the pictures of clips. It decodes for those behind it what they want to see."""

    _shared = Wanted()

    def followed_by(self, stages: Sequence[AnyStage]) -> Self:
        aware = copy(self)
        object.__setattr__(aware, "_shared", wanted_by(stages))
        return aware

    def findings(self, clip: Clip) -> Any:
        """What is known of the clip: from an earlier stage, or from one decode of its span."""
        from curator_video.analysis.examining import examined

        known = known_findings(clip)
        if known is None or self.wanted() not in known.wanted:
            before = known.wanted if known else Wanted()
            known = examined(clip.data, self.wanted() | self._shared | before)
            keep_findings(clip, known)
        return known


def known_findings(clip: Clip) -> Any:
    return clip.derived.get(_FINDINGS)


def keep_findings(clip: Clip, findings: Any) -> None:
    clip.derived[_FINDINGS] = findings
