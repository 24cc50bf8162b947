"""What a run says at its end: in figures that can be read, and of nothing that was not done."""

from curator_streaming.scheduling import events
from curator_streaming.scheduling.needs import GB, UNIT, Capacity, Need
from curator_streaming.scheduling.parcels import Parcel
from curator_streaming.scheduling.scheduler import Scheduler
from curator_streaming.scheduling.steps import StepSpec
from curator_streaming.simulating.simulation import Simulation
from curator_streaming.simulating.workloads import cpu_step, gpu_step, nodes_of
from curator_streaming.telling import lines_of


def told(*steps, tasks, gpus=0):
    simulation = Simulation(steps, nodes_of(1, 4, gpus), tasks)
    simulation.run(100_000)
    assert simulation.scheduler.is_over
    return "\n".join(lines_of(simulation.scheduler.summary()))


def test_times_are_plain_numbers_however_long_they_are():
    assert ", 741 ms each" in told(cpu_step("slow", 0.74), tasks=40)
    assert ", 2,500 s each" in told(cpu_step("slower", 2500.0), tasks=4)
    assert ", 7.5 ms each" in told(cpu_step("quick", 0.0074), tasks=4000)


def test_what_went_into_setting_up_is_told():
    read = cpu_step("read", 0.01, setup_s=4.0)
    lines = told(read, gpu_step("embed", 0.02, setup_s=8.0), tasks=40, gpus=1)

    assert "embed: 40 tasks, 20 ms each, on 1 worker of its own, 8 s to set up, at work" in lines
    assert " % for stages to be set up" in lines


def test_a_stage_whose_workers_never_came_is_not_said_to_have_shared_ones():
    scheduler = Scheduler(
        [
            StepSpec(0, 0, ("read",), Need(UNIT)),
            StepSpec(1, 1, ("embed",), Need(UNIT, gpus=UNIT), is_dedicated=True),
        ]
    )
    scheduler.handle([events.NodeJoined(0.0, "n", Capacity(1, GB))])
    scheduler.handle([events.SourcesOffered(0.0, (Parcel("h", 50, 50),))])
    scheduler.handle([events.WorkerUp(0.0, 1)])
    scheduler.handle([events.CallDone(0.1, 1, (Parcel("o", 1, 600),), 0.1)])
    for tick in range(40):
        scheduler.handle([events.Tick(0.1 * tick)])

    [read, embed, *_] = lines_of(scheduler.summary())
    assert read.startswith("read: 1 task, 100 ms each, on shared workers")
    assert embed == "embed: 0 tasks, none of the workers of its own came up"


def test_a_run_that_did_nothing_has_nothing_to_sum_up():
    scheduler = Scheduler([StepSpec(0, 0, ("clean",), Need(UNIT))])
    scheduler.handle([events.NodeJoined(0.0, "n", Capacity(1, GB))])
    scheduler.handle([events.SourcesOffered(0.0, (Parcel("h", 50, 50),))])
    scheduler.handle([events.WorkerUp(0.0, 1)])
    for tick in range(40):
        scheduler.handle([events.Tick(0.1 * tick)])

    summary = scheduler.summary()
    assert summary.seconds > 3
    assert not list(lines_of(summary))
