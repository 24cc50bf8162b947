"""Messages between driver and worker. Task data goes through the object store."""

from dataclasses import dataclass, field

from curator_core import Resources
from curator_core.errors import CuratorError
from curator_core.model.lineage import SourceKey
from curator_core.model.reports import CallReport

from curator_ray.worker.output import LogLine

StageRange = tuple[int, int]
"""The first and the last stage of a call, as indices in the plan."""

Span = tuple[int, int]
"""Half-open range of the tasks in a pack that one call processes."""


@dataclass(frozen=True)
class Assignment:
    """What a worker gets when it starts, besides the plan."""

    worker_id: str
    folder: str
    run_token: str
    granted: Resources
    search_path: list[str]


@dataclass(frozen=True)
class WorkerLocation:
    """Where a worker runs, and the devices it got."""

    node_id: str
    pid: int
    gpu_ids: tuple[str, ...]
    visible_gpus: str | None


@dataclass
class CallResult:
    """Result of one call: metadata only; the outputs are a separate object."""

    nbytes: int = 0
    """Size of the outputs in the object store. Tasks know only an estimate of their own size."""
    task_ids: list[str] = field(default_factory=list)
    sources: list[tuple[SourceKey, ...]] = field(default_factory=list)
    """For each output, its sources and their attempt numbers."""
    report: CallReport | None = None
    """None if more outputs of the same call follow, and if the call was aborted."""
    seconds: float = 0.0
    setup_seconds: float = 0.0
    idle_seconds: float = 0.0
    """Seconds that the worker was idle before this call."""
    rss_bytes: int = 0
    lines: tuple[LogLine, ...] = ()
    output: str = ""
    """What the worker printed since its previous result."""
    error: CuratorError | None = None
    """Ends the run."""
    is_aborted: bool = False
    """The worker was asked to stop, and did so before the call was finished."""

    def __len__(self) -> int:
        return len(self.task_ids)
