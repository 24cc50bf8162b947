"""The bottleneck is found and explained."""

import pytest
from curator_streaming.scheduler import events
from curator_streaming.scheduler.actions import Dispatch
from curator_streaming.scheduler.blocks import Block
from curator_streaming.scheduler.core import Scheduler
from curator_streaming.scheduler.resources import GB, UNIT, Capacity, Need
from curator_streaming.scheduler.settings import Settings
from curator_streaming.scheduler.stats import CONSUMER, SOURCES
from curator_streaming.scheduler.steps import StepSpec
from simulator.simulation import Delays, Simulation
from simulator.workloads import cpu_step, gpu_step, nodes_of


def summary_of(*steps, tasks=1000, gpus=0, delays=None):
    simulation = Simulation(steps, nodes_of(1, 4, gpus), tasks, delays=delays)
    simulation.run(10_000)
    assert simulation.scheduler.is_over
    return simulation.scheduler.summary()


def test_the_bottleneck_is_the_stage_that_uses_most_cpu():
    summary = summary_of(cpu_step("clean", 0.005), cpu_step("parse", 0.05))

    assert summary.bottleneck == "parse"
    assert "91 % of it in parse" in summary.evidence
    assert "faster parse" in summary.advice
    assert "cpus=1" in summary.advice
    clean, parse = summary.steps
    assert (clean.tasks, parse.tasks, parse.workers, summary.shared_workers) == (1000, 1000, 0, 4)
    assert parse.cpu_share == pytest.approx(10 * clean.cpu_share, rel=0.05)


def test_the_bottleneck_is_a_slow_listing():
    summary = summary_of(cpu_step("clean", 0.005), delays=Delays(sources_per_s=50))

    assert summary.bottleneck == SOURCES
    assert summary.waited_for_sources_s > 0.7 * summary.seconds


def test_a_starving_gpu_is_not_the_bottleneck():
    summary = summary_of(cpu_step("decode", 0.1), gpu_step("embed", 0.005), gpus=1)

    embed = summary.steps[1]
    assert summary.bottleneck == "decode"
    assert embed.workers == 1
    assert embed.waited_for_input_s + embed.waited_for_cpus_s > 0.7 * embed.there_s
    assert embed.waited_for_room_s == 0


def test_the_bottleneck_is_a_busy_gpu():
    summary = summary_of(cpu_step("decode", 0.01), gpu_step("embed", 0.05), gpus=1)

    assert summary.bottleneck == "embed"
    assert "100 %" in summary.evidence
    assert "1 CPU, 1 GPU each" in summary.advice
    assert summary.shared_waited_for_room_s > 0.3 * summary.seconds


def test_a_fixed_number_of_workers_is_named_in_the_advice():
    summary = summary_of(cpu_step("slow", 0.05, num_workers=1), tasks=200)

    assert summary.bottleneck == "slow"
    assert "num_workers fixes them at 1" in summary.advice


def test_the_bottleneck_is_a_slow_consumer():
    scheduler = Scheduler([StepSpec(0, 0, ("make",), Need(UNIT))], Settings(max_queued_bytes=1000))
    scheduler.handle([events.NodeJoined(0.0, "n", Capacity(1, GB))])
    replies = scheduler.handle([events.SourcesOffered(0.0, (Block("h", 50, 50),))])
    replies += scheduler.handle([events.WorkerUp(0.0, 1)])
    replies += scheduler.handle([events.CallDone(0.1, 1, (Block("o", 1, 600),), 0.1)])
    for tick in range(100):
        replies += scheduler.handle([events.Tick(0.2 + tick / 10)])

    summary = scheduler.summary()
    assert len([action for action in replies if isinstance(action, Dispatch)]) == 1
    assert summary.bottleneck == CONSUMER


def test_a_short_run_has_no_bottleneck():
    summary = summary_of(cpu_step("clean", 0.005), tasks=10)

    assert summary.bottleneck == ""
