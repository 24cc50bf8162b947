"""Workers on a real small cluster: lives of stages, devices, hangs, deaths and what is left."""

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


class Told(ProcessingStage[Task[Any], Task[Any]]):
    """Writes down each moment of its life."""

    def __init__(self, folder: str = "", mark: str = "a") -> None:
        self.folder = folder
        self.mark = mark
        self.name = f"told_{mark}"

    def tell(self, what: str) -> None:
        with open(f"{self.folder}/{self.mark}-{what}", "a") as file:
            file.write(f"{os.getpid()}\n")

    def setup_on_node(self, node: NodeInfo) -> None:
        time.sleep(0.2)
        self.tell(f"node-{node.node_id}")

    def setup(self, worker: WorkerInfo) -> None:
        self.worker = worker
        self.tell("setup")

    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(f"{task.data}{self.mark}")

    def teardown(self) -> None:
        self.tell("teardown")


class Misbehaves(ProcessingStage[Task[Any], Task[Any]]):
    """Does what its task says."""

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
    """One run with a plan: what an executor does, in small."""

    def __init__(self, plan: Plan, cluster: Any) -> None:
        self.hosts = WorkerLauncher(plan, "token")
        self.started: list[WorkerHandle] = []

    def start(self, worker_id: str, resources: Resources = NONE, **facts: Any) -> WorkerHandle:
        host = self.hosts.start(worker_id, resources, **facts)
        self.started.append(host)
        return host

    def call(self, host: WorkerHandle, *data: Any, step: tuple[int, int] = (0, 0)) -> PendingCall:
        import ray

        self.hosts.packer.add_task_type(Task)
        parcel = ray.put(PackedTasks.pack([source(one, f"s{i}") for i, one in enumerate(data)]))
        return host.run(step, None, [(0, len(data))], [parcel])

    def close(self) -> None:
        for host in self.started:
            host.kill()
        self.hosts.close()


@pytest.fixture
def run(cluster: Any) -> Iterator[Any]:
    runs: list[Run] = []

    def start(*stages: ProcessingStage[Any, Any], **changes: Any) -> Run:
        runs.append(Run(plan_of(*stages, **changes), cluster))
        return runs[-1]

    yield start
    for one in runs:
        one.close()
        assert not os.path.exists(one.hosts.folder)


def got(ref: Any) -> Any:
    import ray

    return ray.get(ref, timeout=90)


def lines_of(folder: Path, pattern: str) -> list[str]:
    return [line for file in folder.glob(pattern) for line in file.read_text().splitlines()]


class TestLives:
    def test_of_stages_in_several_workers(self, run: Any, tmp_path: Path) -> None:
        nodes = current_cluster().nodes
        work = run(Told(str(tmp_path), "a"), Told(str(tmp_path), "b"), Told(str(tmp_path), "c"))
        hosts = [work.start(f"{node.cpus}-{n}", node=node) for node in nodes for n in (0, 1)]
        calls = [work.call(host, "x", step=(0, 1)) for host in hosts]
        calls += [work.call(host, "y", "z", step=(1, 1)) for host in hosts]
        outputs = [task.data for call in calls for task in got(call.outputs).unpack()]
        assert outputs == ["xab"] * 4 + ["yb", "zb"] * 4
        for mark in "ab":
            for node in nodes:
                assert len(lines_of(tmp_path, f"{mark}-node-{node.node_id}")) == 1
            assert len(set(lines_of(tmp_path, f"{mark}-setup"))) == 4
        assert not list(tmp_path.glob("c-*"))
        assert not list(tmp_path.glob("*-teardown"))
        for host in hosts:
            got(host.end())
        for mark in "ab":
            told = lines_of(tmp_path, f"{mark}-teardown")
            assert sorted(told) == sorted(lines_of(tmp_path, f"{mark}-setup"))
        assert not list(Path(work.hosts.folder).glob("*/*.status"))

    def test_a_stage_is_dropped_and_comes_back(self, run: Any, tmp_path: Path) -> None:
        work = run(Told(str(tmp_path)))
        host = work.start("w")
        got(work.call(host, "x").result)
        got(host.tear_down(0))
        assert len(lines_of(tmp_path, "a-teardown")) == 1
        assert [task.data for task in got(work.call(host, "x").outputs).unpack()] == ["xa"]
        assert len(lines_of(tmp_path, "a-setup")) == 2
        assert len(lines_of(tmp_path, "a-node-*")) == 1

    def test_teardown_comes_where_nobody_holds_the_worker(self, run: Any, tmp_path: Path) -> None:
        work = run(Told(str(tmp_path)))
        host = work.start("w")
        got(work.call(host, "x").result)
        work.started.clear()
        del host
        assert eventually(lambda: len(lines_of(tmp_path, "a-teardown")) == 1)

    def test_a_setup_that_fails_is_an_answer(self, run: Any) -> None:
        work = run(FailsToSetUp())
        answer = got(work.start("w").set_up((0, 0)))
        assert str(answer.error) == (
            "stage 'fails_to_set_up' could not be set up: RuntimeError: no such model"
        )
        assert answer.error.stage == "fails_to_set_up"


