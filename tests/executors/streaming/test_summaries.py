"""What held up the line is found, and said in words that help."""

import pytest
from curator_streaming.scheduling import events
from curator_streaming.scheduling.actions import Dispatch
from curator_streaming.scheduling.needs import GB, UNIT, Capacity, Need
from curator_streaming.scheduling.parcels import Parcel
from curator_streaming.scheduling.scheduler import Scheduler
from curator_streaming.scheduling.settings import Settings
from curator_streaming.scheduling.steps import StepSpec
from curator_streaming.simulating.simulation import Physics, Simulation
from curator_streaming.simulating.workloads import cpu_step, gpu_step, nodes_of


def summary_of(*steps, tasks=1000, gpus=0, physics=None):
    simulation = Simulation(steps, nodes_of(1, 4, gpus), tasks, physics=physics)
    simulation.run(10_000)
    assert simulation.scheduler.is_over
    return simulation.scheduler.summary()


def test_the_stage_that_takes_most_of_the_cpus():
    summary = summary_of(cpu_step("clean", 0.005), cpu_step("parse", 0.05))

    assert summary.bottleneck == "parse"
    assert summary.evidence == "the CPUs were taken 100 % of the time, 91 % of it by parse"
    assert summary.advice == (
        "more CPUs, or a faster parse, would help most; if it rather waits than computes, let it "
        "ask for less than its cpus=1"
    )
    clean, parse = summary.steps
    assert (clean.tasks, parse.tasks, parse.workers, summary.shared_workers) == (1000, 1000, 0, 4)
    assert parse.cpu_share == pytest.approx(10 * clean.cpu_share, rel=0.05)


def test_sources_that_come_slowly():
    summary = summary_of(cpu_step("clean", 0.005), physics=Physics(sources_per_s=50))

    assert summary.bottleneck == "the listing of sources"
    assert summary.advice == "list faster, or fewer and larger sources"
    assert summary.waited_for_sources_s > 0.7 * summary.seconds


def test_a_gpu_that_starves_is_not_to_blame():
    summary = summary_of(cpu_step("decode", 0.1), gpu_step("embed", 0.005), gpus=1)

    embed = summary.steps[1]
    assert summary.bottleneck == "decode"
    assert embed.workers == 1
    assert embed.waited_for_input_s + embed.waited_for_cpus_s > 0.7 * embed.there_s
    assert embed.waited_for_room_s == 0


def test_a_gpu_that_is_always_at_work():
    summary = summary_of(cpu_step("decode", 0.01), gpu_step("embed", 0.05), gpus=1)

    assert summary.bottleneck == "embed"
    assert summary.evidence.startswith("its worker was at work 100 %")
    assert summary.advice == (
        "more room for it (1 CPU, 1 GPU each), or a faster embed, would help most"
    )
    assert summary.shared_waited_for_room_s > 0.3 * summary.seconds


def test_a_fixed_number_of_workers():
    summary = summary_of(cpu_step("slow", 0.05, num_workers=1), tasks=200)

    assert summary.bottleneck == "slow"
    assert summary.advice == "more workers would help: num_workers fixes them at 1"


def test_outputs_that_nobody_takes():
    scheduler = Scheduler([StepSpec(0, 0, ("make",), Need(UNIT))], Settings(max_queued_bytes=1000))
    scheduler.handle([events.NodeJoined(0.0, "n", Capacity(1, GB))])
    said = scheduler.handle([events.SourcesOffered(0.0, (Parcel("h", 50, 50),))])
    said += scheduler.handle([events.WorkerUp(0.0, 1)])
    said += scheduler.handle([events.CallDone(0.1, 1, (Parcel("o", 1, 600),), 0.1)])
    for tick in range(100):
        said += scheduler.handle([events.Tick(0.2 + tick / 10)])

    summary = scheduler.summary()
    assert len([action for action in said if isinstance(action, Dispatch)]) == 1
    assert summary.bottleneck == "whoever takes the outputs"
    assert summary.advice == "take them faster, or write them in a last stage"


def test_a_run_of_a_moment_tells_nothing():
    summary = summary_of(cpu_step("clean", 0.005), tasks=10)

    assert (summary.bottleneck, summary.evidence) == ("", "the run was too short to tell")
