"""Rebalancing: fixed numbers of workers are spread again when a node joins."""

from __future__ import annotations

from collections import Counter

from curator_streaming.scheduler.lifecycle import WorkerLifecycle
from curator_streaming.scheduler.placement import can_hold
from curator_streaming.scheduler.recycling import Recycler
from curator_streaming.scheduler.state import READY, Node, SchedulerState, StepState, Worker

_MOVED_SHARE = 4
"""At most this part of the workers of a step moves at once."""


class Rebalancer:
    """Moves workers to nodes with fewer of them. Each works until its successor is ready."""

    def __init__(
        self, state: SchedulerState, lifecycle: WorkerLifecycle, recycler: Recycler
    ) -> None:
        self.state = state
        self.lifecycle = lifecycle
        self.recycler = recycler

    def run(self) -> None:
        for step in self.state.dedicated_steps:
            if step.spec.num_workers and not step.bit & self.state.barriers.closed:
                while self._may_move(step) and self._move_one(step):
                    pass

    def _may_move(self, step: StepState) -> bool:
        """Whether all workers are there, and few of them are being replaced."""
        pool = step.pool
        is_complete = pool.size == step.spec.num_workers
        return is_complete and pool.retiring + pool.leaving < max(1, pool.size // _MOVED_SHARE)

    def _move_one(self, step: StepState) -> bool:
        workers = [worker for worker in step.pool.workers.values() if self._stays(worker)]
        counts = Counter(worker.node.name for worker in workers)
        need = step.spec.need
        nodes = [
            node
            for node in self.state.nodes.values()
            if not node.excluded & step.bit and can_hold(node.capacity, need)
        ]
        for node in sorted(nodes, key=lambda n: n.fill_level(counts[n.name], need)):
            movable = [w for w in workers if w.state == READY and _is_better(step, node, w, counts)]
            if not movable:
                return False
            worker = max(movable, key=lambda w: _rank(step, w, counts))
            successor = self.lifecycle.start_dedicated(step, [node])
            if successor is not None:
                self.recycler.retire(worker, successor, f"it moves to {node.name}")
                text = f"{step.spec.name}: a worker moves from {worker.node.name} to {node.name}"
                self.state.explain("move", f"{text}, which has fewer", step.spec.first)
                return True
        return False

    def _stays(self, worker: Worker) -> bool:
        return not worker.stop_reason and not self.recycler.is_retiring(worker)


def _is_better(step: StepState, node: Node, worker: Worker, counts: Counter[str]) -> bool:
    """Whether the node would not have more than is left on the worker's node, for its size."""
    need, old = step.spec.need, worker.node
    after = node.fill_level(counts[node.name] + 1, need)
    return after <= old.fill_level(counts[old.name] - 1, need) + 1e-9


def _rank(step: StepState, worker: Worker, counts: Counter[str]) -> tuple[float, bool]:
    """Prefer workers on the fullest node, and idle ones there."""
    level = worker.node.fill_level(counts[worker.node.name], step.spec.need)
    return (level, not worker.calls)
