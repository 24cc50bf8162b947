"""Generators that run long leave room, CPUs and workers to later steps."""

import itertools

import pytest
from curator_streaming.scheduler.resources import UNIT, Need
from curator_streaming.scheduler.settings import Settings
from simulator.simulation import CHILDREN, Simulation
from simulator.workloads import SimulatedStep, cpu_step, gpu_step, nodes_of, steady

MB = 1_000_000
ENDLESS = 10**9


def generator(seconds: float = 0.01, fan_out: int = ENDLESS, **more) -> SimulatedStep:
    settings = {"fan_out": fan_out, "output_bytes": MB, "yields": True, **more}
    return cpu_step("generate", seconds, **settings)


def first_yield(simulation: Simulation) -> list[float]:
    """Record when the first output is yielded."""
    times: list[float] = []
    record = simulation._yield

    def observe(worker, call) -> None:
        times.append(simulation.now)
        record(worker, call)

    simulation._yield = observe
    return times


def test_two_endless_generators_on_two_cpus_do_not_starve_the_next_step():
    budget = 100 * MB
    simulation = Simulation(
        [generator(), cpu_step("use", 0.02)],
        nodes_of(1, 2),
        2,
        Settings(max_queued_bytes=budget),
    )
    yielded = first_yield(simulation)
    measures = simulation.run(60.0)
    assert measures.deliveries[0][0] - yielded[0] <= 1.0
    assert sum(simulation.outcomes.delivered.values()) > 1_000
    assert measures.peak_bytes <= budget + 10 * MB


def test_more_endless_generators_than_cpus_start_no_worker_for_each():
    simulation = Simulation(
        [generator(), cpu_step("use", 0.02)], nodes_of(2, 2), 50, Settings(max_queued_bytes=50 * MB)
    )
    measures = simulation.run(30.0)
    assert len(measures.deliveries) > 500
    assert len(simulation.workers) <= 2 * (2 + 3)


def test_every_node_keeps_a_slot_for_later_steps():
    simulation = Simulation([generator(), cpu_step("use", 0.02)], nodes_of(3, 4), 100)
    nodes: set[str] = set()
    dispatch = simulation._dispatch

    def record(action, sent_at) -> None:
        if action.first == 1:
            nodes.add(simulation.workers[action.worker].node.name)
        dispatch(action, sent_at)

    simulation._dispatch = record
    simulation.run(5.0)
    assert nodes == {"node0", "node1", "node2"}


def test_a_gpu_step_gets_the_cpu_that_it_needs_beside_generators():
    steps = [generator(), gpu_step("embed", 0.02)]
    simulation = Simulation(steps, nodes_of(1, 1, 1), 1)
    simulation.run(30.0)
    assert sum(simulation.outcomes.delivered.values()) > 100


def test_a_dedicated_generator_is_paused_too():
    steps = [generator(num_workers=1), cpu_step("use", 0.02)]
    simulation = Simulation(steps, nodes_of(1, 1), 1, Settings(max_queued_bytes=50 * MB))
    measures = simulation.run(30.0)
    assert len(measures.deliveries) > 300


@pytest.mark.parametrize("setup_s", [0.1, 5.0])
@pytest.mark.parametrize("fan_out", [60, ENDLESS])
def test_a_step_is_set_up_elsewhere_while_its_only_worker_is_paused(setup_s, fan_out):
    use = cpu_step("use", 0.001, setup_s=setup_s)
    simulation = Simulation([generator(0.15, fan_out), use], nodes_of(1, 2), 20)
    measures = simulation.run(300.0)
    times = [moment for moment, _ in measures.deliveries]
    pauses = [later - sooner for sooner, later in itertools.pairwise(times)]
    assert max(pauses) <= 1.0 + setup_s
    assert simulation.scheduler.is_over == (fan_out == 60)


def test_generators_that_end_lose_nothing():
    steps = [generator(0.005, fan_out=40), cpu_step("a", 0.02), cpu_step("b", 0.01, num_workers=1)]
    simulation = Simulation(steps, nodes_of(2, 2), 60, Settings(max_queued_bytes=20 * MB))
    simulation.run(500.0)
    assert simulation.scheduler.is_over
    made = [task * CHILDREN + k for task in range(1, 61) for k in range(40)]
    assert sorted(simulation.outcomes.delivered.elements()) == made
    assert simulation.scheduler.queued_bytes == 0


def test_generators_whose_workers_die_free_what_they_held():
    steps = [
        SimulatedStep("generate", steady(0.01), Need(UNIT), fan_out=60, yields=True),
        cpu_step("use", 0.02),
    ]
    simulation = Simulation(steps, nodes_of(1, 2), 20)
    for moment in (1.0, 1.5, 2.5):
        simulation.at(
            moment, lambda: simulation.down(next(iter(simulation.workers.values())), "died")
        )
    simulation.run(500.0)
    assert simulation.scheduler.is_over
    assert not simulation.workers
