"""Shared decoding: stages declare what they need, and the first of them decodes for all."""

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
    """A stage that needs measurements of a clip's pictures."""

    def wanted(self) -> Wanted:
        """Return the measurements that it needs."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it looks at")


def wanted_by(stages: Sequence[AnyStage]) -> Wanted:
    """Combine the wants of the stages, up to the first that does not take or return clips."""
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
    """Base class for stages that use the pictures of clips. It also decodes for later stages."""

    _shared = Wanted()

    def followed_by(self, stages: Sequence[AnyStage]) -> Self:
        aware = copy(self)
        object.__setattr__(aware, "_shared", wanted_by(stages))
        return aware

    def findings(self, clip: Clip) -> Any:
        """Return the findings of a clip: from an earlier stage, or from one decode of its span."""
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
