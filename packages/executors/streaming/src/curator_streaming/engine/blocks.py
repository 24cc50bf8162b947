"""Blocks of tasks in Ray's object store: the references, and what the driver knows of each task."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from curator_core import AnyTask
from curator_core.model.lineage import SourceKey
from curator_core.model.reports import Keys
from curator_ray.transfer.packing import put_tasks
from curator_ray.worker.messages import CallResult

from curator_streaming.scheduler.blocks import Block, BlockSlice

_DRIVER_BYTES_PER_TASK = 200
"""What the driver itself keeps of a task, roughly."""


@dataclass(frozen=True, slots=True)
class BlockEntry:
    """Tasks stored as one object: the data is in the store, ids and sources are here."""

    ref: Any
    ids: Sequence[str]
    keys: Sequence[Keys]


class BlockTable:
    """Keeps the references to blocks for as long as something needs them."""

    def __init__(self) -> None:
        self._blocks: dict[Hashable, BlockEntry] = {}
        self._handles = count()

    def put(self, tasks: list[AnyTask]) -> Block:
        """Store tasks of this process."""
        ref, size = put_tasks(tasks)
        block = BlockEntry(ref, [t.task_id for t in tasks], [tuple(t.lineage) for t in tasks])
        return self._add(block, size, "")

    def add(self, ref: Any, result: CallResult, node: str) -> Block:
        """Record the outputs of a call, which are in the store already."""
        return self._add(BlockEntry(ref, result.task_ids, result.sources), size_of(result), node)

    def _add(self, block: BlockEntry, size: int, node: str) -> Block:
        handle = next(self._handles)
        self._blocks[handle] = block
        return Block(handle, len(block.ids), size, node)

    def __getitem__(self, handle: Hashable) -> BlockEntry:
        return self._blocks[handle]

    def release(self, handle: Hashable) -> None:
        self._blocks.pop(handle, None)

    def source_keys(self, slices: Iterable[BlockSlice]) -> Keys:
        """Return the sources that these tasks come from, each once."""
        found: dict[SourceKey, None] = {}
        for part in slices:
            block = self._blocks.get(part.handle)
            for keys in block.keys[part.start : part.stop] if block else ():
                found.update(dict.fromkeys(keys))
        return tuple(found)

    def single_tasks(self, slices: Iterable[BlockSlice]) -> Iterator[tuple[BlockSlice, str]]:
        """Yield each task as a part of its own, with its id."""
        for part in slices:
            block = self._blocks.get(part.handle)
            for position in range(part.start, part.stop) if block else ():
                assert block is not None
                yield BlockSlice(part.handle, position, position + 1), block.ids[position]

    def void_handles(self, attempts: dict[str, int]) -> tuple[Hashable, ...]:
        """Return the blocks that hold nothing but earlier attempts at these sources."""

        def is_void(key: SourceKey) -> bool:
            return key[1] < attempts.get(key[0], key[1])

        return tuple(
            handle
            for handle, block in self._blocks.items()
            if all(is_void(key) for keys in block.keys for key in keys)
        )


def size_of(result: CallResult) -> int:
    """Return what the outputs of a call take, in the store and in the driver."""
    return result.nbytes + _DRIVER_BYTES_PER_TASK * len(result)
