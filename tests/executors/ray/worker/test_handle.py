"""Workers on a small cluster: lives of stages, devices, hangs and deaths."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from curator_core import NodeInfo, Pipeline, ProcessingStage, Resources, Task, WorkerInfo
from curator_core.model.lineage import whole_credit
from curator_core.plan.plan import Plan
from curator_ray.cluster.nodes import current_cluster
from curator_ray.transfer.packing import PackedTasks
from curator_ray.worker.handle import PendingCall, WorkerHandle, WorkerLauncher
from curator_ray.worker.messages import CallResult
from waitkit import eventually

NONE = Resources(cpus=0)


class Records(ProcessingStage[Task[Any], Task[Any]]):
    """Writes its life to files."""

    def __init__(self, folder: str = "", mark: str = "a") -> None:
        self.folder = folder
        self.mark = mark
        self.name = f"records_{mark}"

    def record(self, event: str) -> None:
        with open(f"{self.folder}/{self.mark}-{event}", "a") as file:
            file.write(f"{os.getpid()}\n")

    def setup_on_node(self, node: NodeInfo) -> None:
        time.sleep(0.2)
        self.record(f"node-{node.node_id}")

    def setup(self, worker: WorkerInfo) -> None:
        self.worker = worker
        self.record("setup")

    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(f"{task.data}{self.mark}")

    def teardown(self) -> None:
        self.record("teardown")


class Misbehaves(ProcessingStage[Task[Any], Task[Any]]):
    """Does what its task names."""

    def process(self, task: Task[Any]) -> Any:
        import ctypes
        import logging
        import threading

        if task.data == "hang":
            print("about to hang", flush=True)
            ctypes.PyDLL(None).sleep(60)  # keeps the interpreter's lock
        elif task.data == "exit":
            os._exit(3)
        elif task.data == "crash":
            ctypes.string_at(0)
        elif task.data == "lock":
            return task.with_data(threading.Lock())
        elif task.data == "warn":
            logging.getLogger("mine").warning("look out for %s", task.data)
        elif task.data == "fan out":
            return (Task(number) for number in range(3))
        return task


class FailsToSetUp(ProcessingStage[Task[Any], Task[Any]]):
    def setup(self, worker: WorkerInfo) -> None:
        raise RuntimeError("no such model")

    def process(self, task: Task[Any]) -> Task[Any]:
        return task


def plan_of(*stages: ProcessingStage[Any, Any], **changes: Any) -> Plan:
    return Pipeline("p", stages=list(stages), **changes).build()


def source(data: Any, source_id: str = "s") -> Task[Any]:
    task = Task(data)
    task.task_id = source_id
    task.lineage = whole_credit(source_id, 0)
    return task


class Run:
    """A run with a plan, as an executor has it."""

    def __init__(self, plan: Plan, cluster: Any) -> None:
        self.launcher = WorkerLauncher(plan, "token")
        self.started: list[WorkerHandle] = []

    def start(self, worker_id: str, resources: Resources = NONE, **facts: Any) -> WorkerHandle:
        worker = self.launcher.start(worker_id, resources, **facts)
        self.started.append(worker)
        return worker

    def call(self, worker: WorkerHandle, *data: Any, step: tuple[int, int] = (0, 0)) -> PendingCall:
        import ray

        self.launcher.packer.add_task_type(Task)
        packed = ray.put(PackedTasks.pack([source(one, f"s{i}") for i, one in enumerate(data)]))
        return worker.run(step, None, [(0, len(data))], [packed])

    def close(self) -> None:
        for worker in self.started:
            worker.kill()
        self.launcher.close()


@pytest.fixture
def run(cluster: Any) -> Iterator[Any]:
    runs: list[Run] = []

    def start(*stages: ProcessingStage[Any, Any], **changes: Any) -> Run:
        runs.append(Run(plan_of(*stages, **changes), cluster))
        return runs[-1]

    yield start
    for one in runs:
        one.close()
        assert not os.path.exists(one.launcher.folder)


def get(ref: Any) -> Any:
    import ray

    return ray.get(ref, timeout=90)


def lines_of(folder: Path, pattern: str) -> list[str]:
    return [line for file in folder.glob(pattern) for line in file.read_text().splitlines()]


class TestStageLives:
    def test_setup_and_teardown_in_several_workers(self, run: Any, tmp_path: Path) -> None:
        nodes = current_cluster().nodes
        work = run(
            Records(str(tmp_path), "a"), Records(str(tmp_path), "b"), Records(str(tmp_path), "c")
        )
        workers = [work.start(f"{node.cpus}-{n}", node=node) for node in nodes for n in (0, 1)]
        calls = [work.call(worker, "x", step=(0, 1)) for worker in workers]
        calls += [work.call(worker, "y", "z", step=(1, 1)) for worker in workers]
        outputs = [task.data for call in calls for task in get(call.outputs).unpack()]
        assert outputs == ["xab"] * 4 + ["yb", "zb"] * 4
        for mark in "ab":
            for node in nodes:
                assert len(lines_of(tmp_path, f"{mark}-node-{node.node_id}")) == 1
            assert len(set(lines_of(tmp_path, f"{mark}-setup"))) == 4
        assert not list(tmp_path.glob("c-*"))
        assert not list(tmp_path.glob("*-teardown"))
        for worker in workers:
            get(worker.end())
        for mark in "ab":
            ended = lines_of(tmp_path, f"{mark}-teardown")
            assert sorted(ended) == sorted(lines_of(tmp_path, f"{mark}-setup"))
        assert not list(Path(work.launcher.folder).glob("*/*.status"))

    def test_a_stage_is_torn_down_and_set_up_again(self, run: Any, tmp_path: Path) -> None:
        work = run(Records(str(tmp_path)))
        worker = work.start("w")
        get(work.call(worker, "x").result)
        get(worker.tear_down(0))
        assert len(lines_of(tmp_path, "a-teardown")) == 1
        assert [task.data for task in get(work.call(worker, "x").outputs).unpack()] == ["xa"]
        assert len(lines_of(tmp_path, "a-setup")) == 2
        assert len(lines_of(tmp_path, "a-node-*")) == 1

    def test_a_worker_without_handles_is_torn_down(self, run: Any, tmp_path: Path) -> None:
        work = run(Records(str(tmp_path)))
        worker = work.start("w")
        get(work.call(worker, "x").result)
        work.started.clear()
        del worker
        assert eventually(lambda: len(lines_of(tmp_path, "a-teardown")) == 1)

    def test_a_setup_that_fails_is_part_of_the_result(self, run: Any) -> None:
        work = run(FailsToSetUp())
        result = get(work.start("w").set_up((0, 0)))
        assert str(result.error).startswith(
            "stage 'fails_to_set_up' could not be set up: RuntimeError: no such model ("
        )
        assert result.error.stage == "fails_to_set_up"


class TestCallResults:
    def test_they_describe_outputs(self, run: Any) -> None:
        work = run(Misbehaves())
        call = work.call(work.start("w"), "fan out", "warn")
        result: CallResult = get(call.result)
        assert result.task_ids == ["s0.0", "s0.1", "s0.2", "s1"]
        assert result.sources == [(("s0", 0),)] * 3 + [(("s1", 0),)]
        assert len(result) == 4
        assert result.nbytes == get(call.outputs).nbytes
        assert result.report is not None
        assert result.report.counts[0].tasks_out == 4
        assert result.rss_bytes > 10_000_000
        assert [line.message for line in result.lines] == ["look out for warn"]
        assert result.error is None

    def test_an_output_that_cannot_be_pickled(self, run: Any) -> None:
        work = run(Misbehaves())
        result = get(work.call(work.start("w"), "lock").result)
        assert "stage 'misbehaves' gave a task that cannot leave its worker" in str(result.error)
        assert result.report is None

    def test_a_stream_yields_outputs_as_they_are_made(self, run: Any) -> None:
        import ray

        work = run(SlowFanOut())
        worker = work.start("w")
        packed = ray.put(PackedTasks.pack([source("x")]))
        received = []
        stream = worker.stream((0, 0), None, [(0, 1)], [packed])
        for ref in stream:
            result, outputs = get(ref), next(stream)
            received.append((result.task_ids, result.report is not None))
            assert (get(outputs) is None) == (not result.task_ids)
        assert received == [(["s.0"], False), (["s.1"], False), (["s.2"], False), ([], True)]


class SlowFanOut(ProcessingStage[Task[Any], Task[Any]]):
    def process(self, task: Task[Any]) -> Iterator[Task[Any]]:
        for number in range(3):
            yield Task(number)
            time.sleep(0.3)


class TestDevices:
    def test_workers_share_a_gpu_by_its_memory(self, run: Any) -> None:
        [node] = [node for node in current_cluster().nodes if node.gpus]
        work = run(Misbehaves())
        share = Resources(cpus=0, gpu_memory_gb=20)
        workers = [work.start(f"g{n}", share, node=node) for n in range(4)]
        locations = [get(worker.ready) for worker in workers]
        assert sorted(g.gpu_ids[0] for g in locations) == ["0", "0", "1", "1"]
        assert all(g.visible_gpus == g.gpu_ids[0] for g in locations)
        plain = get(work.start("c", node=node).ready)
        assert (plain.gpu_ids, plain.visible_gpus) == ((), "")

    def test_runtime_env(self, run: Any) -> None:
        work = run(Reads())
        worker = work.start("w", runtime_env={"env_vars": {"FLAVOUR": "plum"}})
        [task] = get(work.call(worker, "FLAVOUR").outputs).unpack()
        assert task.data == "plum"


class Reads(ProcessingStage[Task[Any], Task[Any]]):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(os.environ.get(task.data))


class TestWorkerDeaths:
    @pytest.mark.parametrize(
        ("action", "reason"),
        [
            ("exit", "left with os._exit(3)"),
            ("crash", "crashed: Segmentation fault"),
            ("hang", "took longer than its timeout_s of 0.5 s"),
        ],
    )
    def test_they_have_a_reason_and_a_task(self, run: Any, action: str, reason: str) -> None:
        import ray

        work = run(Misbehaves(), timeout_s=0.5)
        worker = work.start("w")
        call = work.call(worker, "good", action)
        with pytest.raises(ray.exceptions.RayActorError) as error:
            get(call.result)
        death = worker.explain_death(error.value)
        assert death.reason == reason
        assert death.status is not None
        assert (death.status.stage_index, death.status.task_ids) == (0, ["s1"])
        if action == "hang":
            assert "in process" in death.detail
            assert death.output == "about to hang\n"

    def test_before_the_worker_is_up(self, run: Any, tmp_path: Path) -> None:
        import ray

        work = run(Misbehaves())
        folder = work.launcher.folder
        (tmp_path / "file").touch()
        work.launcher.folder = str(tmp_path / "file" / "run")
        worker = work.start("w")
        work.launcher.folder = folder
        with pytest.raises(ray.exceptions.RayActorError) as error:
            get(worker.ready)
        reason = worker.explain_death(error.value).reason
        assert reason.startswith("died; Ray says: NotADirectoryError: [Errno 20] Not a directory: ")

    def test_of_the_node(self, run: Any, cluster: Any) -> None:
        import ray

        doomed = cluster.add_node(num_cpus=1, resources={"doomed": 1})
        [node] = [node for node in current_cluster().nodes if "doomed" in node.custom]
        work = run(Misbehaves())
        worker = work.start("w", node=node)
        get(worker.ready)
        cluster.remove_node(doomed, allow_graceful=False)
        with pytest.raises(ray.exceptions.RayError) as error:
            get(work.call(worker, "x").result)
        assert eventually(lambda: current_cluster().node(node.node_id) is None)
        assert worker.explain_death(error.value).reason == "was on a node that was lost"


class TestAbort:
    def test_a_long_call_ends_before_its_next_task(self, run: Any) -> None:
        work = run(Naps())
        worker = work.start("w")
        get(worker.set_up((0, 0)))
        work.launcher.set_node(worker, get(worker.ready).node_id)
        start = time.monotonic()
        call = work.call(worker, *range(100))
        time.sleep(0.3)
        worker.abort()
        result = get(call.result)
        assert result.is_aborted
        assert result.report is None
        assert time.monotonic() - start < 9
        get(worker.end())


class Naps(ProcessingStage[Task[Any], Task[Any]]):
    def process(self, task: Task[Any]) -> Task[Any]:
        time.sleep(0.1)
        return task
