"""On simulated clusters GPUs stay busy, and workers follow the work."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from curator_streaming.scheduler.resources import UNIT, Need
from curator_streaming.scheduler.settings import Settings
from simulator.simulation import Simulation
from simulator.workloads import (
    SimulatedStep,
    cpu_step,
    gpu_step,
    heavy_tailed,
    nodes_of,
    steady,
)

TAIL = heavy_tailed(1.0)


@pytest.mark.parametrize("gpus", [8, 64])
def test_gpus_stay_busy_with_uneven_tasks_and_dying_workers(gpus):
    steps = [
        cpu_step("decode", 0.4, factors=TAIL, output_bytes=1 << 20),
        gpu_step("embed", 1.0, factors=TAIL, setup_s=5.0),
        cpu_step("write", 0.1),
    ]
    simulation = Simulation(steps, nodes_of(gpus // 8, 16, 8, slow=(0,)), gpus * 40)
    random = Random(1)
    for moment in (15.0, 22.0):
        simulation.at(
            moment, lambda: simulation.down(random.choice([*simulation.workers.values()]), "died")
        )
    measures = simulation.run(1_000)
    assert simulation.scheduler.is_over
    assert sum(simulation.outcomes.delivered.values()) == gpus * 40
    assert measures.gpu_busy(measures.warm_up(gpus), measures.steady_until(gpus)) >= 0.99
    assert measures.peak_bytes <= simulation.scheduler.settings.max_queued_bytes


def test_shared_workers_reach_what_the_cpus_allow():
    steps = [cpu_step("a", 0.005, 0.25), cpu_step("b", 0.04, 0.25), cpu_step("c", 0.01, 0.25)]
    simulation = Simulation(steps, nodes_of(1, 2), 1000)
    measures = simulation.run(100)
    assert measures.rate(1.0, 5.0) >= 0.96 * 8 / 0.055


def test_calls_grow_until_one_driver_serves_all_workers():
    simulation = Simulation([cpu_step("a", 0.05)], nodes_of(10, 50), 500 * 20 * 15)
    measures = simulation.run(100)
    assert measures.cpu_busy(500, 8.0, 14.0) >= 0.97
    assert measures.tasks / measures.calls > 10


@pytest.mark.parametrize("rounds", [1, 2])
def test_long_tasks_are_not_queued_behind_others_while_workers_are_idle(rounds):
    simulation = Simulation([cpu_step("a", 10.0)], nodes_of(1, 4), 4 * rounds)
    assert simulation.run(1_000).makespan < 10 * rounds + 1


def test_calls_of_a_few_workers_stay_short():
    simulation = Simulation([cpu_step("a", 0.05)], nodes_of(1, 16), 16 * 20 * 5)
    measures = simulation.run(100)
    assert measures.cpu_busy(16, 1.0, 5.0) >= 0.99
    assert measures.tasks / measures.calls <= 2


def test_a_job_too_small_for_its_workers_ends_without_large_calls():
    simulation = Simulation([cpu_step("a", 0.05)], nodes_of(10, 50), 2_000)
    measures = simulation.run(100)
    assert measures.deliveries[0][0] < 0.5
    assert measures.makespan < 1.2  # the driver alone takes that for calls of two tasks


def test_workers_move_to_a_model_that_became_slow():
    def cost(now: float) -> float:
        return 0.02 if now < 30 else 0.10

    steps = [
        cpu_step("read", 0.005),
        SimulatedStep("a", cost, Need(gpus=UNIT), setup_s=1.0),
        gpu_step("b", 0.06, setup_s=1.0),
    ]
    simulation = Simulation(steps, nodes_of(2, 16, 8), 9_000)
    measures = simulation.run(1_000)
    assert measures.rate(15, 30) >= 0.95 * 16 / 0.08
    assert measures.rate(33, 38) >= 0.9 * 16 / 0.16
    moves = [e.reason for e in simulation.explained if e.decision == "move"]
    assert 0 < len(moves) <= 16
    assert "from b to a" in moves[-1]


def test_cpu_workers_move_to_a_stage_that_became_slow():
    def step(name: str, before: float, after: float) -> SimulatedStep:
        return SimulatedStep(name, lambda now: before if now < 20 else after, is_dedicated=True)

    steps = [step("a", 0.1, 1.0), step("b", 1.0, 0.1)]
    simulation = Simulation(steps, nodes_of(1, 8, 0), 10_000)
    simulation.run(20)
    assert _workers_by_step(simulation) == {0: 1, 1: 7}
    simulation.run(40)
    assert _workers_by_step(simulation) == {0: 7, 1: 1}


def _workers_by_step(simulation: Simulation) -> Counter[int | None]:
    return Counter(worker.first for worker in simulation.workers.values())


def test_noise_moves_no_workers():
    steps = [gpu_step("a", 0.5, factors=TAIL, setup_s=20.0), gpu_step("b", 0.5, factors=TAIL)]
    simulation = Simulation(steps, nodes_of(1, 16, 8), 3_000)
    simulation.run(10_000)
    assert len([e for e in simulation.explained if e.decision == "move"]) <= 2


def test_a_step_with_a_large_fan_out_stays_within_the_budget():
    steps = [
        cpu_step("inflate", 0.01, fan_out=50, output_bytes=2_000_000),
        SimulatedStep("slow", steady(0.02)),
    ]
    budget = 1 << 30
    simulation = Simulation(steps, nodes_of(1, 4), 100, Settings(max_queued_bytes=budget))
    measures = simulation.run(1_000)
    assert sum(simulation.outcomes.delivered.values()) == 5_000
    assert measures.peak_bytes <= budget


def test_two_models_that_need_the_whole_cluster_take_turns():
    model = gpu_step("a", 0.05, gpus=8.0, setup_s=0.5)
    simulation = Simulation([model, replace(model, name="b")], nodes_of(1, 16, 8), 200)
    simulation.run(1_000)
    assert sum(simulation.outcomes.delivered.values()) == 200


def test_the_scheduler_does_not_grow_with_the_tasks():
    simulation = Simulation([cpu_step("a", 1e-4), cpu_step("b", 1e-4)], nodes_of(1, 8), 100_000)
    simulation.run(1_000)
    state = simulation.scheduler._state
    left = (state.calls, state.blocks, state.workers, state.paused)
    assert [len(things) for things in left] == [0, 0, 0, 0]


@pytest.mark.parametrize("share", [UNIT // 2, UNIT])
def test_recycled_models_run_until_their_successor_is_ready(share):
    steps = [SimulatedStep("embed", steady(0.1), Need(gpus=share), setup_s=5.0, num_workers=1)]
    settings = Settings(worker_max_tasks=100)
    simulation = Simulation(steps, nodes_of(1, 4, 1), 400, settings)
    simulation.run(1_000)
    assert simulation.scheduler.is_over
    assert sum(simulation.outcomes.delivered.values()) == 400
    recycled = [told for told in simulation.explained if told.decision == "recycle"]
    assert len(recycled) >= 2
    gaps = 5.0 * len(recycled) if share == UNIT else 0.0
    assert 45 <= simulation.now - gaps <= 49
