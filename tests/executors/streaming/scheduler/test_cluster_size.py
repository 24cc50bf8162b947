"""On a cluster with an autoscaler: which nodes are requested, and which are released."""

from dataclasses import dataclass, field

import pytest
from curator_streaming.scheduler import actions, events
from curator_streaming.scheduler.blocks import Block
from curator_streaming.scheduler.core import Scheduler
from curator_streaming.scheduler.resources import GB, UNIT, Capacity, Device, Need
from curator_streaming.scheduler.settings import Settings
from curator_streaming.scheduler.steps import StepSpec

GPU = Need(cpus=0, gpus=UNIT)
CPU_NODE = Capacity(2, 8 * GB)
GPU_NODE = Capacity(1, 8 * GB, (Device("0", 16 * GB),))


@dataclass
class Run:
    """A scheduler whose workers start at once, and whose calls last until `finish`."""

    scheduler: Scheduler
    now: float = 0.0
    running: list[actions.Dispatch] = field(default_factory=list)
    done: list[actions.Action] = field(default_factory=list)
    blocks: int = 0

    def send(self, *happened: events.Event) -> None:
        replies = self.scheduler.handle(happened)
        self.done += replies
        for action in replies:
            if isinstance(action, actions.StartWorker):
                if action.first is not None:
                    setup = events.SetupMeasured(self.now, action.worker, action.first, 0.1)
                    self.send(setup)
                self.send(events.WorkerUp(self.now, action.worker))
            elif isinstance(action, actions.StopWorker):
                self.send(events.WorkerDown(self.now, action.worker, "stopped", kind="stopped"))
            elif isinstance(action, actions.Dispatch):
                self.running.append(action)

    def join(self, name: str, capacity: Capacity) -> None:
        self.send(events.NodeJoined(self.now, name, capacity))

    def lose(self, name: str) -> None:
        self.send(events.NodeLost(self.now, name))

    def offer(self, tasks: int) -> None:
        self.send(events.SourcesOffered(self.now, tuple(self.block() for _ in range(tasks))))

    def end_sources(self) -> None:
        self.send(events.SourcesEnded(self.now))

    def block(self) -> Block:
        self.blocks += 1
        return Block(f"b{self.blocks}", 1, 100)

    def wait(self, seconds: float) -> None:
        until = self.now + seconds
        while self.now < until - 1e-9:
            self.now += 0.5
            self.send(events.Tick(self.now))

    def finish(self, outputs: int = 1) -> None:
        """End all running calls and those that follow, with this many outputs per task."""
        while self.running:
            self.finish_running(outputs)

    def finish_running(self, outputs: int = 1) -> None:
        running, self.running = self.running, []
        for call in running:
            tasks = sum(map(len, call.inputs))
            made = tuple(self.block() for _ in range(outputs * tasks))
            self.send(events.CallDone(self.now, call.call, made, 1.0 * tasks))

    def of(self, kind: type) -> list:
        return [action for action in self.done if isinstance(action, kind)]

    @property
    def wanted(self) -> dict[Need, int]:
        return dict(self.scheduler.wanted_workers)

    def explained(self) -> list[str]:
        return [action.reason for action in self.of(actions.Explain)]


def step(first: int, need: Need | None = None, **more) -> StepSpec:
    need = need or Need()
    more.setdefault("is_dedicated", need.is_special)
    return StepSpec(first, first, (f"s{first}",), need, **more)


def run_of(*steps: StepSpec, **settings) -> Run:
    settings.setdefault("is_autoscaled", True)
    return Run(Scheduler(steps, Settings(**settings)))


class TestMoreNodes:
    def test_a_node_for_a_later_step_is_requested_before_there_is_work_for_it(self) -> None:
        run = run_of(step(0), step(1, GPU))
        run.join("head", CPU_NODE)
        run.offer(1)
        run.wait(1)
        assert run.wanted == {GPU: 1}

    def test_the_request_ends_when_the_node_has_joined(self) -> None:
        run = run_of(step(0), step(1, GPU))
        run.join("head", CPU_NODE)
        run.offer(1)
        run.wait(1)
        run.join("gpu", GPU_NODE)
        run.wait(1)
        assert run.wanted == {}

    def test_the_request_ends_with_the_run(self) -> None:
        run = run_of(step(0), step(1, GPU))
        run.join("head", CPU_NODE)
        run.offer(1)
        run.wait(1)
        run.send(events.StopRequested(run.now, run.now + 60))
        assert run.wanted == {}

    def test_nodes_for_a_fixed_number_of_workers_are_requested_together(self) -> None:
        run = run_of(step(0), step(1, GPU, num_workers=3))
        run.join("head", CPU_NODE)
        run.offer(1)
        run.wait(1)
        assert run.wanted == {GPU: 3}
        run.join("gpu", GPU_NODE)
        run.wait(12)
        assert run.wanted == {GPU: 2}

    def test_a_bottleneck_gets_more_nodes_only_after_a_while(self) -> None:
        run = run_of(step(0, GPU))
        run.join("gpu", GPU_NODE)
        run.offer(500)
        run.wait(8)
        assert run.wanted == {}
        run.wait(4)
        assert run.wanted == {GPU: 1}

    def test_steps_that_take_turns_on_a_gpu_get_another_one(self) -> None:
        run = run_of(step(0, GPU), step(1, GPU))
        run.join("gpu", GPU_NODE)
        run.offer(50)
        run.wait(2)
        run.finish_running()
        run.wait(8)
        assert run.wanted == {}
        run.wait(8)
        assert run.wanted == {GPU: 2}  # the waiting one, and the bottleneck

    def test_busy_cpus_get_more_nodes(self) -> None:
        run = run_of(step(0))
        run.join("head", CPU_NODE)
        run.offer(500)
        run.wait(1)
        run.finish_running()
        run.wait(8)
        assert run.wanted == {}
        run.wait(4)
        assert run.wanted == {Need(): 2}

    def test_the_end_of_a_run_is_not_worth_another_node(self) -> None:
        run = run_of(step(0))
        run.join("head", CPU_NODE)
        run.offer(20)
        run.end_sources()
        run.wait(1)
        run.finish(outputs=0)
        run.offer(20)
        run.wait(12)
        assert run.wanted == {}

    def test_a_step_with_little_to_do_gets_no_more_nodes(self) -> None:
        run = run_of(step(0), step(1, GPU))
        run.join("head", CPU_NODE)
        run.join("gpu", GPU_NODE)
        run.offer(1)
        run.wait(20)
        assert run.wanted == {}

    def test_nothing_is_requested_without_an_autoscaler(self) -> None:
        run = run_of(step(0), step(1, GPU), is_autoscaled=False)
        run.join("head", CPU_NODE)
        run.offer(500)
        run.wait(20)
        assert run.wanted == {}

    def test_in_batch_mode_only_the_current_step_requests_nodes(self) -> None:
        run = run_of(step(0), step(1, GPU), has_barriers=True)
        run.join("head", CPU_NODE)
        run.offer(2)
        run.end_sources()
        run.wait(2)
        assert run.wanted == {}
        run.finish()
        run.wait(2)
        assert run.wanted == {GPU: 1}


