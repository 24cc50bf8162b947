"""Workers are replaced by the limits of stages and executor, and if their memory doubles."""

from collections.abc import Callable

from curator_core import Pipeline, ProcessingStage, Resources, Task
from curator_streaming.scheduler import actions, events
from curator_streaming.scheduler.blocks import Block
from curator_streaming.scheduler.core import Scheduler
from curator_streaming.scheduler.resources import GB, Capacity, Device
from curator_streaming.scheduler.settings import Settings
from curator_streaming.scheduler.steps import plan_steps

MB = 1 << 20


class Passes(ProcessingStage[Task[int], Task[int]]):
    def process(self, task: Task[int]) -> Task[int]:
        return task


class Run:
    """A scheduler whose workers do what they are told, one call per second each."""

    def __init__(self, *stages: ProcessingStage, **settings: float) -> None:
        plan = Pipeline("p", stages=list(stages)).build(tasks=[])
        self.scheduler = Scheduler(plan_steps(plan.steps), Settings(slots_per_worker=1, **settings))
        self.now = 0.0
        self.started = 0
        self.calls: dict[int, int] = {}
        self.call_sizes: list[int] = []
        self.reasons: list[tuple[str, str]] = []
        self._todo: list[actions.Action] = []
        node = Capacity(1, 64 * GB, (Device("0", 16 * GB),))
        self._send(events.NodeJoined(0.0, "n", node))
        self._send(events.SourcesOffered(0.0, (Block("sources", 100_000, 1000),)))

    def run(self, seconds: int, rss: Callable[[int], int] = lambda calls: 0) -> None:
        """`rss` is the memory of a worker after this many calls."""
        for _ in range(seconds):
            self.now += 1.0
            todo, self._todo = self._todo, []
            for action in todo:
                if isinstance(action, actions.StartWorker):
                    self.started += 1
                    self._send(events.WorkerUp(self.now, action.worker))
                elif isinstance(action, actions.StopWorker):
                    self._send(events.WorkerDown(self.now, action.worker, action.reason, "stopped"))
                elif isinstance(action, actions.Dispatch):
                    self.call_sizes.append(sum(part.stop - part.start for part in action.inputs))
                    calls = self.calls[action.worker] = self.calls.get(action.worker, 0) + 1
                    self._send(events.CallDone(self.now, action.call, seconds=1.0, rss=rss(calls)))
                elif isinstance(action, actions.Explain):
                    self.reasons.append((action.decision, action.reason))
            self._send(events.Tick(self.now))

    def recycled(self) -> list[str]:
        return [reason for decision, reason in self.reasons if decision in ("recycle", "leak")]

    def _send(self, event: events.Event) -> None:
        self._todo += self.scheduler.handle([event])


GPU = Resources(gpus=1)


class TestLimits:
    def test_a_stage_overrides_the_executor(self) -> None:
        run = Run(Passes().with_(resources=GPU, worker_max_tasks=5), worker_max_tasks=1000)
        run.run(30)
        assert len(run.recycled()) >= 3
        assert "it has processed" in run.recycled()[0]

    def test_no_call_has_more_tasks_than_the_limit(self) -> None:
        run = Run(Passes(), worker_max_tasks=5, min_call_s=20.0)
        run.run(30)
        assert max(run.call_sizes) == 5

    def test_zero_turns_the_limit_of_the_executor_off(self) -> None:
        run = Run(Passes().with_(resources=GPU, worker_max_tasks=0), worker_max_tasks=5)
        run.run(30)
        assert run.recycled() == []

    def test_a_lifetime_in_minutes(self) -> None:
        run = Run(Passes().with_(resources=GPU, worker_max_lifetime_m=0.25))
        run.run(40)
        assert "it is 15 s old" in run.recycled()[0]

    def test_memory_in_gb(self) -> None:
        run = Run(Passes().with_(resources=GPU, worker_max_rss_gb=0.5))
        run.run(30, lambda calls: calls * 100 * MB)
        assert "it has grown to 600 MB" in run.recycled()[0]

    def test_a_shared_worker_obeys_the_strictest_of_its_stages(self) -> None:
        strict = Passes().with_(name="strict", worker_max_tasks=5)
        run = Run(Passes(), strict)
        run.run(60)
        assert run.recycled()


class TestLeaks:
    def test_a_worker_with_twice_its_normal_memory_is_replaced(self) -> None:
        run = Run(Passes().with_(name="leaky", resources=GPU))
        run.run(100, lambda calls: (600 + 20 * max(0, calls - 20)) * MB)
        [(decision, reason)] = [one for one in run.reasons if one[0] in ("recycle", "leak")]
        assert decision == "leak"
        assert "from 600 to 1200 MB; leaky may leak memory" in reason

    def test_at_most_one_in_ten_minutes(self) -> None:
        run = Run(Passes().with_(resources=GPU))
        run.run(1500, lambda calls: (600 + 20 * max(0, calls - 20)) * MB)
        assert len(run.recycled()) == 3

    def test_small_and_steady_workers_stay(self) -> None:
        small = Run(Passes().with_(resources=GPU))
        small.run(100, lambda calls: min(1000, 10 * calls) * MB)
        steady = Run(Passes().with_(resources=GPU))
        steady.run(100, lambda calls: 20_000 * MB)
        assert (small.recycled(), steady.recycled()) == ([], [])

    def test_it_can_be_turned_off(self) -> None:
        run = Run(Passes().with_(resources=GPU), worker_max_growth=0)
        run.run(100, lambda calls: calls * 100 * MB)
        assert run.recycled() == []
