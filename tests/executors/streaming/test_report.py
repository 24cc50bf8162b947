"""The closing summary: readable figures, and nothing about work that was not done."""

from curator_streaming.report import summary_lines
from curator_streaming.scheduler import events
from curator_streaming.scheduler.blocks import Block
from curator_streaming.scheduler.core import Scheduler
from curator_streaming.scheduler.resources import GB, UNIT, Capacity, Need
from curator_streaming.scheduler.steps import StepSpec
from simulator.simulation import Simulation
from simulator.workloads import cpu_step, gpu_step, nodes_of


def report(*steps, tasks, gpus=0):
    simulation = Simulation(steps, nodes_of(1, 4, gpus), tasks)
    simulation.run(100_000)
    assert simulation.scheduler.is_over
    return "\n".join(summary_lines(simulation.scheduler.summary()))


def test_times_have_readable_units():
    assert ", 741 ms each" in report(cpu_step("slow", 0.74), tasks=40)
    assert ", 2,500 s each" in report(cpu_step("slower", 2500.0), tasks=4)
    assert ", 7.5 ms each" in report(cpu_step("quick", 0.0074), tasks=4000)


def test_setup_time_is_shown():
    read = cpu_step("read", 0.01, setup_s=4.0)
    lines = report(read, gpu_step("embed", 0.02, setup_s=8.0), tasks=40, gpus=1)

    assert "embed: 40 tasks, 20 ms each, on 1 dedicated worker, 8 s of setup, busy" in lines
    assert " % for setup" in lines


def test_a_dedicated_stage_without_workers_is_named_as_such():
    scheduler = Scheduler(
        [
            StepSpec(0, 0, ("read",), Need(UNIT)),
            StepSpec(1, 1, ("embed",), Need(UNIT, gpus=UNIT), is_dedicated=True),
        ]
    )
    scheduler.handle([events.NodeJoined(0.0, "n", Capacity(1, GB))])
    scheduler.handle([events.SourcesOffered(0.0, (Block("h", 50, 50),))])
    scheduler.handle([events.WorkerUp(0.0, 1)])
    scheduler.handle([events.CallDone(0.1, 1, (Block("o", 1, 600),), 0.1)])
    for tick in range(40):
        scheduler.handle([events.Tick(0.1 * tick)])

    [read, embed, *_] = summary_lines(scheduler.summary())
    assert read.startswith("read: 1 task, 100 ms each, on shared workers")
    assert embed == "embed: 0 tasks, none of its dedicated workers started"


def test_a_run_without_tasks_has_no_summary():
    scheduler = Scheduler([StepSpec(0, 0, ("clean",), Need(UNIT))])
    scheduler.handle([events.NodeJoined(0.0, "n", Capacity(1, GB))])
    scheduler.handle([events.SourcesOffered(0.0, (Block("h", 50, 50),))])
    scheduler.handle([events.WorkerUp(0.0, 1)])
    for tick in range(40):
        scheduler.handle([events.Tick(0.1 * tick)])

    summary = scheduler.summary()
    assert summary.seconds > 3
    assert not list(summary_lines(summary))
