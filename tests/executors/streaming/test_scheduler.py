"""The scheduler, event by event."""

from dataclasses import dataclass, field

import pytest
from curator_streaming.scheduling import actions, events
from curator_streaming.scheduling.needs import GB, UNIT, Capacity, Device, Need
from curator_streaming.scheduling.parcels import Parcel, Piece
from curator_streaming.scheduling.scheduler import Scheduler
from curator_streaming.scheduling.settings import Settings
from curator_streaming.scheduling.steps import StepSpec


def step(first, last=None, **more):
    last = first if last is None else last
    names = tuple(f"s{i}" for i in range(first, last + 1))
    need = more.pop("need", Need())
    return StepSpec(first, last, names, need, need.is_special, **more)


GPU = Need(cpus=0, gpus=UNIT)


@dataclass
class Desk:
    """Talks to a scheduler, and remembers what it said."""

    scheduler: Scheduler
    now: float = 0.0
    said: list = field(default_factory=list)
    handles: int = 0

    def tell(self, event, /, *values, after=0.0, **named):
        self.now += after
        said = self.scheduler.handle([event(self.now, *values, **named)])
        self.said += said
        return said

    def of(self, kind):
        return [action for action in self.said if isinstance(action, kind)]

    def parcel(self, tasks, size=100, node=""):
        self.handles += 1
        return Parcel(f"h{self.handles}", tasks, size, node)

    def all_up(self):
        """Whoever was started has come up; those that have died since are not heard."""
        for start in self.of(actions.StartWorker):
            self.tell(events.WorkerUp, start.worker)

    def done(self, call, *outputs, seconds=0.01, **named):
        return self.tell(events.CallDone, call.call, tuple(outputs), seconds, **named)


def desk(*steps, cpus=1.0, gpus=0, tasks=1, up=True, **settings):
    """A desk with one node, whose workers are up, and some sources."""
    made = Desk(Scheduler(steps, Settings(**settings)))
    devices = tuple(Device(str(i), 16 * GB) for i in range(gpus))
    made.tell(events.NodeJoined, "n", Capacity(cpus, 8 * GB, devices))
    if tasks:
        made.tell(events.SourcesOffered, (made.parcel(tasks),))
        made.tell(events.SourcesEnded)
    made.tell(events.Tick, after=0.1)
    for start in made.of(actions.StartWorker) if up else ():
        made.tell(events.WorkerUp, start.worker)
    return made


def test_a_task_goes_through_every_step_and_the_workers_leave():
    d = desk(step(0), step(1))
    [first] = d.of(actions.Dispatch)
    assert first.pieces == (Piece("h1", 0, 1),)
    d.done(first, d.parcel(1))
    assert actions.Release("h1") in d.said
    second = d.of(actions.Dispatch)[-1]
    assert (second.first, second.pieces) == (1, (Piece("h2", 0, 1),))
    d.done(second)
    assert d.scheduler.is_done
    [stop] = d.of(actions.StopWorker)
    assert stop.reason == "the work is done"
    d.tell(events.WorkerDown, stop.worker, "stopped", kind="stopped")
    assert d.scheduler.is_over


def test_small_tasks_go_many_at_a_time():
    d = desk(step(0), tasks=10_000)
    for number in range(20):
        call = d.of(actions.Dispatch)[number]
        d.done(call, seconds=1e-4 * sum(map(len, call.pieces)))
    sizes = [sum(map(len, call.pieces)) for call in d.of(actions.Dispatch)]
    assert sizes[0] == 1
    assert 500 <= max(sizes) <= 700  # 60 ms at .1 ms each


