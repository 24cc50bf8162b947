"""Sources: listed as the scheduler asks for them, and put into the object store in blocks."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from curator_core import AnyTask
from curator_ray.recovery import CrashHistory
from curator_ray.transfer.modules import PlanPacker

from curator_streaming.engine.blocks import BlockTable
from curator_streaming.scheduler.blocks import Block

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

_LISTING_S = 0.03
"""How long the driver lists sources before it looks after its workers again."""

_TASKS_PER_BLOCK = 128
_TASKS_IN_FIRST_BLOCK = 16
"""These show how large tasks are."""

_BYTES_PER_BLOCK = 4 << 20


class TaskInput(Protocol):
    """Where tasks for the first stage come from."""

    wanted: int

    @property
    def has_ended(self) -> bool: ...

    @property
    def is_ready(self) -> bool: ...

    def take(self) -> list[Block]: ...

    def store(self, tasks: list[AnyTask]) -> list[Block]: ...


class SchedulerSources:
    """The sources of a run. Lists only as many as are wanted, and for a short time at once."""

    def __init__(
        self, run: "RemoteRun", blocks: BlockTable, packer: PlanPacker, crashes: CrashHistory
    ) -> None:
        self._remaining = run.sources()
        self._blocks = blocks
        self._packer = packer
        self._crashes = crashes
        self.wanted = 0
        self.has_ended = False
        self._bytes_per_task = _BYTES_PER_BLOCK / _TASKS_IN_FIRST_BLOCK

    @property
    def is_ready(self) -> bool:
        """Whether some are wanted, and may be there."""
        return self.wanted > 0

    def take(self) -> list[Block]:
        """Store some of the wanted ones."""
        found: list[AnyTask] = []
        deadline = time.monotonic() + _LISTING_S
        while len(found) < self.wanted and time.monotonic() < deadline:
            task = next(self._remaining, None)
            if task is None:
                self.has_ended = True
                self.wanted = 0
                break
            self._crashes.add_source(task)
            found.append(task)
        self.wanted = max(0, self.wanted - len(found))
        return self.store(found)

    def store(self, tasks: list[AnyTask]) -> list[Block]:
        for kind in {type(task) for task in tasks}:
            self._packer.add_task_type(kind)
        return [self._put(group) for group in self._groups(tasks)]

    def _put(self, tasks: list[AnyTask]) -> Block:
        block = self._blocks.put(tasks)
        self._bytes_per_task = block.size / len(tasks)
        return block

    def _groups(self, tasks: list[AnyTask]) -> Iterator[list[AnyTask]]:
        """Yield the tasks of one block each.

        A task does not know all of what it holds, so the size of the last block counts as well.
        """
        group: list[AnyTask] = []
        size = 0.0
        for task in tasks:
            group.append(task)
            size += max(task.num_bytes, self._bytes_per_task)
            if len(group) == _TASKS_PER_BLOCK or size > _BYTES_PER_BLOCK:
                yield group
                group, size = [], 0
        if group:
            yield group