class TestAnswers:
    def test_say_what_the_driver_needs(self, run: Any) -> None:
        work = run(Misbehaves())
        call = work.call(work.start("w"), "fan out", "warn")
        answer: CallResult = got(call.result)
        assert answer.task_ids == ["s0.0", "s0.1", "s0.2", "s1"]
        assert answer.sources == [(("s0", 0),)] * 3 + [(("s1", 0),)]
        assert len(answer) == 4
        assert answer.nbytes == got(call.outputs).nbytes
        assert answer.report is not None
        assert answer.report.counts[0].tasks_out == 4
        assert answer.rss_bytes > 10_000_000
        assert [line.message for line in answer.lines] == ["look out for warn"]
        assert answer.error is None

    def test_name_the_stage_whose_output_cannot_travel(self, run: Any) -> None:
        work = run(Misbehaves())
        answer = got(work.call(work.start("w"), "lock").result)
        assert "stage 'misbehaves' gave a task that cannot leave its worker" in str(answer.error)
        assert answer.report is None

    def test_flow_gives_outputs_as_they_are_made(self, run: Any) -> None:
        import ray

        work = run(SlowFanOut())
        host = work.start("w")
        parcel = ray.put(PackedTasks.pack([source("x")]))
        told = []
        flow = host.stream((0, 0), None, [(0, 1)], [parcel])
        for reference in flow:
            answer, parcel = got(reference), next(flow)
            told.append((answer.task_ids, answer.report is not None))
            assert (got(parcel) is None) == (not answer.task_ids)
        assert told == [(["s.0"], False), (["s.1"], False), (["s.2"], False), ([], True)]


class SlowFanOut(ProcessingStage[Task[Any], Task[Any]]):
    def process(self, task: Task[Any]) -> Iterator[Task[Any]]:
        for number in range(3):
            yield Task(number)
            time.sleep(0.3)


class TestDevices:
    def test_share_a_gpu_by_its_memory_or_get_none(self, run: Any) -> None:
        [node] = [node for node in current_cluster().nodes if node.gpus]
        work = run(Misbehaves())
        share = Resources(cpus=0, gpu_memory_gb=20)
        hosts = [work.start(f"g{n}", share, node=node) for n in range(4)]
        greetings = [got(host.ready) for host in hosts]
        assert sorted(g.gpu_ids[0] for g in greetings) == ["0", "0", "1", "1"]
        assert all(g.visible_gpus == g.gpu_ids[0] for g in greetings)
        plain = got(work.start("c", node=node).ready)
        assert (plain.gpu_ids, plain.visible_gpus) == ((), "")

    def test_own_environment(self, run: Any) -> None:
        work = run(Reads())
        host = work.start("w", runtime_env={"env_vars": {"FLAVOUR": "plum"}})
        [task] = got(work.call(host, "FLAVOUR").outputs).unpack()
        assert task.data == "plum"


class Reads(ProcessingStage[Task[Any], Task[Any]]):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(os.environ.get(task.data))


class TestDeaths:
    @pytest.mark.parametrize(
        ("deed", "reason"),
        [
            ("exit", "left with os._exit(3)"),
            ("crash", "crashed: Segmentation fault"),
            ("hang", "took longer than its timeout_s of 0.5 s"),
        ],
    )
    def test_have_a_reason_and_a_culprit(self, run: Any, deed: str, reason: str) -> None:
        import ray

        work = run(Misbehaves(), timeout_s=0.5)
        host = work.start("w")
        call = work.call(host, "good", deed)
        with pytest.raises(ray.exceptions.RayActorError) as error:
            got(call.result)
        death = host.explain_death(error.value)
        assert death.reason == reason
        assert death.status is not None
        assert (death.status.stage_index, death.status.task_ids) == (0, ["s1"])
        if deed == "hang":
            assert "in process" in death.detail
            assert death.output == "about to hang\n"

    def test_before_it_could_greet(self, run: Any, tmp_path: Path) -> None:
        import ray

        work = run(Misbehaves())
        folder = work.hosts.folder
        (tmp_path / "file").touch()
        work.hosts.folder = str(tmp_path / "file" / "posts")
        host = work.start("w")
        work.hosts.folder = folder
        with pytest.raises(ray.exceptions.RayActorError) as error:
            got(host.ready)
        reason = host.explain_death(error.value).reason
        assert reason.startswith("died; Ray says: NotADirectoryError: [Errno 20] Not a directory: ")

    def test_of_a_node(self, run: Any, cluster: Any) -> None:
        import ray

        doomed = cluster.add_node(num_cpus=1, resources={"doomed": 1})
        [node] = [node for node in current_cluster().nodes if "doomed" in node.custom]
        work = run(Misbehaves())
        host = work.start("w", node=node)
        got(host.ready)
        cluster.remove_node(doomed, allow_graceful=False)
        with pytest.raises(ray.exceptions.RayError) as error:
            got(work.call(host, "x").result)
        assert eventually(lambda: current_cluster().node(node.node_id) is None)
        assert host.explain_death(error.value).reason == "was on a node that is gone"


class TestBreakingOff:
    def test_ends_a_long_call_before_its_next_task(self, run: Any) -> None:
        work = run(Naps())
        host = work.start("w")
        got(host.set_up((0, 0)))
        work.hosts.set_node(host, got(host.ready).node_id)
        started = time.monotonic()
        call = work.call(host, *range(100))
        time.sleep(0.3)
        host.abort()
        answer = got(call.result)
        assert answer.aborted
        assert answer.report is None
        assert time.monotonic() - started < 9
        got(host.end())


class Naps(ProcessingStage[Task[Any], Task[Any]]):
    def process(self, task: Task[Any]) -> Task[Any]:
        time.sleep(0.1)
        return task