def test_enough_sources_are_asked_for_to_see_that_all_workers_pay():
    d = Desk(Scheduler([step(0, need=Need(cpus=UNIT // 4))], Settings()))
    d.tell(events.NodeJoined, "n", Capacity(2, GB))
    answered = 0
    for _ in range(3):  # first few, then as many as what the first call took calls for
        asked = sum(ask.tasks for ask in d.of(actions.AskForSources))
        d.tell(events.SourcesOffered, (d.parcel(asked - answered),))
        answered = asked
        d.all_up()
        d.done(d.of(actions.Dispatch)[-1], seconds=0.05)
    assert len(d.of(actions.StartWorker)) == 8


def test_later_steps_come_first():
    d = desk(step(0), step(1), tasks=5, slots_per_worker=1)
    d.done(d.of(actions.Dispatch)[-1], d.parcel(1))
    assert d.of(actions.Dispatch)[-1].first == 1


def test_a_worker_takes_what_its_own_node_holds():
    d = Desk(Scheduler([step(0)], Settings(slots_per_worker=1)))
    d.tell(events.NodeJoined, "n", Capacity(1, GB))
    d.tell(events.SourcesOffered, (d.parcel(1, node="far"), d.parcel(1, node="n")))
    d.tell(events.WorkerUp, 1)
    assert d.of(actions.Dispatch)[0].pieces[0].handle == "h2"


@pytest.mark.parametrize(("cpus", "workers"), [(0.25, 8), (1, 2), (2, 1)])
def test_cpus_are_slots(cpus, workers):
    d = desk(step(0, need=Need(cpus=int(cpus * UNIT))), cpus=2, tasks=100)
    d.done(d.of(actions.Dispatch)[0], seconds=1.0)
    d.tell(events.Tick, after=0.1)
    assert len(d.of(actions.StartWorker)) == workers


def test_a_slow_first_task_starts_no_workers_for_thousands_of_fast_ones():
    d = desk(step(0, need=Need(cpus=UNIT // 4)), cpus=2, tasks=5000)
    first, second = d.of(actions.Dispatch)[:2]
    before = len(d.of(actions.StartWorker))
    d.done(first, seconds=2e-3)
    d.done(second, seconds=2e-3)
    d.tell(events.Tick, after=0.1)
    assert len(d.of(actions.StartWorker)) == before
    d.done(d.of(actions.Dispatch)[2], seconds=0.05)
    d.tell(events.Tick, after=0.1)
    assert len(d.of(actions.StartWorker)) > before


@pytest.mark.parametrize(("tasks", "early"), [(7, 2), (100, 4)])
def test_first_tasks_that_take_their_time_start_workers_before_any_has_ended(tasks, early):
    d = desk(step(0, need=Need(cpus=UNIT // 2)), cpus=2, tasks=tasks)
    d.tell(events.Tick, after=0.01)
    assert len(d.of(actions.StartWorker)) == 2
    d.tell(events.Tick, after=0.02)
    assert len(d.of(actions.StartWorker)) == early
    d.tell(events.Tick, after=2.5)
    assert len(d.of(actions.StartWorker)) == early
    d.tell(events.Tick, after=1.0)
    assert len(d.of(actions.StartWorker)) == 4


def test_a_tick_is_asked_for_when_first_tasks_will_have_taken_their_time():
    d = desk(step(0, need=Need(cpus=UNIT // 2)), cpus=2, tasks=100, up=False)
    assert d.scheduler.tells_at is None  # nobody has begun
    d.all_up()
    assert d.scheduler.tells_at == pytest.approx(d.now + 0.02)
    d.tell(events.Tick, after=0.02)
    assert d.scheduler.tells_at is None  # it was in time
    d.done(d.of(actions.Dispatch)[0], seconds=0.02)
    assert d.scheduler.tells_at is None  # it is known what they take


def test_no_tick_is_asked_for_where_more_workers_would_not_fit():
    assert desk(step(0), cpus=2, tasks=100).scheduler.tells_at is None


def test_who_killed_a_worker_runs_alone_and_is_then_set_aside():
    d = desk(step(0), tasks=3)
    call = d.of(actions.Dispatch)[0]
    for _ in range(2):
        d.tell(events.WorkerDown, call.worker, "was killed by SIGKILL", culprit=call.call)
        d.all_up()
        retried = [c for c in d.of(actions.Dispatch) if c.pieces == call.pieces]
        call = retried[-1]
        assert call.alone
    assert call.condemned
    others = [c for c in d.of(actions.Dispatch) if c.pieces != call.pieces]
    assert not any(c.alone for c in others)
    d.tell(events.WorkerDown, call.worker, "was killed by SIGKILL", culprit=call.call)
    assert d.of(actions.GiveUp) == [actions.GiveUp(call.pieces[0], 0, "was killed by SIGKILL")]


def test_only_the_tasks_in_hand_are_suspects_where_they_are_known():
    d = desk(step(0), tasks=200, slots_per_worker=1)
    d.done(d.of(actions.Dispatch)[0], seconds=0.001)
    call = d.of(actions.Dispatch)[-1]
    start = call.pieces[0].start
    assert len(call.pieces[0]) > 3
    hand = Piece("h1", start + 1, start + 2)
    d.tell(events.WorkerDown, call.worker, "died", culprit=call.call, suspects=(hand,))
    d.all_up()
    retried = d.of(actions.Dispatch)[-1]
    assert (retried.pieces, retried.alone) == ((hand,), True)
    d.done(retried)
    assert not d.of(actions.Dispatch)[-1].alone


def test_while_workers_die_one_more_is_at_hand_and_takes_no_work_before():
    d = desk(step(0), tasks=100)
    d.tell(events.WorkerDown, 1, "was killed by SIGKILL")
    second, spare = d.of(actions.StartWorker)[-2:]
    d.all_up()
    assert {call.worker for call in d.of(actions.Dispatch)} == {1, second.worker}
    said = d.tell(events.WorkerDown, second.worker, "was killed by SIGKILL")
    assert spare.worker in {a.worker for a in said if isinstance(a, actions.Dispatch)}
    [another] = [a for a in said if isinstance(a, actions.StartWorker)]
    d.tell(events.WorkerUp, another.worker)
    said = d.tell(events.WorkerDown, another.worker, "was killed by SIGKILL")
    [third] = [a for a in said if isinstance(a, actions.StartWorker)]
    d.tell(events.WorkerUp, third.worker)
    assert actions.StopWorker(third.worker, "nobody has died for 60 s") in d.tell(
        events.Tick, after=61.0
    )


def test_a_node_that_is_lost_is_nobody_s_fault():
    d = desk(step(0), tasks=1)
    d.tell(events.NodeLost, "n")
    d.tell(events.NodeJoined, "m", Capacity(1, GB))
    d.tell(events.WorkerUp, d.of(actions.StartWorker)[-1].worker)
    again = d.of(actions.Dispatch)[-1]
    assert (len(d.of(actions.Dispatch)), again.alone) == (2, False)


@pytest.mark.parametrize("need", [Need(), GPU])
def test_a_step_that_never_sets_up_ends_the_run(need):
    d = desk(step(0, need=need), gpus=1, tasks=1, up=False)
    for _ in range(3):
        assert not d.of(actions.Fail)
        worker = d.of(actions.StartWorker)[-1].worker
        d.tell(events.WorkerDown, worker, "no such model", kind="setup", first=0)
        d.tell(events.Tick, after=1.1)
    [fail] = d.of(actions.Fail)
    assert fail.reason == "s0 could not be set up 3 times; last: no such model"
    assert fail.first == 0


def test_a_cluster_that_shrinks_waits_says_so_and_then_fails():
    d = desk(step(0, need=GPU), gpus=1, tasks=2, shrink_limit_s=60.0, remind_s=20.0)
    d.tell(events.NodeLost, "n")
    d.tell(events.NodeJoined, "m", Capacity(4, GB))
    d.tell(events.Tick, after=2.0)
    assert not [e for e in d.of(actions.Explain) if e.decision == "wait"]  # some may be joining
    d.tell(events.Tick, after=2.0)
    waits = [e for e in d.of(actions.Explain) if e.decision == "wait"]
    assert [e.reason for e in waits] == [
        "s0 needs 0 CPUs, 1 GPU on one node, and no node has that now: it waits up to 58 s"
    ]
    for _ in range(5):
        d.tell(events.Tick, after=10.0)
    waits = [e for e in d.of(actions.Explain) if e.decision == "wait"]
    assert [e.reason for e in waits[1:]] == [
        f"s0 needs 0 CPUs, 1 GPU on one node, and still no node has that: it waits up to {s} s"
        for s in (38, 18)
    ]
    assert not d.of(actions.Fail)
    d.tell(events.Tick, after=11.0)
    assert d.of(actions.Fail)[0].reason.endswith("and for 60 s no node had that")


def test_a_cluster_that_grows_again_goes_on():
    d = desk(step(0, need=GPU), gpus=1, tasks=2)
    d.tell(events.NodeLost, "n")
    d.tell(events.Tick, after=2.0)
    d.tell(events.Tick, after=2.0)
    d.tell(events.NodeJoined, "m", Capacity(4, GB, (Device("0", GB),)))
    d.tell(events.Tick, after=2.0)
    assert [e.reason for e in d.of(actions.Explain)][-2:] == [
        "s0: 1 worker started, for there is room and work",
        "s0 no longer waits",
    ]
    assert d.of(actions.StartWorker)[-1].node == "m"


def test_a_cluster_without_any_node_fails_too():
    d = desk(step(0), tasks=0, shrink_limit_s=60.0)
    d.tell(events.NodeLost, "n")
    d.tell(events.Tick, after=2.0)
    d.tell(events.Tick, after=61.0)
    assert d.of(actions.Fail)[0].reason.startswith("s0 needs 1 CPU on one node")


def test_what_is_larger_than_the_store_is_said_once():
    d = desk(step(0), tasks=3, store_bytes=1e9)
    for call in d.of(actions.Dispatch):
        d.done(call, d.parcel(1, size=3 * 10**9))
    large = [e for e in d.of(actions.Explain) if e.decision == "large"]
    assert [e.reason for e in large] == [
        "s0 gave 1 task of 3.0 GB together, more than the object store of a node (1.0 GB): they go "
        "by way of the disk, which is slow; give smaller tasks, or make the store larger "
        "(object_store_gb)"
    ]


def test_a_call_that_hangs_is_broken_off():
    d = desk(step(0, timeout_s=2.0), tasks=1)
    d.tell(events.Tick, after=6.0)
    assert not d.of(actions.StopWorker)
    d.tell(events.Tick, after=2.0)
    [stop] = d.of(actions.StopWorker)
    assert stop.at_once
    assert stop.reason == "s0: a call took longer than its time limit"


def test_stopping_pushes_through_what_has_begun():
    d = desk(step(0), step(1), tasks=50, slots_per_worker=1)
    call = d.of(actions.Dispatch)[0]
    d.tell(events.StopAsked, d.now + 10)
    d.done(call, d.parcel(1))
    last = d.of(actions.Dispatch)[-1]
    assert last.first == 1
    d.done(last)
    assert d.scheduler.is_done
    assert len(d.of(actions.Dispatch)) == 2


def test_what_is_not_through_in_time_is_ended():
    d = desk(step(0), tasks=5)
    d.tell(events.StopAsked, d.now + 10)
    d.tell(events.Tick, after=11.0)
    [stop] = d.of(actions.StopWorker)
    assert stop.at_once
    d.tell(events.WorkerDown, stop.worker, "stopped", kind="stopped")
    d.tell(events.Tick, after=0.1)
    assert d.scheduler.is_over


def test_a_step_is_split_where_it_is_seen_to_fan_out():
    d = desk(step(0, 2), tasks=2, slots_per_worker=1)
    [call] = d.of(actions.Dispatch)
    assert (call.first, call.last) == (0, 2)
    d.done(call, fanned_out=1)
    call = d.of(actions.Dispatch)[-1]
    assert (call.first, call.last) == (0, 1)
    d.done(call, d.parcel(7))
    call = d.of(actions.Dispatch)[-1]
    assert (call.first, call.last) == (2, 2)


def test_a_stream_is_held_while_too_much_waits_behind_it():
    d = desk(step(0), step(1), cpus=2, tasks=2, max_queued_bytes=1000)
    first = d.of(actions.Dispatch)[0]
    said = []
    for _ in range(4):
        said += d.tell(events.CallGave, first.call, (d.parcel(1, size=400),))
    assert actions.Pause(first.call) in said
    for _ in range(4):
        running = {a.call for a in d.of(actions.Dispatch) if a.first == 1}
        for call in sorted(running):
            d.tell(events.CallDone, call, (), 0.01)
    assert actions.Resume(first.call) in d.said


def test_a_batch_waits_to_become_full_but_not_for_ever():
    d = Desk(Scheduler([step(0, batch_size=4)], Settings(linger_s=0.2)))
    d.tell(events.NodeJoined, "n", Capacity(1, GB))
    d.tell(events.WorkerUp, 1)
    d.tell(events.SourcesOffered, (d.parcel(3),))
    assert not d.of(actions.Dispatch)
    d.tell(events.Tick, after=0.3)
    assert [len(p) for p in d.of(actions.Dispatch)[0].pieces] == [3]


def test_final_outputs_that_nobody_takes_hold_up_the_line():
    d = desk(step(0), tasks=9, slots_per_worker=1, max_queued_bytes=1000)
    d.done(d.of(actions.Dispatch)[-1], d.parcel(1, size=2000))
    assert len(d.of(actions.Dispatch)) == 1
    d.tell(events.Delivered, 2000)
    assert len(d.of(actions.Dispatch)) == 2


def test_withdrawn_parcels_are_forgotten():
    d = desk(step(0), tasks=5, slots_per_worker=1)
    d.tell(events.Withdrawn, ("h1",))
    d.tell(events.CallFailed, d.of(actions.Dispatch)[0].call, "its input is gone")
    assert actions.Release("h1") in d.said
    assert d.scheduler.is_done


def test_tasks_that_are_lost_are_not_tried_again_even_if_others_of_their_parcel_are_done():
    d = desk(step(0), step(1, batch_size=1), tasks=2, slots_per_worker=1, call_s=1e-3)
    d.done(d.of(actions.Dispatch)[0], d.parcel(2), seconds=0.1)
    first = d.of(actions.Dispatch)[-1]
    assert first.pieces == (Piece("h2", 0, 1),)
    d.done(first, seconds=0.1)
    second = d.of(actions.Dispatch)[-1]
    assert second.pieces == (Piece("h2", 1, 2),)
    d.tell(events.CallFailed, second.call, "its data was lost", lost=True)
    assert [c for c in d.of(actions.Dispatch) if c.pieces == second.pieces] == [second]
    assert actions.Release("h2") in d.said


def test_no_more_than_all_of_the_cpus_is_told_to_be_taken():
    d = desk(step(0), cpus=1, tasks=100)
    for _ in range(3):
        d.tell(events.Tick, after=0.5)
        d.done(d.of(actions.Dispatch)[-1], seconds=0.6)
    summary = d.scheduler.summary()
    assert summary.evidence == "the CPUs were taken 100 % of the time, 100 % of it by s0"
    assert summary.steps[0].cpu_share == 1.0


def test_models_share_a_gpu_by_the_memory_of_the_device():
    need = Need(cpus=0, gpu_memory=5 * GB)
    d = desk(step(0, need=need), gpus=1, tasks=50)
    shares = [start.grant.shares[0].units for start in d.of(actions.StartWorker)]
    assert shares == [3125] * 3  # 5 of 16 GB each


def test_a_shared_worker_forgets_a_stage_to_make_room_for_another():
    big = Need(memory=5 * GB)
    d = desk(step(0, need=big), step(1, need=big), tasks=1)
    d.done(d.of(actions.Dispatch)[0], d.parcel(1))
    assert d.of(actions.TearDown) == [actions.TearDown(1, 0, 0)]
    assert d.of(actions.Dispatch)[-1].first == 1


@pytest.mark.parametrize("keeps_warm", [True, False])
def test_workers_of_their_own_are_there_before_a_caller_is(keeps_warm):
    d = Desk(Scheduler([step(0, need=GPU)], Settings(keeps_warm=keeps_warm)))
    d.tell(events.NodeJoined, "n", Capacity(1, GB, (Device("0", GB),)))
    for _ in range(3):
        d.tell(events.Tick, after=0.5)
    assert len(d.of(actions.StartWorker)) == int(keeps_warm)


def test_a_worker_that_has_grown_is_replaced():
    d = desk(step(0), tasks=90, slots_per_worker=1, worker_max_rss=1 << 30)
    d.done(d.of(actions.Dispatch)[-1], rss=1 << 29)
    assert len(d.of(actions.StartWorker)) == 1
    d.done(d.of(actions.Dispatch)[-1], rss=5 << 28)
    assert d.of(actions.Explain)[-1].reason == "worker 1: it has grown to 1280 MB"
    assert len(d.of(actions.StartWorker)) == 2
    d.tell(events.WorkerUp, 2)
    d.done([call for call in d.of(actions.Dispatch) if call.worker == 1][-1])
    assert [stop.worker for stop in d.of(actions.StopWorker)] == [1]


@pytest.mark.parametrize("slots", [1, 2, 4])
def test_slots_are_the_calls_under_way(slots):
    d = desk(step(0), tasks=50, slots_per_worker=slots)
    d.done(d.of(actions.Dispatch)[0], seconds=1.0)
    assert len(d.of(actions.Dispatch)) == 1 + slots


def test_a_step_that_fits_one_node_alone_gets_a_worker_there():
    d = Desk(Scheduler([step(0, need=Need(cpus=4 * UNIT))], Settings()))
    d.tell(events.NodeJoined, "small", Capacity(1, GB))
    d.tell(events.NodeJoined, "large", Capacity(8, GB))
    d.tell(events.SourcesOffered, (d.parcel(1),))
    for _ in range(5):
        d.tell(events.Tick, after=0.1)
    assert "large" in [start.node for start in d.of(actions.StartWorker)]
