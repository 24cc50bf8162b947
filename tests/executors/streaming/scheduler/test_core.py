"""The scheduler, event by event."""

from dataclasses import dataclass, field

import pytest
from curator_streaming.scheduler import actions, events
from curator_streaming.scheduler.blocks import Block, BlockSlice
from curator_streaming.scheduler.core import Scheduler
from curator_streaming.scheduler.resources import GB, UNIT, Capacity, Device, Need
from curator_streaming.scheduler.settings import Settings
from curator_streaming.scheduler.steps import StepSpec


def step(first, last=None, **more):
    last = first if last is None else last
    names = tuple(f"s{i}" for i in range(first, last + 1))
    need = more.pop("need", Need())
    return StepSpec(first, last, names, need, need.is_special, **more)


GPU = Need(cpus=0, gpus=UNIT)


@dataclass
class FakeDriver:
    """Sends events to a scheduler and keeps the actions."""

    scheduler: Scheduler
    now: float = 0.0
    actions: list = field(default_factory=list)
    handles: int = 0

    def send(self, event, /, *values, after=0.0, **named):
        self.now += after
        replies = self.scheduler.handle([event(self.now, *values, **named)])
        self.actions += replies
        return replies

    def of(self, kind):
        return [action for action in self.actions if isinstance(action, kind)]

    def block(self, tasks, size=100, node=""):
        self.handles += 1
        return Block(f"h{self.handles}", tasks, size, node)

    def all_up(self):
        """Report all started workers as up; events of dead ones are ignored."""
        for start in self.of(actions.StartWorker):
            self.send(events.WorkerUp, start.worker)

    def done(self, call, *outputs, seconds=0.01, **named):
        return self.send(events.CallDone, call.call, tuple(outputs), seconds, **named)


def make_driver(*steps, cpus=1.0, gpus=0, tasks=1, up=True, **settings):
    """Return a driver with one node, whose workers are up, and some sources."""
    made = FakeDriver(Scheduler(steps, Settings(**settings)))
    devices = tuple(Device(str(i), 16 * GB) for i in range(gpus))
    made.send(events.NodeJoined, "n", Capacity(cpus, 8 * GB, devices))
    if tasks:
        made.send(events.SourcesOffered, (made.block(tasks),))
        made.send(events.SourcesEnded)
    made.send(events.Tick, after=0.1)
    for start in made.of(actions.StartWorker) if up else ():
        made.send(events.WorkerUp, start.worker)
    return made


def test_a_task_passes_every_step_and_the_workers_stop():
    d = make_driver(step(0), step(1))
    [first] = d.of(actions.Dispatch)
    assert first.inputs == (BlockSlice("h1", 0, 1),)
    d.done(first, d.block(1))
    assert actions.Release("h1") in d.actions
    second = d.of(actions.Dispatch)[-1]
    assert (second.first, second.inputs) == (1, (BlockSlice("h2", 0, 1),))
    d.done(second)
    assert d.scheduler.is_done
    [stop] = d.of(actions.StopWorker)
    assert stop.reason == "the work is done"
    d.send(events.WorkerDown, stop.worker, "stopped", kind="stopped")
    assert d.scheduler.is_over


def test_small_tasks_are_sent_many_per_call():
    d = make_driver(step(0), tasks=10_000)
    for number in range(20):
        call = d.of(actions.Dispatch)[number]
        d.done(call, seconds=1e-4 * sum(map(len, call.inputs)))
    sizes = [sum(map(len, call.inputs)) for call in d.of(actions.Dispatch)]
    assert sizes[0] == 1
    assert 500 <= max(sizes) <= 700  # 60 ms at .1 ms each


