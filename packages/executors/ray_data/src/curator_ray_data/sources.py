"""Sources: which of them a job gets, and how they are cut into blocks."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from curator_core import AnyTask
from curator_core.errors import PipelineError, reason_of
from curator_ray.transfer.modules import PlanPacker

from curator_ray_data.options import RayDataOptions
from curator_ray_data.rows import rows_of_tasks

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

_BLOCKS_OF_TASKS = 200
"""As Ray Data cuts items, where nobody says otherwise."""

_BLOCKS_OF_FILES = 2000
_MOST_BYTES = 1 << 26
"""Of tasks that were handed in with their data: what a job has to hold before it begins."""


class Sources:
    """Takes sources from the run for one job after the other."""

    def __init__(self, run: "RemoteRun", options: RayDataOptions) -> None:
        self._left: Iterator[AnyTask] = run.sources()
        self._options = options
        self.most_bytes: float = _MOST_BYTES

    def take(self) -> list[AnyTask]:
        """Those of the next job; none at the end."""
        found: list[AnyTask] = []
        size = 0
        for task in self._left:
            found.append(task)
            size += task.num_bytes
            if len(found) >= self._options.max_sources_per_job or size > self.most_bytes:
                break
        return found


def cut(
    sources: Sequence[AnyTask], options: RayDataOptions, packer: PlanPacker, *, singly: bool
) -> list[pa.Table]:
    """Blocks of sources; `singly` where some of them may have killed their worker."""
    for kind in {type(task) for task in sources}:
        packer.add_task_type(kind)
    return [_packed(few) for few in _groups(sources, 1 if singly else _per_block(sources, options))]


def _per_block(sources: Sequence[AnyTask], options: RayDataOptions) -> int:
    wanted = options.override_num_blocks
    if wanted is None:
        has_files = any(task.origins() for task in sources[:1])
        wanted = _BLOCKS_OF_FILES if has_files else _BLOCKS_OF_TASKS
    return -(-len(sources) // wanted)


def _groups(sources: Sequence[AnyTask], size: int) -> Iterator[Sequence[AnyTask]]:
    for start in range(0, len(sources), size):
        yield sources[start : start + size]


def _packed(sources: Sequence[AnyTask]) -> pa.Table:
    try:
        return rows_of_tasks(sources)
    except Exception as error:
        raise PipelineError(
            f"a task that was handed in ({type(sources[0]).__name__}) cannot be sent to a worker, "
            f"for it cannot be pickled ({reason_of(error)}); use tasks of plain data, or run with "
            "LocalExecutor(workers=0)"
        ) from error
