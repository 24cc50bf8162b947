"""What the parent and its workers say to each other.

Stages and tasks may be defined in a script or a notebook, so they travel by value where they
cannot be imported. Only this machine's own processes are at the ends of these pipes.
"""

import io
from collections.abc import Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle

from curator_core.blame import Blame
from curator_core.errors import CuratorError, PipelineError
from curator_core.outcomes import AnyTask
from curator_core.places import WorkerInfo
from curator_core.plans import Plan
from curator_core.reports import CallReport
from curator_core.results import StageCounts


@dataclass(frozen=True)
class Begin:
    """The first message to a worker."""

    plan: Plan
    stage_indices: tuple[int, ...]
    info: WorkerInfo


@dataclass(frozen=True)
class PrepareNode:
    """Run `setup_on_node` for every stage."""


@dataclass(frozen=True)
class SetUp:
    """Set up every stage, to be ready for work."""


@dataclass(frozen=True)
class Work:
    """Push one source through the line."""

    source: AnyTask
    blame: Blame


@dataclass(frozen=True)
class End:
    """Tear down and leave."""


@dataclass(frozen=True)
class Prepared:
    """The node is prepared."""


@dataclass(frozen=True)
class Ready:
    """Set up, and waiting for work."""


@dataclass(frozen=True)
class Given:
    """Outputs of the source at hand and, at its end, the report. Or the counts so far."""

    outputs: list[AnyTask]
    report: CallReport | None = None
    counts: dict[int, StageCounts] | None = None


@dataclass(frozen=True)
class Failed:
    """A stage failed and its policy says that the run must not go on."""

    error: CuratorError


def packed(message: Any) -> bytes:
    dumped: bytes = cloudpickle.dumps(message, protocol=5)
    return dumped


def send(connection: Connection, message: Any) -> None:
    connection.send_bytes(packed(message))


def receive(connection: Connection) -> Any:
    return unpacked(connection.recv_bytes())


def unpacked(raw: bytes | bytearray) -> Any:
    return cloudpickle.loads(raw)


def packed_work(work: Work) -> bytes:
    try:
        return packed(work)
    except Exception as error:
        raise PipelineError(
            f"task {work.source.task_id} ({type(work.source).__name__}) cannot be sent to a worker "
            f"process, for it cannot be pickled ({error}); give tasks of plain data, or run with "
            "LocalExecutor(workers=0)"
        ) from error


def packed_plan(plan: Plan, stage_indices: Iterable[int], info: WorkerInfo) -> bytes:
    """The first message as bytes; an error names the stage, and what of it cannot travel."""
    try:
        return _dumped(Begin(plan, tuple(stage_indices), info))
    except Exception as error:
        raise PipelineError(_culprit(plan) or f"the pipeline cannot be sent: {error}") from error


def _culprit(plan: Plan) -> str | None:
    for planned in plan.stages:
        for name, value in vars(planned.stage).items():
            try:
                _dumped(value)
            except Exception as error:  # noqa: BLE001 - anything may go wrong in a stranger's object
                return (
                    f"stage {planned.name!r} cannot be sent to a worker process: its attribute "
                    f"{name!r} is a {type(value).__name__}, which cannot be pickled ({error}); "
                    "make it in setup(), or run with LocalExecutor(workers=0)"
                )
    return None


def _dumped(value: Any) -> bytes:
    buffer = io.BytesIO()
    cloudpickle.dump(value, buffer, protocol=5)
    return buffer.getvalue()
