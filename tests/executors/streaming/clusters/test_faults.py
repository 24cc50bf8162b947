"""Faults inside workers: each is named, and costs only its own task."""

import os
import re
import signal
import threading
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from clusterkit import Grid, Where, by, met, ran
from curator_core import Pipeline, ProcessingStage, Resources, RunResult, Task, WorkerInfo
from curator_core.errors import PipelineError, StageError
from curator_streaming.executor import StreamingExecutor
from waitkit import eventually

GPU = Resources(cpus=0.5, gpus=0.5)


pytestmark = pytest.mark.usefixtures("three")


@dataclass
class Hangs(ProcessingStage[Task[int], Task[int]]):
    bad: int

    def process(self, task: Task[int]) -> Task[int]:
        if task.data == self.bad:
            threading.Event().wait(60)
        return task


@dataclass
class Segfaults(ProcessingStage[Task[int], Task[int]]):
    bad: int

    def process(self, task: Task[int]) -> Task[int]:
        if task.data == self.bad:
            os.kill(os.getpid(), signal.SIGSEGV)
        return task


@dataclass
class FailsOnGpu(ProcessingStage[Task[int], Task[int]]):
    """Raises torch's out-of-memory error for one number, and notes the size of each attempt."""

    bad: int
    log: str

    def process_batch(self, tasks: Sequence[Task[int]]) -> list[Task[int]]:
        if any(task.data == self.bad for task in tasks):
            with open(self.log, "a") as log:
                log.write(f"{len(tasks)}\n")
            raise _torch_cuda().OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return list(tasks)


def _torch_cuda() -> Any:
    """A stand-in for torch.cuda, so that torch need not be installed."""
    cuda = types.ModuleType("torch.cuda")

    class OutOfMemoryError(RuntimeError):
        pass

    OutOfMemoryError.__module__ = "torch"
    cuda.OutOfMemoryError = OutOfMemoryError  # type: ignore[attr-defined]
    return cuda


@dataclass
class FailsSetupOnNode(Where):
    """Fails at setup on one of the nodes."""

    bad_node: str = ""

    def setup(self, worker: WorkerInfo) -> None:
        if worker.node.node_id == self.bad_node:
            raise OSError("no space left on device")
        super().setup(worker)


@dataclass
class FailsSetup(ProcessingStage[Task[int], Task[int]]):
    how: str

    def setup(self, worker: WorkerInfo) -> None:
        if self.how == "raises":
            raise OSError("weights.bin is not there")
        os.kill(os.getpid(), signal.SIGKILL)

    def process(self, task: Task[int]) -> Task[int]:
        return task


class HoldsLock(ProcessingStage[Task[int], Task[int]]):
    """Has an attribute that cannot be pickled."""

    def __init__(self) -> None:
        self.camera = threading.Lock()

    def process(self, task: Task[int]) -> Task[int]:
        return task


@dataclass
class Inflates(ProcessingStage[Task[Any], Task[Any]]):
    megabytes: int

    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(bytes(self.megabytes * 1_000_000))


class Measures(ProcessingStage[Task[Any], Task[Any]]):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(len(task.data))


def numbers(result: RunResult) -> list[int]:
    return sorted(task.data for task in result)


def all_but(bad: int, count: int = 40) -> list[int]:
    return [n for n in range(count) if n != bad]


class TestWorkersThatDie:
    def test_a_call_that_hangs_on_a_gpu(self) -> None:
        stage = Hangs(7).with_(resources=GPU, timeout_s=0.5)

        result = ran([stage], max_failures=None)

        assert numbers(result) == all_but(7)
        [record] = result.quarantined
        assert record.reason == "its worker took longer than its timeout_s of 0.5 s"

    def test_a_segfault(self) -> None:
        result = ran([Segfaults(7)], max_failures=None)

        assert numbers(result) == all_but(7)
        [record] = result.quarantined
        assert record.reason == "its worker crashed: Segmentation fault"
        assert result.worker_restarts == {"crashed: Segmentation fault": 2}

    def test_a_segfault_on_a_gpu(self) -> None:
        result = ran([Segfaults(7).with_(resources=GPU)], max_failures=None)

        assert numbers(result) == all_but(7)
        assert [r.reason for r in result.quarantined] == ["its worker crashed: Segmentation fault"]


class TestOutOfMemory:
    def test_of_a_gpu(self, tmp_path: Path) -> None:
        log = tmp_path / "log"
        stage = FailsOnGpu(7, str(log)).with_(resources=GPU, batch_size=8)

        result = ran([stage], max_failures=None)

        assert numbers(result) == all_but(7)
        [record] = result.quarantined
        assert record.reason.startswith("OutOfMemoryError: CUDA out of memory")
        sizes = [int(line) for line in log.read_text().split()]
        assert sizes[-1] == 1
        assert sizes[0] > 1
        assert result.worker_restarts == {}


