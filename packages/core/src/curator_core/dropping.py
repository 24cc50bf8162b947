"""Where dropped records go when a pipeline keeps them."""

from abc import ABC, abstractmethod

from curator_core.outcomes import AnyTask
from curator_core.tasks import StagedFile


class DropSink(ABC):
    """Collects what the stages of one call dropped, in files published with everything else."""

    @abstractmethod
    def add(self, stage: str, reason: str, records: AnyTask) -> None:
        """Keep `records`, which `stage` dropped for `reason`."""

    @abstractmethod
    def finish(self, call_id: str) -> list[StagedFile]:
        """Write what is left; the names of the files follow from `call_id` alone."""
