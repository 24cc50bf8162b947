"""Answers: what a worker says about a call. Small, so the driver reads it; the data stays away."""

from dataclasses import dataclass, field

from curator_core.errors import CuratorError
from curator_core.model.lineage import SourceKey
from curator_core.model.reports import CallReport

from curator_ray.logs import Line


@dataclass
class Answer:
    """What became of a call, without the outputs themselves: they are in the parcel beside it."""

    nbytes: int = 0
    """What the parcel takes in the object store: tasks know but the surface of what they hold."""
    task_ids: list[str] = field(default_factory=list)
    sources: list[tuple[SourceKey, ...]] = field(default_factory=list)
    """The sources, and the attempts at them, that each output has credit of."""
    report: CallReport | None = None
    """None where more outputs of the same call follow, and where it was broken off."""
    seconds: float = 0.0
    setup_seconds: float = 0.0
    waited: float = 0.0
    """How long the worker had nothing to do before this call."""
    rss_bytes: int = 0
    lines: tuple[Line, ...] = ()
    output: str = ""
    """What was printed since the last answer."""
    error: CuratorError | None = None
    """The run must not go on."""
    broken_off: bool = False
    """The worker was told to stop, and did so before the call was done."""

    def __len__(self) -> int:
        return len(self.task_ids)


@dataclass(frozen=True)
class Hello:
    """The first thing that a worker says: where it is and what it was given."""

    node_id: str
    pid: int
    gpu_ids: tuple[str, ...]
    visible_gpus: str | None
