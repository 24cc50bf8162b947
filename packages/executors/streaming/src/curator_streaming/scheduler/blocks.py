"""Blocks: stored chunks of tasks. The scheduler knows their sizes, never their contents."""

from collections.abc import Hashable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """`tasks` tasks stored as one object of `size` bytes on `node` (empty: no particular node).

    The driver chooses the handle: anything hashable, different for every block.
    """

    handle: Hashable
    tasks: int
    size: int
    node: str = ""


@dataclass(frozen=True, slots=True)
class BlockSlice:
    """The tasks from `start` up to `stop` of a block."""

    handle: Hashable
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


class StoredBlock:
    """A block that is kept until the last of its tasks was processed."""

    __slots__ = ("boundary", "bytes_per_task", "handle", "node", "remaining", "size", "withdrawn")

    def __init__(self, block: Block, boundary: int) -> None:
        self.handle: Hashable = block.handle
        self.size = block.size
        self.remaining = block.tasks
        self.bytes_per_task = block.size / block.tasks
        self.node = block.node
        self.boundary = boundary
        """The stage that takes its tasks; the number of stages for final outputs."""

        self.withdrawn = False


class TaskRange:
    """Consecutive tasks of a stored block, and how many workers they killed when run alone."""

    __slots__ = ("block", "deaths", "is_suspect", "start", "stop")

    def __init__(self, block: StoredBlock, start: int, stop: int) -> None:
        self.block = block
        self.start = start
        self.stop = stop
        self.deaths = 0.0
        self.is_suspect = False

    @property
    def slice(self) -> BlockSlice:
        return BlockSlice(self.block.handle, self.start, self.stop)
