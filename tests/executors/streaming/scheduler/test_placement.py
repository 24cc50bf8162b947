"""Where workers are placed: spread, packed, limited per node, and by GPU type and labels."""

from collections import Counter
from dataclasses import replace

import pytest
from curator_streaming.scheduler import actions, events
from curator_streaming.scheduler.blocks import Block
from curator_streaming.scheduler.core import Scheduler
from curator_streaming.scheduler.placement import NodeResources, find_node
from curator_streaming.scheduler.resources import GB, UNIT, Capacity, Device, Need
from curator_streaming.scheduler.settings import Settings
from curator_streaming.scheduler.steps import StepSpec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from simulator.driver_costs import FREE
from simulator.simulation import Simulation
from simulator.workloads import SimulatedNode, SimulatedStep, cpu_step, gpu_step, steady

quickly = settings(
    max_examples=50, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


def nodes(count: int, cpus: float = 16, gpus: int = 0, **more) -> list[SimulatedNode]:
    devices = tuple(Device(str(index), 80 * GB) for index in range(gpus))
    return [SimulatedNode(f"n{i}", Capacity(cpus, 256 * GB, devices, **more)) for i in range(count)]


def workers_by_node(steps, cluster, seconds=4.0, sources=100_000) -> dict[int | None, Counter]:
    """Return how many workers of each step there are on each node after some seconds."""
    simulation = Simulation(steps, cluster, sources, costs=FREE)
    simulation.run(seconds)
    found: dict[int | None, Counter] = {i: Counter() for i in range(len(steps))}
    for worker in simulation.workers.values():
        found.setdefault(worker.first, Counter())[worker.node.name] += 1
    return found


class TestFixedNumber:
    def test_is_spread_over_nodes(self) -> None:
        found = workers_by_node([cpu_step("a", 1.0, num_workers=200)], nodes(4))
        assert sorted(found[0].values()) == [50, 50, 50, 50]

    def test_of_gpu_workers_is_spread_over_nodes(self) -> None:
        found = workers_by_node([gpu_step("a", 1.0, num_workers=8)], nodes(4, gpus=8))
        assert sorted(found[0].values()) == [2, 2, 2, 2]

    def test_follows_the_size_of_unequal_nodes(self) -> None:
        large = replace(nodes(1, cpus=48)[0], name="large")
        found = workers_by_node([cpu_step("a", 1.0, num_workers=40)], [*nodes(1), large])
        assert found[0] == {"n0": 10, "large": 30}

    def test_waits_for_nodes_that_are_expected(self) -> None:
        scheduler = Scheduler([StepSpec(0, 0, ("a",), Need(), True, 4)], Settings())
        first = events.NodeJoined(0.0, "n0", Capacity(4, GB), pending=1)
        sources = events.SourcesOffered(0.0, (Block("b", 100, 100),))
        assert not _starts(scheduler.handle([first, sources, events.Tick(0.1)]))
        second = events.NodeJoined(0.5, "n1", Capacity(4, GB))
        started = _starts(scheduler.handle([second, events.Tick(0.6)]))
        assert Counter(started) == {"n0": 2, "n1": 2}

    def test_waits_only_a_moment_for_nodes_that_do_not_join(self) -> None:
        scheduler = Scheduler([StepSpec(0, 0, ("a",), Need(), True, 4)], Settings())
        first = events.NodeJoined(0.0, "n0", Capacity(4, GB), pending=1)
        sources = events.SourcesOffered(0.0, (Block("b", 100, 100),))
        scheduler.handle([first, sources, events.Tick(0.1)])
        assert len(_starts(scheduler.handle([events.Tick(2.0)]))) == 4

    @quickly
    @given(
        st.integers(1, 5),
        st.lists(st.integers(1, 30), min_size=1, max_size=3),
        st.sampled_from([Need(), Need(cpus=0), Need(gpus=UNIT // 4), Need(gpus=UNIT)]),
    )
    def test_differs_by_at_most_one_between_equal_nodes(self, count, numbers, need) -> None:
        room = count * 8 * UNIT // need.gpus if need.gpus else 1000
        if sum(numbers) > room:
            numbers = [max(1, room // (2 * len(numbers)))] if room > 1 else [1]
        steps = [
            SimulatedStep(f"s{i}", steady(0.5), need, num_workers=number)
            for i, number in enumerate(numbers)
        ]
        cluster = nodes(count, gpus=8)
        for first, number in enumerate(numbers):
            found = workers_by_node(steps, cluster)[first]
            counts = [found[node.name] for node in cluster]
            assert sum(counts) == number
            assert max(counts) - min(counts) <= 1


class TestRebalancing:
    @quickly
    @given(
        st.integers(1, 4),
        st.integers(1, 3),
        st.lists(st.integers(1, 20), min_size=1, max_size=2),
        st.sampled_from([Need(), Need(gpus=UNIT // 4), Need(gpus=UNIT)]),
    )
    def test_a_fixed_number_is_spread_over_nodes_that_join(
        self, count, more, numbers, need
    ) -> None:
        if need.gpus * sum(numbers) > count * 8 * UNIT:
            numbers = [count * 4]
        steps = [
            SimulatedStep(f"s{i}", steady(0.5), need, num_workers=number)
            for i, number in enumerate(numbers)
        ]
        everywhere = nodes(count + more, gpus=8)
        simulation = Simulation(steps, everywhere[:count], 100_000, costs=FREE)
        for node in everywhere[count:]:
            simulation.at(3.0, lambda node=node: simulation.gain_node(node))
        simulation.run(40.0)
        for first, number in enumerate(numbers):
            placed = Counter(w.node.name for w in simulation.workers.values() if w.first == first)
            counts = [placed[node.name] for node in everywhere]
            assert sum(counts) == number
            assert max(counts) - min(counts) <= 1

    def test_a_worker_works_until_its_successor_is_ready(self) -> None:
        step = StepSpec(0, 0, ("a",), Need(gpus=UNIT), True, 2)
        scheduler = Scheduler([step], Settings())
        gpus = Capacity(4, GB, (Device("0"), Device("1")))
        sources = events.SourcesOffered(0.0, (Block("b", 100, 100),))
        scheduler.handle([events.NodeJoined(0.0, "n0", gpus), sources, events.Tick(0.1)])
        scheduler.handle([events.WorkerUp(0.2, 1), events.WorkerUp(0.2, 2)])
        done = scheduler.handle([events.NodeJoined(3.0, "n1", gpus), events.Tick(3.1)])
        assert _starts(done) == ["n1"]
        assert not any(isinstance(action, actions.StopWorker) for action in done)
        moved = scheduler.handle([events.WorkerUp(4.0, 3), events.Tick(4.1)])
        [call] = [a for a in moved if isinstance(a, actions.Dispatch)]
        assert call.worker == 3

    def test_workers_stay_where_they_are_balanced(self) -> None:
        simulation = Simulation([cpu_step("a", 1.0, num_workers=5)], nodes(2), 100_000, costs=FREE)
        simulation.run(30.0)
        assert not [e for e in simulation.explained if e.decision == "move"]


def _starts(done: list[actions.Action]) -> list[str]:
    return [action.node for action in done if isinstance(action, actions.StartWorker)]


class TestPerNode:
    def test_a_number_per_node_counts_for_each(self) -> None:
        found = workers_by_node([cpu_step("a", 1.0, workers_per_node=3)], nodes(4))
        assert found[0] == {f"n{i}": 3 for i in range(4)}

    def test_a_number_per_node_follows_nodes_that_join(self) -> None:
        simulation = Simulation([cpu_step("a", 1.0, workers_per_node=3)], nodes(1), 10_000)
        simulation.at(2.0, lambda: simulation.gain_node(replace(nodes(1)[0], name="late")))
        simulation.run(6.0)
        assert Counter(w.node.name for w in simulation.workers.values()) == {"n0": 3, "late": 3}

    def test_a_limit_per_node_is_kept(self) -> None:
        step = cpu_step("download", 1.0, cpus=0.25, max_workers_per_node=2)
        found = workers_by_node([step, cpu_step("read", 0.1)], nodes(3))
        assert found[0] == {f"n{i}": 2 for i in range(3)}

    def test_a_limit_per_node_is_kept_with_a_fixed_number(self) -> None:
        step = cpu_step("download", 1.0, num_workers=50, max_workers_per_node=2)
        assert workers_by_node([step], nodes(3))[0] == {f"n{i}": 2 for i in range(3)}


class TestGpuFractions:
    def test_fill_one_gpu_before_the_next(self) -> None:
        cluster = [NodeResources(n.name, n.capacity) for n in nodes(2, gpus=2)]
        devices = []
        for share in (UNIT // 4, UNIT // 2, UNIT // 4, UNIT // 2):
            found = find_node(cluster, Need(gpus=share))
            assert found is not None
            node, grant = found
            node.take(grant)
            devices.append((node.name, grant.shares[0].device))
        assert devices == [("n0", "0"), ("n0", "0"), ("n0", "0"), ("n0", "1")]


class TestSelection:
    def test_an_accelerator_is_found_by_its_type(self) -> None:
        cluster = [
            *nodes(2, gpus=4, accelerator="A100"),
            replace(nodes(1, gpus=4, accelerator="H100")[0], name="h100"),
        ]
        step = SimulatedStep("a", steady(1.0), Need(gpus=UNIT, accelerator="H100"))
        assert workers_by_node([step], cluster)[0] == {"h100": 4}

    @pytest.mark.parametrize("is_dedicated", [True, False])
    def test_labels_choose_nodes(self, is_dedicated: bool) -> None:
        cluster = [
            *nodes(2, labels={"zone": "a", "disk": "ssd"}),
            replace(nodes(1, labels={"zone": "b"})[0], name="b"),
            replace(nodes(1)[0], name="none"),
        ]
        need = Need(labels=(("zone", "a"),))
        step = SimulatedStep("a", steady(1.0), need, is_dedicated=is_dedicated)
        found = workers_by_node([step], cluster)
        assert set(found[0 if is_dedicated else None]) == {"n0", "n1"}

    def test_a_shared_worker_runs_only_steps_of_its_node(self) -> None:
        cluster = [
            *nodes(1, labels={"zone": "a"}),
            replace(nodes(1, labels={"zone": "b"})[0], name="b"),
        ]
        steps = [
            cpu_step("any", 0.1),
            SimulatedStep("a", steady(0.1), Need(labels=(("zone", "a"),))),
        ]
        simulation = Simulation(steps, cluster, 500, costs=FREE)
        ran: set[tuple[int, str]] = set()
        dispatch = simulation._dispatch

        def record(action: actions.Dispatch, sent_at: float) -> None:
            ran.add((action.first, simulation.workers[action.worker].node.name))
            dispatch(action, sent_at)

        simulation._dispatch = record  # type: ignore[method-assign]
        simulation.run(100)
        assert simulation.scheduler.is_over
        assert ran == {(0, "n0"), (0, "b"), (1, "n0")}