class TestWaiting:
    def test_a_step_waits_longer_for_an_autoscaler_and_then_fails_in_its_words(self) -> None:
        run = run_of(step(0, GPU), shrink_limit_s=5, scale_up_timeout_s=60)
        run.join("head", CPU_NODE)
        run.offer(1)
        run.wait(50)
        assert any("autoscaler" in reason for reason in run.explained())
        assert run.scheduler.waits_for_nodes
        assert not run.of(actions.Fail)
        run.wait(15)
        [fail] = run.of(actions.Fail)
        assert all(fact in fail.reason for fact in ("s0", "1 GPU", "60 s", "scale_up_timeout_s"))


@pytest.fixture
def idle() -> Run:
    """A run whose GPU node has had no work for a minute, while its CPUs are busy."""
    run = run_of(step(0), step(1, GPU), idle_node_timeout_s=60.0)
    run.join("head", CPU_NODE)
    run.join("gpu", GPU_NODE)
    run.offer(1)
    run.wait(1)
    run.finish()
    run.finish()
    run.offer(2)
    run.wait(50)
    assert not run.of(actions.ReleaseNode)
    run.wait(15)
    return run


class TestIdleNodes:
    def test_an_idle_node_is_released_once_its_workers_have_ended(self, idle: Run) -> None:
        assert idle.of(actions.ReleaseNode) == [actions.ReleaseNode("gpu")]
        started = {a.worker for a in idle.of(actions.StartWorker) if a.node == "gpu"}
        stopped = [a.worker for a in idle.of(actions.StopWorker)]
        assert started
        assert started <= set(stopped)

    def test_it_is_not_requested_again_without_work(self, idle: Run) -> None:
        idle.wait(60)
        assert idle.wanted == {}
        assert not idle.of(actions.RequestNode)

    def test_it_is_used_again_when_work_comes(self, idle: Run) -> None:
        idle.finish()
        idle.wait(2)
        assert idle.of(actions.RequestNode) == [actions.RequestNode("gpu")]
        idle.wait(20)
        assert idle.wanted == {}  # it is still there
        idle.join("gpu", GPU_NODE)
        idle.wait(1)
        assert idle.running[-1].first == 1

    def test_another_one_is_requested_if_it_was_removed(self, idle: Run) -> None:
        idle.lose("gpu")
        assert not idle.of(actions.Fail)
        idle.finish()
        idle.wait(1)
        assert idle.wanted == {GPU: 1}

    def test_a_removal_after_the_request_leads_to_a_new_node(self, idle: Run) -> None:
        idle.finish()
        idle.wait(2)
        idle.lose("gpu")
        idle.wait(1)
        assert idle.wanted == {GPU: 1}

    def test_its_removal_is_explained_once(self, idle: Run) -> None:
        before = len(idle.explained())
        idle.lose("gpu")
        assert len(idle.explained()) == before + 1

    def test_a_fixed_number_of_workers_stays(self) -> None:
        run = run_of(step(0), step(1, GPU, num_workers=1), idle_node_timeout_s=60.0)
        run.join("head", CPU_NODE)
        run.join("gpu", GPU_NODE)
        run.offer(2)
        run.wait(200)
        assert not run.of(actions.ReleaseNode)

    def test_the_last_node_stays(self) -> None:
        run = run_of(step(0), idle_node_timeout_s=60.0)
        run.join("head", CPU_NODE)
        run.offer(1)
        run.wait(1)
        run.finish(outputs=0)
        run.wait(200)
        assert not run.of(actions.ReleaseNode)

    def test_nodes_stay_without_an_autoscaler(self) -> None:
        run = run_of(step(0), is_autoscaled=False, idle_node_timeout_s=60.0)
        run.join("a", CPU_NODE)
        run.join("b", CPU_NODE)
        run.offer(1)
        run.wait(200)
        assert not run.of(actions.ReleaseNode)
