"""In random pipelines and clusters no task is lost or doubled, and no resource is overdrawn."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from curator_streaming.scheduler.resources import GB, UNIT, Capacity, Device, Need
from curator_streaming.scheduler.settings import Settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from simulator.simulation import CHILDREN, Delays, Simulation
from simulator.workloads import (
    SimulatedNode,
    SimulatedStep,
    heavy_tailed,
    steady,
)

TAIL = heavy_tailed(1.0)

quickly = settings(
    max_examples=50, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)

NEEDS = st.one_of(
    st.builds(Need, cpus=st.sampled_from([0, UNIT // 4, UNIT, UNIT, 2 * UNIT])),
    st.builds(Need, cpus=st.sampled_from([UNIT // 2, UNIT]), memory=st.sampled_from([GB, 6 * GB])),
    st.builds(Need, gpus=st.sampled_from([UNIT // 4, UNIT // 3, UNIT, UNIT])),
    st.builds(Need, gpu_memory=st.sampled_from([10 * GB, 30 * GB])),
    st.just(Need(cpus=UNIT, custom=(("disk", UNIT),))),
)

STEPS = st.builds(
    SimulatedStep,
    name=st.just("step"),
    seconds=st.sampled_from([steady(s) for s in (0.0001, 0.003, 0.05, 0.4)]),
    need=NEEDS,
    num_workers=st.sampled_from([None, None, None, 1, 3]),
    max_workers_per_node=st.sampled_from([None, None, None, 2]),
    factors=st.sampled_from([(1.0,), TAIL]),
    fan_out=st.sampled_from([0, 1, 1, 1, 1, 3]),
    output_bytes=st.sampled_from([0, 1_000, 1_000_000]),
    setup_s=st.sampled_from([0.0, 0.01, 0.1, 1.0]),
    batch_size=st.sampled_from([1, 1, 1, 8]),
    poison=st.frozensets(st.integers(1, 60), max_size=2),
)

GENERATORS = st.builds(
    replace,
    STEPS,
    yields=st.just(True),
    fan_out=st.sampled_from([2, 3]),
    poison=st.just(frozenset()),
    batch_size=st.sampled_from([1, 8]),
)

LINES = st.lists(STEPS, min_size=1, max_size=5)
BUDGETS = st.sampled_from([10_000, 3_000_000, 1 << 30])


def cluster(count: int) -> list[SimulatedNode]:
    devices = (Device("0", 40 * GB), Device("1", 80 * GB))
    capacity = Capacity(4.0, 16 * GB, devices, {"disk": 1.0})
    return [SimulatedNode(f"n{i}", capacity) for i in range(count)]


def survivors(steps: list[SimulatedStep], sources: int) -> tuple[Counter[int], Counter[int]]:
    """Return what must be delivered and what must be quarantined."""
    flow, condemned = list(range(1, sources + 1)), Counter[int]()
    for step in steps:
        condemned.update(task for task in flow if task in step.poison)
        flow = [task for task in flow if task not in step.poison]
        if step.fan_out != 1:
            flow = [task * CHILDREN + k for task in flow for k in range(step.fan_out)]
    return Counter(flow), condemned


def check_nothing_is_left(simulation: Simulation) -> None:
    assert simulation.scheduler.is_over
    assert not simulation.failure
    assert not simulation.workers
    assert not simulation._store
    assert simulation.scheduler.queued_bytes == 0


@quickly
@given(
    st.lists(STEPS | GENERATORS, min_size=1, max_size=5),
    st.integers(1, 3),
    st.integers(0, 300),
    BUDGETS,
)
def test_every_task_comes_out_exactly_once(steps, nodes, sources, budget):
    simulation = Simulation(steps, cluster(nodes), sources, Settings(max_queued_bytes=budget))
    simulation.run(5_000)
    delivered, condemned = survivors(steps, sources)
    check_nothing_is_left(simulation)
    assert simulation.outcomes.delivered == delivered
    assert simulation.outcomes.quarantined == condemned
    assert not simulation.outcomes.given_up


@quickly
@given(LINES, st.integers(1, 200), st.integers(0, 2**32), BUDGETS)
def test_no_task_is_lost_when_workers_die(steps, sources, seed, budget):
    steps = [replace(step, poison=frozenset()) for step in steps]
    simulation = Simulation(steps, cluster(2), sources, Settings(max_queued_bytes=budget))
    random = Random(seed)

    def kill() -> None:
        alive = [w for w in simulation.workers.values() if w.is_up and not w.is_leaving]
        if alive:
            simulation.down(random.choice(alive), "was killed by SIGKILL")

    for _ in range(random.randrange(1, 12)):
        simulation.at(random.uniform(0.3, 6.0), kill)
    simulation.run(5_000)
    check_nothing_is_left(simulation)
    check_accounts(simulation, steps, sources)


def check_accounts(simulation: Simulation, steps: list[SimulatedStep], sources: int) -> None:
    """Check that each task was delivered, quarantined or given up exactly once."""
    outcomes = simulation.outcomes

    def settle(task: int, position: int) -> None:
        aside = outcomes.quarantined[task] + outcomes.given_up[task]
        if position == len(steps) or aside:
            assert outcomes.delivered[task] + aside == 1, task
            seen[task] += 1
            return
        gives = steps[position].fan_out
        for child in [task] if gives == 1 else [task * CHILDREN + k for k in range(gives)]:
            settle(child, position + 1)

    seen: Counter[int] = Counter()
    for source in range(1, sources + 1):
        settle(source, 0)
    assert sum(seen.values()) == sum(outcomes.delivered.values()) + sum(
        (outcomes.quarantined + outcomes.given_up).values()
    )


@quickly
@given(LINES, st.integers(1, 200), st.floats(0.3, 5.0), st.floats(0.1, 5.0))
def test_no_task_is_lost_when_a_node_is_replaced(steps, sources, lost_at, later):
    steps = [replace(step, poison=frozenset()) for step in steps]
    simulation = Simulation(steps, cluster(2), sources)
    spare = replace(cluster(1)[0], name="spare")
    simulation.at(lost_at, lambda: simulation.lose_node("n0"))
    simulation.at(lost_at + later, lambda: simulation.gain_node(spare))
    simulation.run(5_000)
    check_nothing_is_left(simulation)
    delivered, _ = survivors(steps, sources)
    assert simulation.outcomes.delivered == delivered


@quickly
@given(LINES, st.integers(1, 2), st.integers(1, 400), st.sampled_from([100_000, 3_000_000]))
def test_bytes_stay_within_the_budget_plus_one_call_per_worker(steps, nodes, sources, budget):
    steps = [replace(step, poison=frozenset()) for step in steps]
    simulation = Simulation(steps, cluster(nodes), sources, Settings(max_queued_bytes=budget))
    most_workers = 0

    def look() -> None:
        nonlocal most_workers
        most_workers = max(most_workers, len(simulation.workers))
        simulation.at(simulation.now + 0.2, look)

    look()
    measures = simulation.run(5_000)
    check_nothing_is_left(simulation)
    # Until a step has been seen, its calls are small: one task, or one batch.
    largest = max(step.fan_out * step.output_bytes * max(step.batch_size, 1) for step in steps)
    largest += simulation.delays.source_bytes * 100
    assert measures.peak_bytes <= budget + most_workers * largest


@quickly
@given(LINES, st.integers(1, 100), BUDGETS)
def test_the_same_events_give_the_same_actions(steps, sources, budget):
    def run() -> tuple[float, int, list[str]]:
        simulation = Simulation(steps, cluster(2), sources, Settings(max_queued_bytes=budget))
        simulation.run(5_000)
        return simulation.now, simulation.decisions, [e.reason for e in simulation.explained]

    assert run() == run()


@quickly
@given(LINES, st.integers(1, 3), st.integers(0, 300), BUDGETS)
def test_with_barriers_no_step_begins_before_all_others_are_done(steps, nodes, sources, budget):
    how = Settings(max_queued_bytes=budget, has_barriers=True)
    simulation = Simulation(steps, cluster(nodes), sources, how)
    begun: list[int] = []
    dispatch = simulation._dispatch
    simulation._dispatch = lambda a, at: (begun.append(a.first), dispatch(a, at))
    simulation.run(5_000)
    check_nothing_is_left(simulation)
    delivered, condemned = survivors(steps, sources)
    assert simulation.outcomes.delivered == delivered
    assert simulation.outcomes.quarantined == condemned
    assert begun == sorted(begun)


def test_recycling_respects_its_interval():
    def recycled(interval: float) -> int:
        options = Settings(worker_max_tasks=10, worker_restart_interval_s=interval)
        simulation = Simulation([SimulatedStep("a", steady(0.02))], cluster(2), 3_000, options)
        simulation.run(5_000)
        check_nothing_is_left(simulation)
        return len([e for e in simulation.explained if e.decision == "recycle"])

    assert recycled(0.0) > 20
    assert recycled(2.0) <= 5


def test_autoscaling_respects_its_interval():
    def changes(interval: float) -> list[str]:
        steps = [
            SimulatedStep("a", lambda now: 0.1 if now < 20 else 1.0, Need(gpus=UNIT)),
            SimulatedStep("b", steady(0.1), Need(gpus=UNIT)),
        ]
        options = Settings(autoscale_interval_s=interval)
        simulation = Simulation(steps, cluster(4), 2_000, options)
        simulation.run(150)
        return [e.reason for e in simulation.explained if e.decision == "move"]

    assert changes(1.0)
    assert not changes(180.0)


@pytest.mark.parametrize("option", ["worker_max_tasks", "worker_max_lifetime_s"])
def test_recycled_workers_lose_nothing(option):
    steps = [
        SimulatedStep("a", steady(0.02)),
        SimulatedStep("b", steady(0.05), Need(gpus=UNIT), setup_s=0.5),
    ]
    simulation = Simulation(steps, cluster(1), 500, Settings(**{option: 30}), Delays())
    simulation.run(5_000)
    check_nothing_is_left(simulation)
    assert simulation.outcomes.delivered == survivors(steps, 500)[0]
