"""Filtered clips: write dropped clips with the stage and the reason."""

from typing import Protocol

from curator_core.model.stages import DropSink
from curator_core.model.tasks import AnyTask, StagedFile

from curator_video.clips import Clip


class Keeper(Protocol):
    def write_clip(self, clip: Clip, dropped: dict[str, str] | None) -> list[StagedFile]: ...


class FilteredClips(DropSink):
    """Write dropped clips at once, so that their bytes are not kept until the call ends."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._staged: list[StagedFile] = []

    def add(self, stage: str, reason: str, records: AnyTask) -> None:
        if isinstance(records, Clip):  # the report covers videos without clips
            dropped = {"stage": stage, "reason": reason}
            self._staged += self._keeper.write_clip(records, dropped)

    def finish(self, call_id: str) -> list[StagedFile]:
        staged, self._staged = self._staged, []
        return staged