def test_enough_sources_are_requested_to_start_all_workers():
    d = FakeDriver(Scheduler([step(0, need=Need(cpus=UNIT // 4))], Settings()))
    d.send(events.NodeJoined, "n", Capacity(2, GB))
    answered = 0
    for _ in range(3):  # first few, then as many as what the first call took calls for
        asked = sum(ask.tasks for ask in d.of(actions.RequestSources))
        d.send(events.SourcesOffered, (d.block(asked - answered),))
        answered = asked
        d.all_up()
        d.done(d.of(actions.Dispatch)[-1], seconds=0.05)
    assert len(d.of(actions.StartWorker)) == 8


def test_later_steps_come_first():
    d = make_driver(step(0), step(1), tasks=5, slots_per_worker=1)
    d.done(d.of(actions.Dispatch)[-1], d.block(1))
    assert d.of(actions.Dispatch)[-1].first == 1


def test_a_worker_prefers_tasks_stored_on_its_node():
    d = FakeDriver(Scheduler([step(0)], Settings(slots_per_worker=1)))
    d.send(events.NodeJoined, "n", Capacity(1, GB))
    d.send(events.SourcesOffered, (d.block(1, node="far"), d.block(1, node="n")))
    d.send(events.WorkerUp, 1)
    assert d.of(actions.Dispatch)[0].inputs[0].handle == "h2"


@pytest.mark.parametrize(("cpus", "workers"), [(0.25, 8), (1, 2), (2, 1)])
def test_the_number_of_shared_workers_follows_the_cpus(cpus, workers):
    d = make_driver(step(0, need=Need(cpus=int(cpus * UNIT))), cpus=2, tasks=100)
    d.done(d.of(actions.Dispatch)[0], seconds=1.0)
    d.send(events.Tick, after=0.1)
    assert len(d.of(actions.StartWorker)) == workers


def test_a_slow_first_task_starts_no_workers_for_thousands_of_fast_ones():
    d = make_driver(step(0, need=Need(cpus=UNIT // 4)), cpus=2, tasks=5000)
    first, second = d.of(actions.Dispatch)[:2]
    before = len(d.of(actions.StartWorker))
    d.done(first, seconds=2e-3)
    d.done(second, seconds=2e-3)
    d.send(events.Tick, after=0.1)
    assert len(d.of(actions.StartWorker)) == before
    d.done(d.of(actions.Dispatch)[2], seconds=0.05)
    d.send(events.Tick, after=0.1)
    assert len(d.of(actions.StartWorker)) > before


@pytest.mark.parametrize(("tasks", "early"), [(7, 2), (100, 4)])
def test_slow_first_tasks_start_workers_before_any_has_ended(tasks, early):
    d = make_driver(step(0, need=Need(cpus=UNIT // 2)), cpus=2, tasks=tasks)
    d.send(events.Tick, after=0.01)
    assert len(d.of(actions.StartWorker)) == 2
    d.send(events.Tick, after=0.02)
    assert len(d.of(actions.StartWorker)) == early
    d.send(events.Tick, after=2.5)
    assert len(d.of(actions.StartWorker)) == early
    d.send(events.Tick, after=1.0)
    assert len(d.of(actions.StartWorker)) == 4


def test_wake_at_is_when_first_tasks_prove_to_be_slow():
    d = make_driver(step(0, need=Need(cpus=UNIT // 2)), cpus=2, tasks=100, up=False)
    assert d.scheduler.wake_at is None  # nobody has begun
    d.all_up()
    assert d.scheduler.wake_at == pytest.approx(d.now + 0.02)
    d.send(events.Tick, after=0.02)
    assert d.scheduler.wake_at is None  # it was in time
    d.done(d.of(actions.Dispatch)[0], seconds=0.02)
    assert d.scheduler.wake_at is None  # it is known what they take


def test_wake_at_is_none_if_no_more_workers_fit():
    assert make_driver(step(0), cpus=2, tasks=100).scheduler.wake_at is None


def test_a_task_that_kills_workers_runs_alone_and_is_quarantined():
    d = make_driver(step(0), tasks=3)
    call = d.of(actions.Dispatch)[0]
    for _ in range(2):
        d.send(events.WorkerDown, call.worker, "was killed by SIGKILL", culprit=call.call)
        d.all_up()
        retried = [c for c in d.of(actions.Dispatch) if c.inputs == call.inputs]
        call = retried[-1]
        assert call.isolated
    assert call.quarantine
    others = [c for c in d.of(actions.Dispatch) if c.inputs != call.inputs]
    assert not any(c.isolated for c in others)
    d.send(events.WorkerDown, call.worker, "was killed by SIGKILL", culprit=call.call)
    assert d.of(actions.GiveUp) == [actions.GiveUp(call.inputs[0], 0, "was killed by SIGKILL")]


def test_only_the_reported_suspects_run_alone():
    d = make_driver(step(0), tasks=200, slots_per_worker=1)
    d.done(d.of(actions.Dispatch)[0], seconds=0.001)
    call = d.of(actions.Dispatch)[-1]
    start = call.inputs[0].start
    assert len(call.inputs[0]) > 3
    hand = BlockSlice("h1", start + 1, start + 2)
    d.send(events.WorkerDown, call.worker, "died", culprit=call.call, suspects=(hand,))
    d.all_up()
    retried = d.of(actions.Dispatch)[-1]
    assert (retried.inputs, retried.isolated) == ((hand,), True)
    d.done(retried)
    assert not d.of(actions.Dispatch)[-1].isolated


def test_a_spare_worker_replaces_one_that_died():
    d = make_driver(step(0), tasks=100)
    d.send(events.WorkerDown, 1, "was killed by SIGKILL")
    second, spare = d.of(actions.StartWorker)[-2:]
    d.all_up()
    assert {call.worker for call in d.of(actions.Dispatch)} == {1, second.worker}
    replies = d.send(events.WorkerDown, second.worker, "was killed by SIGKILL")
    assert spare.worker in {a.worker for a in replies if isinstance(a, actions.Dispatch)}
    [another] = [a for a in replies if isinstance(a, actions.StartWorker)]
    d.send(events.WorkerUp, another.worker)
    replies = d.send(events.WorkerDown, another.worker, "was killed by SIGKILL")
    [third] = [a for a in replies if isinstance(a, actions.StartWorker)]
    d.send(events.WorkerUp, third.worker)
    [stop] = [a for a in d.send(events.Tick, after=61.0) if isinstance(a, actions.StopWorker)]
    assert (stop.worker, stop.at_once) == (third.worker, False)


def test_a_lost_node_makes_no_task_suspect():
    d = make_driver(step(0), tasks=1)
    d.send(events.NodeLost, "n")
    d.send(events.NodeJoined, "m", Capacity(1, GB))
    d.send(events.WorkerUp, d.of(actions.StartWorker)[-1].worker)
    again = d.of(actions.Dispatch)[-1]
    assert (len(d.of(actions.Dispatch)), again.isolated) == (2, False)


@pytest.mark.parametrize("need", [Need(), GPU])
def test_a_step_that_cannot_be_set_up_fails_the_run(need):
    d = make_driver(step(0, need=need), gpus=1, tasks=1, up=False)
    for _ in range(3):
        assert not d.of(actions.Fail)
        worker = d.of(actions.StartWorker)[-1].worker
        d.send(events.WorkerDown, worker, "no such model", kind="setup", first=0)
        d.send(events.Tick, after=1.1)
    [fail] = d.of(actions.Fail)
    assert fail.reason == "s0 could not be set up 3 times; last: no such model"
    assert fail.first == 0


def test_missing_resources_are_reported_and_fail_the_run_at_last():
    d = make_driver(step(0, need=GPU), gpus=1, tasks=2, shrink_limit_s=60.0, remind_s=20.0)
    d.send(events.NodeLost, "n")
    d.send(events.NodeJoined, "m", Capacity(4, GB))
    d.send(events.Tick, after=2.0)
    assert not [e for e in d.of(actions.Explain) if e.decision == "wait"]  # some may be joining
    d.send(events.Tick, after=2.0)
    [wait] = [e for e in d.of(actions.Explain) if e.decision == "wait"]
    assert "s0 needs 0 CPUs, 1 GPU on one node" in wait.reason
    assert "58 s" in wait.reason
    for _ in range(5):
        d.send(events.Tick, after=10.0)
    _, *reminders = [e for e in d.of(actions.Explain) if e.decision == "wait"]
    assert len(reminders) == 2
    assert all("still" in reminder.reason for reminder in reminders)
    assert " 38 s" in reminders[0].reason
    assert " 18 s" in reminders[1].reason
    assert not d.of(actions.Fail)
    d.send(events.Tick, after=11.0)
    assert "60 s" in d.of(actions.Fail)[0].reason


def test_the_run_continues_when_resources_come_back():
    d = make_driver(step(0, need=GPU), gpus=1, tasks=2)
    d.send(events.NodeLost, "n")
    d.send(events.Tick, after=2.0)
    d.send(events.Tick, after=2.0)
    d.send(events.NodeJoined, "m", Capacity(4, GB, (Device("0", GB),)))
    d.send(events.Tick, after=2.0)
    assert [e.decision for e in d.of(actions.Explain)][-2:] == ["scale", "wait"]
    assert d.of(actions.StartWorker)[-1].node == "m"


def test_a_cluster_without_nodes_fails_the_run():
    d = make_driver(step(0), tasks=0, shrink_limit_s=60.0)
    d.send(events.NodeLost, "n")
    d.send(events.Tick, after=2.0)
    d.send(events.Tick, after=61.0)
    assert d.of(actions.Fail)[0].reason.startswith("s0 needs 1 CPU on one node")


def test_outputs_larger_than_the_store_are_reported_once():
    d = make_driver(step(0), tasks=3, store_bytes=1e9)
    for call in d.of(actions.Dispatch):
        d.done(call, d.block(1, size=3 * 10**9))
    [large] = [e for e in d.of(actions.Explain) if e.decision == "large"]
    assert all(fact in large.reason for fact in ("s0", "3.0 GB", "1.0 GB", "object_store_gb"))


def test_a_call_over_its_time_limit_is_killed():
    d = make_driver(step(0, timeout_s=2.0), tasks=1)
    d.send(events.Tick, after=6.0)
    assert not d.of(actions.StopWorker)
    d.send(events.Tick, after=2.0)
    [stop] = d.of(actions.StopWorker)
    assert stop.at_once
    assert stop.reason.startswith("s0: ")


def test_stopping_finishes_work_under_way():
    d = make_driver(step(0), step(1), tasks=50, slots_per_worker=1)
    call = d.of(actions.Dispatch)[0]
    d.send(events.StopRequested, d.now + 10)
    d.done(call, d.block(1))
    last = d.of(actions.Dispatch)[-1]
    assert last.first == 1
    d.done(last)
    assert d.scheduler.is_done
    assert len(d.of(actions.Dispatch)) == 2


def test_stopping_kills_workers_after_the_deadline():
    d = make_driver(step(0), tasks=5)
    d.send(events.StopRequested, d.now + 10)
    d.send(events.Tick, after=11.0)
    [stop] = d.of(actions.StopWorker)
    assert stop.at_once
    d.send(events.WorkerDown, stop.worker, "stopped", kind="stopped")
    d.send(events.Tick, after=0.1)
    assert d.scheduler.is_over


def test_a_step_is_split_behind_a_stage_that_fans_out():
    d = make_driver(step(0, 2), tasks=2, slots_per_worker=1)
    [call] = d.of(actions.Dispatch)
    assert (call.first, call.last) == (0, 2)
    d.done(call, fanned_out=1)
    call = d.of(actions.Dispatch)[-1]
    assert (call.first, call.last) == (0, 1)
    d.done(call, d.block(7))
    call = d.of(actions.Dispatch)[-1]
    assert (call.first, call.last) == (2, 2)


def test_a_generator_is_paused_while_too_much_waits_behind_it():
    d = make_driver(step(0), step(1), cpus=2, tasks=2, max_queued_bytes=1000)
    first, second = d.of(actions.Dispatch)
    d.done(second)
    replies = []
    for _ in range(4):
        replies += d.send(events.CallYielded, first.call, (d.block(1, size=400),))
    assert actions.Pause(first.call) in replies
    for _ in range(4):
        running = {a.call for a in d.of(actions.Dispatch) if a.first == 1}
        for call in sorted(running):
            d.send(events.CallDone, call, (), 0.01)
    assert actions.Resume(first.call) in d.actions


def test_a_batch_lingers_to_become_full():
    d = FakeDriver(Scheduler([step(0, batch_size=4)], Settings(linger_s=0.2)))
    d.send(events.NodeJoined, "n", Capacity(1, GB))
    d.send(events.WorkerUp, 1)
    d.send(events.SourcesOffered, (d.block(3),))
    assert not d.of(actions.Dispatch)
    d.send(events.Tick, after=0.3)
    assert [len(p) for p in d.of(actions.Dispatch)[0].inputs] == [3]


def test_undelivered_outputs_block_new_calls():
    d = make_driver(step(0), tasks=9, slots_per_worker=1, max_queued_bytes=1000)
    d.done(d.of(actions.Dispatch)[-1], d.block(1, size=2000))
    assert len(d.of(actions.Dispatch)) == 1
    d.send(events.Delivered, 2000)
    assert len(d.of(actions.Dispatch)) == 2


def test_withdrawn_blocks_are_dropped():
    d = make_driver(step(0), tasks=5, slots_per_worker=1)
    d.send(events.BlocksWithdrawn, ("h1",))
    d.send(events.CallFailed, d.of(actions.Dispatch)[0].call, "its input is gone")
    assert actions.Release("h1") in d.actions
    assert d.scheduler.is_done


def test_lost_tasks_are_not_retried_even_if_others_of_their_block_are_done():
    d = make_driver(step(0), step(1, batch_size=1), tasks=2, slots_per_worker=1, min_call_s=1e-3)
    d.done(d.of(actions.Dispatch)[0], d.block(2), seconds=0.1)
    first = d.of(actions.Dispatch)[-1]
    assert first.inputs == (BlockSlice("h2", 0, 1),)
    d.done(first, seconds=0.1)
    second = d.of(actions.Dispatch)[-1]
    assert second.inputs == (BlockSlice("h2", 1, 2),)
    d.send(events.CallFailed, second.call, "its data was lost", lost=True)
    assert [c for c in d.of(actions.Dispatch) if c.inputs == second.inputs] == [second]
    assert actions.Release("h2") in d.actions


def test_cpu_shares_never_exceed_all_cpus():
    d = make_driver(step(0), cpus=1, tasks=100)
    for _ in range(3):
        d.send(events.Tick, after=0.5)
        d.done(d.of(actions.Dispatch)[-1], seconds=0.6)
    summary = d.scheduler.summary()
    assert summary.bottleneck == "s0"
    assert "110 %" not in summary.evidence
    assert summary.steps[0].cpu_share == 1.0


def test_models_share_a_gpu_by_the_memory_of_the_device():
    need = Need(cpus=0, gpu_memory=5 * GB)
    d = make_driver(step(0, need=need), gpus=1, tasks=50)
    shares = [start.grant.shares[0].units for start in d.of(actions.StartWorker)]
    assert shares == [3125] * 3  # 5 of 16 GB each


def test_a_shared_worker_tears_a_stage_down_to_make_room_for_another():
    big = Need(memory=5 * GB)
    d = make_driver(step(0, need=big), step(1, need=big), tasks=1)
    d.done(d.of(actions.Dispatch)[0], d.block(1))
    assert d.of(actions.TearDown) == [actions.TearDown(1, 0, 0)]
    assert d.of(actions.Dispatch)[-1].first == 1


@pytest.mark.parametrize("keeps_warm", [True, False])
def test_keeps_warm_starts_dedicated_workers_before_there_is_work(keeps_warm):
    d = FakeDriver(Scheduler([step(0, need=GPU)], Settings(keeps_warm=keeps_warm)))
    d.send(events.NodeJoined, "n", Capacity(1, GB, (Device("0", GB),)))
    for _ in range(3):
        d.send(events.Tick, after=0.5)
    assert len(d.of(actions.StartWorker)) == int(keeps_warm)


def test_a_worker_over_its_memory_limit_is_recycled():
    d = make_driver(step(0), tasks=90, slots_per_worker=1, worker_max_rss=1 << 30)
    d.done(d.of(actions.Dispatch)[-1], rss=1 << 29)
    assert len(d.of(actions.StartWorker)) == 1
    d.done(d.of(actions.Dispatch)[-1], rss=5 << 28)
    assert d.of(actions.Explain)[-1].reason == "worker 1: it has grown to 1280 MB"
    assert len(d.of(actions.StartWorker)) == 2
    d.send(events.WorkerUp, 2)
    d.done([call for call in d.of(actions.Dispatch) if call.worker == 1][-1])
    assert [stop.worker for stop in d.of(actions.StopWorker)] == [1]


@pytest.mark.parametrize("slots", [1, 2, 4])
def test_slots_limit_the_calls_per_worker(slots):
    d = make_driver(step(0), tasks=50, slots_per_worker=slots)
    d.done(d.of(actions.Dispatch)[0], seconds=0.5)
    assert len(d.of(actions.Dispatch)) == 1 + slots


def test_a_step_that_fits_only_one_node_gets_a_worker_there():
    d = FakeDriver(Scheduler([step(0, need=Need(cpus=4 * UNIT))], Settings()))
    d.send(events.NodeJoined, "small", Capacity(1, GB))
    d.send(events.NodeJoined, "large", Capacity(8, GB))
    d.send(events.SourcesOffered, (d.block(1),))
    for _ in range(5):
        d.send(events.Tick, after=0.1)
    assert "large" in [start.node for start in d.of(actions.StartWorker)]
