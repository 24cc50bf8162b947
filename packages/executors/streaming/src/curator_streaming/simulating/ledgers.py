"""Ledgers: an account of hardware and tasks of their own, that finds the scheduler out."""

from collections import Counter, defaultdict

from curator_streaming.scheduling.needs import UNIT, offered
from curator_streaming.scheduling.steps import StepSpec
from curator_streaming.simulating.workers import SimulatedWorker
from curator_streaming.simulating.workloads import SimulatedNode


class OverdrawnError(Exception):
    """The scheduler gave away what is not there, or the same thing twice."""


class Ledger:
    """Checks that no node, device or memory is ever promised twice."""

    def __init__(self) -> None:
        self._cpus: dict[str, int] = {}
        self._claims: dict[int, int] = {}
        self._memory: dict[str, int] = {}
        self._devices: dict[tuple[str, str], int] = {}
        self._custom: dict[tuple[str, str], int] = {}
        self._open: dict[int, list[int]] = defaultdict(list)

    def join(self, node: SimulatedNode) -> None:
        self._cpus[node.name] = offered(node.capacity.cpus)
        self._memory[node.name] = node.capacity.memory
        for device in node.capacity.devices:
            self._devices[node.name, device.index] = UNIT
        for name, amount in (node.capacity.custom or {}).items():
            self._custom[node.name, name] = offered(amount)

    def start(self, worker: SimulatedWorker, sign: int = -1) -> None:
        node = worker.node.name
        self._memory[node] += sign * worker.grant.memory
        for share in worker.grant.shares:
            self._devices[node, share.device] += sign * share.units
            _check(self._devices[node, share.device], f"device {share.device} of {node}")
        for name, amount in worker.grant.custom:
            self._custom[node, name] += sign * amount
            _check(self._custom[node, name], f"{name} of {node}")
        _check(self._memory[node], f"memory of {node}")

    def end(self, worker: SimulatedWorker) -> None:
        self.start(worker, +1)
        self._open.pop(worker.number, None)
        self._reclaim(worker)

    def begin(self, worker: SimulatedWorker, spec: StepSpec) -> None:
        self._open[worker.number].append(spec.need.cpus)
        self._reclaim(worker)

    def finish(self, worker: SimulatedWorker, spec: StepSpec) -> None:
        self._open[worker.number].remove(spec.need.cpus)
        self._reclaim(worker)

    def _reclaim(self, worker: SimulatedWorker) -> None:
        """A worker runs one call at a time: it takes as many CPUs as the widest of its calls."""
        node = worker.node.name
        before = self._claims.get(worker.number, 0)
        now = max(self._open.get(worker.number, ()), default=0)
        self._claims[worker.number] = now
        self._cpus[node] += before - now
        _check(self._cpus[node], f"CPUs of {node}")


def _check(left: int, what: str) -> None:
    if left < 0:
        raise OverdrawnError(f"{what}: {-left / UNIT:g} more than there are")


class Outcomes:
    """What became of every task."""

    def __init__(self) -> None:
        self.delivered: Counter[int] = Counter()
        self.condemned: Counter[int] = Counter()
        self.given_up: Counter[int] = Counter()
        self.withdrawn: Counter[int] = Counter()

    def of(self, task: int) -> int:
        return self.delivered[task] + self.condemned[task] + self.given_up[task]
