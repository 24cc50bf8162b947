"""What goes wrong inside of workers: each fault has its name, and costs only its own task."""

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
class Devours(ProcessingStage[Task[int], Task[int]]):
    """Raises, for one number, what torch raises; notes in how large a batch it was tried."""

    bad: int
    log: str

    def process_batch(self, tasks: Sequence[Task[int]]) -> list[Task[int]]:
        if any(task.data == self.bad for task in tasks):
            with open(self.log, "a") as log:
                log.write(f"{len(tasks)}\n")
            raise _torch_cuda().OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return list(tasks)


def _torch_cuda() -> Any:
    """Where there is no torch, something with the same names."""
    cuda = types.ModuleType("torch.cuda")

    class OutOfMemoryError(RuntimeError):
        pass

    OutOfMemoryError.__module__ = "torch"
    cuda.OutOfMemoryError = OutOfMemoryError  # type: ignore[attr-defined]
    return cuda


@dataclass
class ComesUpElsewhere(Where):
    """Cannot be set up on one of the nodes."""

    bad_node: str = ""

    def setup(self, worker: WorkerInfo) -> None:
        if worker.node.node_id == self.bad_node:
            raise OSError("no space left on device")
        super().setup(worker)


@dataclass
class NeverComesUp(ProcessingStage[Task[int], Task[int]]):
    how: str

    def setup(self, worker: WorkerInfo) -> None:
        if self.how == "raises":
            raise OSError("weights.bin is not there")
        os.kill(os.getpid(), signal.SIGKILL)

    def process(self, task: Task[int]) -> Task[int]:
        return task


class Holds(ProcessingStage[Task[int], Task[int]]):
    """Has an attribute that cannot travel."""

    def __init__(self) -> None:
        self.camera = threading.Lock()

    def process(self, task: Task[int]) -> Task[int]:
        return task


@dataclass
class Grows(ProcessingStage[Task[Any], Task[Any]]):
    megabytes: int

    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(bytes(self.megabytes * 1_000_000))


class Weighs(ProcessingStage[Task[Any], Task[Any]]):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(len(task.data))


def numbers(result: RunResult) -> list[int]:
    return sorted(task.data for task in result)


def all_but(bad: int, count: int = 40) -> list[int]:
    return [n for n in range(count) if n != bad]


class TestWorkersThatEnd:
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
        stage = Devours(7, str(log)).with_(resources=GPU, batch_size=8)

        result = ran([stage], max_failures=None)

        assert numbers(result) == all_but(7)
        [record] = result.quarantined
        assert record.reason.startswith("OutOfMemoryError: CUDA out of memory")
        sizes = [int(line) for line in log.read_text().split()]
        assert sizes[-1] == 1
        assert sizes[0] > 1
        assert result.worker_restarts == {}


class TestSetup:
    def test_on_one_node_it_fails(self, three: Grid) -> None:
        bad = three.cluster.head_node.node_id
        stage = ComesUpElsewhere(0.02, bad).with_(name="picky", num_workers=2)

        result = ran([stage.with_(resources=Resources(cpus=1))], 40)

        assert set(by(met(result, "picky"), "node")).isdisjoint({bad})
        assert len(result) == 40

    def test_it_fails_everywhere(self) -> None:
        with pytest.raises(StageError) as error:
            ran([NeverComesUp("raises")])

        assert "stage 'never_comes_up' could not be set up" in str(error.value)
        assert "weights.bin is not there" in str(error.value)

    def test_it_kills_its_worker_everywhere(self) -> None:
        with pytest.raises(StageError) as error:
            ran([NeverComesUp("dies").with_(resources=GPU)])

        said = str(error.value)
        assert re.search(r"never_comes_up could not be set up \d+ times", said)
        assert "died without a word" in said


class TestRefusals:
    def test_a_stage_that_cannot_travel_names_its_attribute(self) -> None:
        with pytest.raises(PipelineError, match=r"'holds'.*camera"):
            ran([Holds()])

    def test_an_environment_that_makes_no_sense(self) -> None:
        with pytest.raises(PipelineError) as error:
            ran([Where(), Where().with_(name="own", runtime_env={"working_dir": "/nowhere"})])

        assert "stage 2 'own' has a runtime_env that Ray refuses (ValueError: /nowhere" in str(
            error.value
        )

    def test_an_environment_that_cannot_be_made(self) -> None:
        """It looks right; only the node that wants to get it sees that it is not there."""
        broken = {"working_dir": "file:///nowhere/at/all.zip"}
        with pytest.raises(StageError) as error:
            ran([Where().with_(name="own", runtime_env=broken)])

        told = "own could not be set up [34] times; last: a worker could not get its runtime_env"
        assert re.search(told, str(error.value))

    def test_an_option_that_is_misspelt(self) -> None:
        with pytest.raises(PipelineError, match=r"no option 'autoscale_interval' .*autoscale_int"):
            ran([Where()], config={"autoscale_interval": 3})


class TestLargeTasks:
    """A task that takes more than the object store of any node, which is 150 MB."""

    def test_a_source(self) -> None:
        [task] = Pipeline("p", stages=[Weighs()]).run(
            StreamingExecutor(), tasks=[Task(bytes(200_000_000))]
        )

        assert task.data == 200_000_000

    def test_what_a_stage_gives(self, caplog: pytest.LogCaptureFixture) -> None:
        apart = {"streaming": {"fuse": False}}

        result = ran([Grows(200), Weighs().with_(hints=apart)], 2)

        assert [task.data for task in result] == [200_000_000] * 2
        assert "more than the object store of a node" in caplog.text
        assert "make the store larger (object_store_gb)" in caplog.text


@pytest.fixture
def small_memory() -> Iterator[Path]:
    """A group of processes that may use 300 MB together."""
    top = Path("/sys/fs/cgroup")
    old = top / "memory"
    group = (old if old.is_dir() else top) / f"curator-test-{os.getpid()}"
    try:
        group.mkdir()
        limit = group / ("memory.limit_in_bytes" if old.is_dir() else "memory.max")
        limit.write_text(str(300 << 20))
    except OSError:
        pytest.skip("limiting memory takes the right to make a control group")
    yield group
    assert eventually(lambda: not (group / "cgroup.procs").read_text())
    group.rmdir()


@dataclass
class Hungry(ProcessingStage[Task[int], Task[int]]):
    """Eats, at one number, until the system ends it."""

    group: str
    bad: int

    def process(self, task: Task[int]) -> Task[int]:
        if task.data == self.bad:
            Path(self.group, "cgroup.procs").write_text(str(os.getpid()))
            bytearray(b"x") * (1 << 30)
        return task


class TestHostMemory:
    def test_a_worker_that_the_system_ends(self, small_memory: Path) -> None:
        result = ran([Hungry(str(small_memory), 7)], max_failures=None)

        assert numbers(result) == all_but(7)
        [record] = result.quarantined
        assert record.reason == "its worker ran out of memory"
        assert result.worker_restarts == {"ran out of memory": 2}