class TestSetup:
    def test_it_fails_on_one_node(self, three: Grid) -> None:
        bad = three.cluster.head_node.node_id
        stage = FailsSetupOnNode(0.02, bad).with_(name="picky", num_workers=2)

        result = ran([stage.with_(resources=Resources(cpus=1))], 40)

        assert set(by(met(result, "picky"), "node")).isdisjoint({bad})
        assert len(result) == 40

    def test_it_fails_everywhere(self) -> None:
        with pytest.raises(StageError) as error:
            ran([FailsSetup("raises")])

        assert "stage 'fails_setup' could not be set up" in str(error.value)
        assert "weights.bin is not there" in str(error.value)

    def test_it_kills_every_worker(self) -> None:
        with pytest.raises(StageError) as error:
            ran([FailsSetup("dies").with_(resources=GPU)])

        message = str(error.value)
        assert re.search(r"fails_setup could not be set up \d+ times", message)
        assert "died without an error message" in message


class TestRefusals:
    def test_a_stage_that_cannot_be_pickled_names_its_attribute(self) -> None:
        with pytest.raises(PipelineError, match=r"'holds_lock'.*camera"):
            ran([HoldsLock()])

    def test_an_invalid_runtime_env(self) -> None:
        with pytest.raises(PipelineError) as error:
            ran([Where(), Where().with_(name="own", runtime_env={"working_dir": "/nowhere"})])

        assert "stage 2 'own' has a runtime_env that Ray refuses (ValueError: /nowhere" in str(
            error.value
        )

    def test_a_runtime_env_that_cannot_be_installed(self) -> None:
        """It looks valid; only the node that downloads it finds that it does not exist."""
        broken = {"working_dir": "file:///nowhere/at/all.zip"}
        with pytest.raises(StageError) as error:
            ran([Where().with_(name="own", runtime_env=broken)])

        expected = (
            "own could not be set up [34] times; last: a worker could not get its runtime_env"
        )
        assert re.search(expected, str(error.value))

    def test_a_misspelt_option(self) -> None:
        with pytest.raises(PipelineError, match=r"no option 'autoscale_interval' .*autoscale_int"):
            ran([Where()], config={"autoscale_interval": 3})


class TestLargeTasks:
    """Tasks that are larger than the object store of any node, which has 150 MB."""

    def test_a_source(self) -> None:
        [task] = Pipeline("p", stages=[Measures()]).run(
            StreamingExecutor(), tasks=[Task(bytes(200_000_000))]
        )

        assert task.data == 200_000_000

    def test_an_output(self, caplog: pytest.LogCaptureFixture) -> None:
        unfused = {"streaming": {"fuse": False}}

        result = ran([Inflates(200), Measures().with_(hints=unfused)], 2)

        assert [task.data for task in result] == [200_000_000] * 2
        assert "more than the object store of a node" in caplog.text
        assert "make the store larger (object_store_gb)" in caplog.text


@pytest.fixture
def small_memory() -> Iterator[Path]:
    """A control group that may use 300 MB."""
    top = Path("/sys/fs/cgroup")
    old = top / "memory"
    group = (old if old.is_dir() else top) / f"curator-test-{os.getpid()}"
    try:
        group.mkdir()
        limit = group / ("memory.limit_in_bytes" if old.is_dir() else "memory.max")
        limit.write_text(str(300 << 20))
    except OSError:
        pytest.skip("limiting memory needs permission to create a control group")
    yield group
    assert eventually(lambda: not (group / "cgroup.procs").read_text())
    group.rmdir()


@dataclass
class UsesMemory(ProcessingStage[Task[int], Task[int]]):
    """Allocates memory at one number until the kernel kills it."""

    group: str
    bad: int

    def process(self, task: Task[int]) -> Task[int]:
        if task.data == self.bad:
            Path(self.group, "cgroup.procs").write_text(str(os.getpid()))
            bytearray(b"x") * (1 << 30)
        return task


class TestHostMemory:
    def test_a_worker_that_the_kernel_kills(self, small_memory: Path) -> None:
        result = ran([UsesMemory(str(small_memory), 7)], max_failures=None)

        assert numbers(result) == all_but(7)
        [record] = result.quarantined
        assert record.reason == "its worker ran out of memory"
        assert result.worker_restarts == {"ran out of memory": 2}
