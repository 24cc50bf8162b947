"""Independent accounts of resources and tasks, to find errors of the scheduler."""

from collections import Counter, defaultdict

from curator_streaming.scheduler.resources import UNIT, units_available
from curator_streaming.scheduler.steps import StepSpec

from simulator.workers import SimulatedWorker
from simulator.workloads import SimulatedNode


class OverdrawnError(Exception):
    """The scheduler used more of something than there is."""


class ResourceAudit:
    """Checks that no CPU, device or memory of a node is given out twice."""

    def __init__(self) -> None:
        self._cpus: dict[str, int] = {}
        self._held: dict[int, int] = {}
        self._paused: set[int] = set()
        self._overdraft: dict[str, int] = Counter()
        self._memory: dict[str, int] = {}
        self._devices: dict[tuple[str, str], int] = {}
        self._custom: dict[tuple[str, str], int] = {}
        self._open: dict[int, list[int]] = defaultdict(list)

    def add_node(self, node: SimulatedNode) -> None:
        self._cpus[node.name] = units_available(node.capacity.cpus)
        self._memory[node.name] = node.capacity.memory
        for device in node.capacity.devices:
            self._devices[node.name, device.index] = UNIT
        for name, amount in (node.capacity.custom or {}).items():
            self._custom[node.name, name] = units_available(amount)

    def start_worker(self, worker: SimulatedWorker, sign: int = -1) -> None:
        node = worker.node.name
        self._memory[node] += sign * worker.grant.memory
        for share in worker.grant.shares:
            self._devices[node, share.device] += sign * share.units
            _check(self._devices[node, share.device], f"device {share.device} of {node}")
        for name, amount in worker.grant.custom:
            self._custom[node, name] += sign * amount
            _check(self._custom[node, name], f"{name} of {node}")
        _check(self._memory[node], f"memory of {node}")

    def end_worker(self, worker: SimulatedWorker) -> None:
        self.start_worker(worker, +1)
        self._open.pop(worker.number, None)
        self._update_cpus(worker)

    def begin_call(self, worker: SimulatedWorker, spec: StepSpec) -> None:
        self._open[worker.number].append(spec.need.cpus)
        self._update_cpus(worker)

    def end_call(self, worker: SimulatedWorker, spec: StepSpec) -> None:
        self._open[worker.number].remove(spec.need.cpus)
        self._update_cpus(worker)

    def pause(self, worker: SimulatedWorker) -> None:
        """A paused generator holds no CPUs."""
        self._paused.add(worker.number)
        self._update_cpus(worker)

    def pause_too_late(self, worker: SimulatedWorker) -> None:
        """The call had ended: what follows it runs already, while its CPUs were given away."""
        self._overdraft[worker.node.name] += self._held[worker.number]

    def resume(self, worker: SimulatedWorker) -> None:
        self._paused.discard(worker.number)
        self._update_cpus(worker)

    def _update_cpus(self, worker: SimulatedWorker) -> None:
        """A worker runs one call at a time: it holds the CPUs of the largest of its calls."""
        node = worker.node.name
        before = self._held.get(worker.number, 0)
        is_paused = worker.number in self._paused
        now = 0 if is_paused else max(self._open.get(worker.number, ()), default=0)
        self._held[worker.number] = now
        self._cpus[node] += before - now
        if self._cpus[node] >= 0:
            self._overdraft[node] = 0
        _check(self._cpus[node] + self._overdraft[node], f"CPUs of {node}")


def _check(left: int, what: str) -> None:
    if left < 0:
        raise OverdrawnError(f"{what}: {-left / UNIT:g} more in use than there are")


class Outcomes:
    """What became of every task."""

    def __init__(self) -> None:
        self.delivered: Counter[int] = Counter()
        self.quarantined: Counter[int] = Counter()
        self.given_up: Counter[int] = Counter()
