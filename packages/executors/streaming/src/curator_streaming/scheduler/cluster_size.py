"""Cluster size: which nodes to ask an autoscaler for, and which ones it may remove."""

from __future__ import annotations

from collections import Counter

from curator_streaming.scheduler.actions import ReleaseNode, RequestNode
from curator_streaming.scheduler.lifecycle import WorkerLifecycle
from curator_streaming.scheduler.placement import can_hold
from curator_streaming.scheduler.resources import Need
from curator_streaming.scheduler.state import STARTING, Node, SchedulerState, StepState, Worker

_SHORT_S = 10.0
"""How long workers must have had too much to do before another node is worth its start."""

_SHORT_BEFORE_RETURN_S = 1.0
"""The same for a node that was released, and is probably still there."""

_BACKLOG_S = 60.0
"""Seconds of waiting work per worker that are worth another node when no more is expected."""

_MAX_WANTED = 32
"""Workers of one step to request nodes for at once. The next nodes are requested after these."""


class ClusterSize:
    """Follows how many nodes the work needs, on clusters with an autoscaler."""

    def __init__(self, state: SchedulerState, lifecycle: WorkerLifecycle) -> None:
        self.state = state
        self.lifecycle = lifecycle
        self.wanted: Counter[Need] = Counter()
        """For how many workers, by what one needs, nodes are missing."""

        self._short_since: dict[int, float] = {}
        self._idle_since: dict[str, float] = {}
        self._leaving: dict[str, Node] = {}
        """Nodes to be released once their workers have ended."""

        self._released: dict[str, Node] = {}
        self._returning: dict[str, Node] = {}
        """Released nodes that were requested again."""

    def run(self) -> None:
        if self.state.settings.is_autoscaled:
            self._update_wanted()
            self._release_idle_nodes()

    def node_joined(self, name: str) -> None:
        self._returning.pop(name, None)
        self._short_since.clear()

    def node_lost(self, name: str) -> Node | None:
        """Forget a node that was not in use; return it if there was one."""
        self._idle_since.pop(name, None)
        for nodes in (self._leaving, self._released, self._returning):
            if name in nodes:
                return nodes.pop(name)
        return None

    # More nodes

    def _update_wanted(self) -> None:
        self.wanted = Counter()
        missing = self._missing_workers()
        self._short_since = {
            first: self._short_since.get(first, self.state.now) for first in missing
        }
        for first, count in missing.items():
            step = self.state.steps[first]
            waited_s = self.state.now - self._short_since[first]
            if not self._fits_a_node(step):
                waited_s = _SHORT_S
            if _can_any_hold(self._returning, step):
                continue
            if waited_s >= _SHORT_BEFORE_RETURN_S and self._take_back_node(step):
                continue
            if waited_s >= _SHORT_S:
                self.wanted[step.spec.need] += min(count, _MAX_WANTED)

    def _missing_workers(self) -> dict[int, int]:
        """Return how many more workers would have work, by the first stage of their step."""
        state = self.state
        missing: dict[int, int] = {}
        for step in state.steps.values():
            if step.bit & state.barriers.closed:
                continue
            if not self._fits_a_node(step):
                missing[step.spec.first] = self._needed_for_start(step)
            elif step.pool is not state.shared:
                missing[step.spec.first] = self._missing_dedicated(step)
        missing = {first: count for first, count in missing.items() if count}
        busiest = None if missing else self._busiest_shared_step()
        if busiest is not None:
            missing[busiest.spec.first] = state.max_shared_workers
        return missing

    def _fits_a_node(self, step: StepState) -> bool:
        return _can_any_hold(self.state.nodes, step)

    def _needed_for_start(self, step: StepState) -> int:
        """Return the workers to request for a step that no node can hold.

        Its first node is requested before there is work for it, because that takes minutes.
        """
        is_new = step.setup_s is None and not step.tasks_done
        if step.has_work or (is_new and self.state.expects_more(step)):
            return step.spec.num_workers or 1
        return 0

    def _missing_dedicated(self, step: StepState) -> int:
        spec, pool = step.spec, step.pool
        if spec.is_fixed:
            missing = max(0, (spec.num_workers or 0) - pool.size)
            return missing if self._may_get_work(step) else 0
        if not pool.size:
            return int(step.has_work)
        if pool.idle or pool.ready < pool.size:
            return 0
        return pool.size if self._has_backlog(step, pool.size, step.max_queued) else 0

    def _busiest_shared_step(self) -> StepState | None:
        """Return the shared step with most waiting work if all CPUs are busy and more is ready."""
        state, pool = self.state, self.state.shared
        if pool.idle or not pool.ready or pool.size < state.max_shared_workers:
            return None
        ready = state.ready & ~state.blocked
        steps = [step for step in state.shared_steps if step.bit & ready]
        step = max(steps, key=lambda s: s.queue.tasks * (s.seconds_per_task or 0.0), default=None)
        if step is None or not self._has_backlog(step, pool.size, pool.size):
            return None
        return step

    def _has_backlog(self, step: StepState, workers: int, full_queue: int) -> bool:
        if self.state.expects_more(step):
            return 2 * step.queue.tasks >= full_queue
        return step.queue.tasks * (step.seconds_per_task or 0.0) >= _BACKLOG_S * workers

    def _take_back_node(self, step: StepState) -> bool:
        for name, node in self._released.items():
            if can_hold(node.capacity, step.spec.need):
                del self._released[name]
                self._returning[name] = node
                self.state.actions.append(RequestNode(name))
                self._explain(name, f"used again, for {step.spec.name}")
                return True
        return False

    # Fewer nodes

    def _release_idle_nodes(self) -> None:
        state, limit_s = self.state, self.state.settings.idle_node_timeout_s
        for node in list(state.nodes.values()):
            if any(map(self._is_needed, node.workers.values())):
                self._idle_since.pop(node.name, None)
                continue
            idle_s = state.now - self._idle_since.setdefault(node.name, state.now)
            may_leave = limit_s and not state.settings.keeps_warm and len(state.nodes) > 1
            if may_leave and idle_s >= limit_s:
                self._give_up(node, idle_s)
        for node in [node for node in self._leaving.values() if not node.workers]:
            del self._leaving[node.name]
            self._released[node.name] = node
            state.actions.append(ReleaseNode(node.name))

    def _is_needed(self, worker: Worker) -> bool:
        """Whether it works or starts, or is one of a fixed number that may get more work."""
        if worker.calls or worker.state == STARTING or worker.setting_up:
            return True
        step = None if worker.pool.first is None else self.state.steps[worker.pool.first]
        return step is not None and step.spec.is_fixed and self._may_get_work(step)

    def _may_get_work(self, step: StepState) -> bool:
        return step.has_work or self.state.expects_more(step)

    def _give_up(self, node: Node, idle_s: float) -> None:
        """Use a node no more; it is released when its workers have ended."""
        reason = f"not used for {idle_s:.0f} s"
        del self.state.nodes[node.name], self._idle_since[node.name]
        self._leaving[node.name] = node
        for worker in list(node.workers.values()):
            self.lifecycle.drain(worker, f"its node was {reason}")
        self._explain(node.name, f"{reason}, so the autoscaler may remove it")

    def _explain(self, node: str, text: str) -> None:
        self.state.explain("node", f"{node}: {text}")


def _can_any_hold(nodes: dict[str, Node], step: StepState) -> bool:
    return any(can_hold(node.capacity, step.spec.need) for node in nodes.values())
