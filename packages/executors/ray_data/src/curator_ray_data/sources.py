"""The sources of a run, taken for one job after the other and packed into blocks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from curator_core import AnyTask
from curator_core.errors import PipelineError, reason_of
from curator_ray.transfer.modules import PlanPacker

from curator_ray_data.options import RayDataOptions
from curator_ray_data.rows import pack_tasks

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

_BLOCKS_OF_TASKS = 200
"""Ray Data's default for items."""

_BLOCKS_OF_FILES = 2000
_MIN_JOB_BYTES = 1 << 26
_STORE_SHARE = 0.25
"""Part of the object store for the sources of a job, which are stored before it starts."""


class JobSources:
    """Takes as many sources per job as the options and the object store allow."""

    def __init__(self, run: "RemoteRun", options: RayDataOptions, store_bytes: float = 0.0) -> None:
        self._remaining = run.sources()
        self._max_sources = options.max_sources_per_job
        self._max_bytes = max(_MIN_JOB_BYTES, store_bytes * _STORE_SHARE)

    def take(self) -> list[AnyTask]:
        """Return the sources of the next job; none at the end."""
        found: list[AnyTask] = []
        size = 0
        for task in self._remaining:
            found.append(task)
            size += task.num_bytes
            if len(found) >= self._max_sources or size > self._max_bytes:
                break
        return found


def pack_blocks(
    sources: Sequence[AnyTask], options: RayDataOptions, packer: PlanPacker, *, singly: bool
) -> list[pa.Table]:
    """Pack sources into blocks; `singly` if one of them may have killed its worker."""
    for kind in {type(task) for task in sources}:
        packer.add_task_type(kind)
    size = 1 if singly else _sources_per_block(sources, options)
    return [_pack(sources[at : at + size]) for at in range(0, len(sources), size)]


def _sources_per_block(sources: Sequence[AnyTask], options: RayDataOptions) -> int:
    blocks = options.override_num_blocks
    if blocks is None:
        has_files = any(task.origins() for task in sources[:1])
        blocks = _BLOCKS_OF_FILES if has_files else _BLOCKS_OF_TASKS
    return -(-len(sources) // blocks)


def _pack(sources: Sequence[AnyTask]) -> pa.Table:
    try:
        return pack_tasks(sources)
    except Exception as error:
        raise PipelineError(
            f"a task that was passed in ({type(sources[0]).__name__}) cannot be sent to a worker, "
            f"because it cannot be pickled ({reason_of(error)}); use tasks of plain data, or run "
            "with LocalExecutor(workers=0)"
        ) from error
