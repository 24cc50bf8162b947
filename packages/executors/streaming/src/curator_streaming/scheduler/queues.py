"""The queue of tasks in front of a step, by the node that stores them."""

from collections import deque
from collections.abc import Hashable, Iterator

from curator_streaming.scheduler.blocks import TaskRange

_MAX_RANGES = 64
"""A call takes no more arguments than this."""


class StepQueue:
    """First in, first out on each node; suspects wait separately and run alone."""

    __slots__ = ("_by_node", "suspects", "tasks")

    def __init__(self) -> None:
        self._by_node: dict[str, deque[TaskRange]] = {}
        self.suspects: deque[TaskRange] = deque()
        self.tasks = 0

    def push(self, tasks: TaskRange) -> None:
        node = tasks.block.node
        waiting = self._by_node.get(node)
        if waiting is None:
            waiting = self._by_node[node] = deque()
        waiting.append(tasks)
        self.tasks += tasks.stop - tasks.start

    def push_front(self, tasks: TaskRange) -> None:
        """Put back tasks that were dispatched before."""
        self._by_node.setdefault(tasks.block.node, deque()).appendleft(tasks)
        self.tasks += tasks.stop - tasks.start

    def push_suspect(self, tasks: TaskRange) -> None:
        """From now on each of these tasks runs alone."""
        for start in range(tasks.start, tasks.stop):
            single = TaskRange(tasks.block, start, start + 1)
            single.deaths, single.is_suspect = tasks.deaths, True
            self.suspects.append(single)
        self.tasks += tasks.stop - tasks.start

    def take_suspect(self) -> TaskRange:
        self.tasks -= 1
        return self.suspects.popleft()

    def take(self, node: str, wanted: int, max_bytes: int) -> list[TaskRange]:
        """Take up to `wanted` tasks, those on `node` first; only the first may exceed the bytes."""
        taken: list[TaskRange] = []
        by_node = self._by_node
        while wanted > 0 and by_node:
            place = node if node in by_node else next(iter(by_node))
            waiting = by_node[place]
            tasks = waiting[0]
            count = tasks.stop - tasks.start
            bytes_per_task = tasks.block.bytes_per_task
            most = min(count, wanted)
            if most * bytes_per_task > max_bytes:
                most = int(max_bytes / bytes_per_task)
                if most == 0 and taken:
                    break
                most = most or 1
            if most == count:
                waiting.popleft()
                if not waiting:
                    del by_node[place]
                taken.append(tasks)
            else:
                taken.append(TaskRange(tasks.block, tasks.start, tasks.start + most))
                tasks.start += most
            wanted -= most
            max_bytes -= int(most * bytes_per_task)
            self.tasks -= most
            if len(taken) >= _MAX_RANGES:
                break
        return taken

    def remove(self, handles: frozenset[Hashable]) -> list[TaskRange]:
        """Take out all tasks of these blocks."""
        removed = [tasks for tasks in self._all() if tasks.block.handle in handles]
        for node, waiting in list(self._by_node.items()):
            kept = deque(tasks for tasks in waiting if tasks.block.handle not in handles)
            if kept:
                self._by_node[node] = kept
            else:
                del self._by_node[node]
        self.suspects = deque(t for t in self.suspects if t.block.handle not in handles)
        self.tasks -= sum(tasks.stop - tasks.start for tasks in removed)
        return removed

    def _all(self) -> Iterator[TaskRange]:
        for waiting in self._by_node.values():
            yield from waiting
        yield from self.suspects
