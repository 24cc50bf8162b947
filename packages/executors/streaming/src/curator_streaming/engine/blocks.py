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

from curator_streaming.scheduler import blocks as scheduled
from curator_streaming.scheduler.blocks import BlockSlice

_DRIVER_BYTES_PER_TASK = 200
"""What the driver itself keeps of a task, roughly."""


@dataclass(frozen=True, slots=True)
class Block:
    """Tasks stored as one object: the data is in the store, ids and sources are here."""

    ref: Any
    ids: Sequence[str]
    keys: Sequence[Keys]


class BlockTable:
    """Keeps the references to blocks for as long as something needs them."""

    def __init__(self) -> None:
        self._blocks: dict[Hashable, Block] = {}
        self._handles = count()

    def put(self, tasks: list[AnyTask]) -> scheduled.Block:
        """Store tasks of this process."""
        ref, size = put_tasks(tasks)
        block = Block(ref, [t.task_id for t in tasks], [tuple(t.lineage) for t in tasks])
        return self._add(block, size, "")

    def add(self, ref: Any, answer: CallResult, node: str) -> scheduled.Block:
        """Record the outputs of a call, which are in the store already."""
        return self._add(Block(ref, answer.task_ids, answer.sources), size_of(answer), node)

    def _add(self, block: Block, size: int, node: str) -> scheduled.Block:
        handle = next(self._handles)
        self._blocks[handle] = block
        return scheduled.Block(handle, len(block.ids), size, node)

    def __getitem__(self, handle: Hashable) -> Block:
        return self._blocks[handle]

    def release(self, handle: Hashable) -> None:
        self._blocks.pop(handle, None)

    def source_keys(self, pieces: Iterable[BlockSlice]) -> Keys:
        """Return the sources that these tasks come from, each once."""
        found: dict[SourceKey, None] = {}
        for piece in pieces:
            block = self._blocks.get(piece.handle)
            for keys in block.keys[piece.start : piece.stop] if block else ():
                found.update(dict.fromkeys(keys))
        return tuple(found)

    def single_tasks(self, pieces: Iterable[BlockSlice]) -> Iterator[tuple[BlockSlice, str]]:
        """Yield each task as a piece of its own, with its id."""
        for piece in pieces:
            block = self._blocks.get(piece.handle)
            for position in range(piece.start, piece.stop) if block else ():
                assert block is not None
                yield BlockSlice(piece.handle, position, position + 1), block.ids[position]

    def void_handles(self, attempts: dict[str, int]) -> tuple[Hashable, ...]:
        """Return the blocks that hold nothing but earlier attempts at these sources."""

        def is_void(key: SourceKey) -> bool:
            return key[1] < attempts.get(key[0], key[1])

        return tuple(
            handle
            for handle, block in self._blocks.items()
            if all(is_void(key) for keys in block.keys for key in keys)
        )


def size_of(answer: CallResult) -> int:
    """Return what the outputs of a call take, in the store and in the driver."""
    return answer.nbytes + _DRIVER_BYTES_PER_TASK * len(answer)
