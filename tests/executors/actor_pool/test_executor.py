"""Rounds and batches, shared and own actors, what dies on the way, and what is said about it."""

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from curator_actor_pool.executor import RayActorPoolExecutor
from curator_core import Pipeline, ProcessingStage, RunResult, Task, WorkerInfo
from curator_core.errors import PipelineError, StageError
from curator_core.model.tasks import Mixed
from curator_core.testing.contract.stages import Lists, Writes

pytestmark = pytest.mark.usefixtures("private_ray")

Tasks = ProcessingStage[Task[Any], Task[Any]]


def ran(stages: Sequence[Any], count: int = 40, mode: str = "rounds", **config: Any) -> RunResult:
    executor = RayActorPoolExecutor(config={"execution_mode": mode, **config})
    pipeline = Pipeline("p", stages=list(stages), max_failures=None)
    return pipeline.run(executor, tasks=[Task(n) for n in range(count)])


@dataclass
class Stamps(Tasks):
    """Notes when it was at work, and where."""

    seconds: float = 0.005

    def process(self, task: Task[Any]) -> Task[Any]:
        begun = time.time()
        time.sleep(self.seconds)
        stamps = task.data if isinstance(task.data, list) else []
        return task.with_data([*stamps, (begun, time.time(), os.getpid())])


class Gathers(Tasks):
    """Has to see everything at once."""

    batch_size = 10**9

    def process_batch(self, tasks: Sequence[Task[Any]]) -> Mixed[Task[Any]]:
        return Mixed([Task(sorted(task.data for task in tasks))])


class Same(Tasks):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task


class KilledWhileStarting(Same):
    """Five processes are killed while they unpack the pipeline."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.parent = folder, os.getpid()

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if os.getpid() != self.parent and len(os.listdir(self.folder)) < 5:
            (self.folder / f"{os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Fattens(Tasks):
    megabytes: int

    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(bytes(self.megabytes * 1_000_000))


class Weighs(Tasks):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(len(task.data))


@dataclass
class Works(Tasks):
    """Leaves its process id in a folder."""

    folder: str

    def process(self, task: Task[Any]) -> Task[Any]:
        Path(self.folder, str(os.getpid())).touch()
        time.sleep(0.02)
        return task


class Leaves(Tasks):
    """Ends its process at one task."""

    def process(self, task: Task[Any]) -> Task[Any]:
        if task.data == 17:
            os._exit(3)
        return task


class DiesAtSetup(Tasks):
    def setup(self, worker: WorkerInfo) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def process(self, task: Task[Any]) -> Task[Any]:
        return task


class TestBatch:
    def test_everything_passes_a_stage_before_the_next_begins(self) -> None:
        result = ran([Stamps().with_(name=name) for name in ("one", "two", "three")], mode="batch")

        assert len(result) == 40
        for stage in range(2):
            last_end = max(task.data[stage][1] for task in result)
            assert last_end <= min(task.data[stage + 1][0] for task in result)

    def test_a_stage_that_has_to_see_everything_does(self) -> None:
        [task] = ran([Same(), Gathers(), Same().with_(name="behind")], 90, "batch")

        assert task.data == list(range(90))

    def test_more_than_the_store_holds_goes_by_way_of_the_disk(self) -> None:
        result = ran([Fattens(8), Weighs()], 60, "batch")  # 480 MB in a store of 300

        assert [task.data for task in result] == [8_000_000] * 60


class TestRounds:
    def test_each_goes_through_all_stages_before_the_next(self, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        ran([Same(), Writes(str(tmp_path / "out"))], 30)

        [file] = (tmp_path / "out").glob(".curator/*/events.jsonl")
        told = [json.loads(line) for line in file.read_text().splitlines()]
        assert [e["sources"] for e in told if e["event"] == "round_ended"] == [1, 4, 16, 9]

    def test_they_hold_no_more_than_they_may(self, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        stages = [Fattens(2), Weighs(), Writes(str(tmp_path / "out"))]
        ran(stages, 40, max_round_gb=0.01)

        [file] = (tmp_path / "out").glob(".curator/*/events.jsonl")
        told = [json.loads(line) for line in file.read_text().splitlines()]
        rounds = [e for e in told if e["event"] == "round_ended"]
        assert max(e["sources"] for e in rounds) == 4
        assert max(e["peak_bytes"] for e in rounds) < 10_000_000


class TestActors:
    def test_stages_of_equal_size_share_them_and_others_have_their_own(self) -> None:
        own = Stamps().with_(name="own", num_workers=1)

        result = ran([Stamps(), Stamps().with_(name="again"), own], 60)

        pids = [Counter(task.data[stage][2] for task in result) for stage in range(3)]
        assert len(pids[0] | pids[1]) <= 2
        assert len(pids[2]) == 1
        assert not set(pids[2]) & set(pids[0])

    def test_one_that_is_killed_is_replaced_and_nothing_is_lost(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        killed: list[int] = []
        over = threading.Event()

        def kill_some() -> None:
            while len(killed) < 2 and not over.wait(0.3):
                new = [int(f.name) for f in tmp_path.iterdir() if int(f.name) not in killed]
                if new:
                    killed.append(new[0])
                    os.kill(new[0], signal.SIGKILL)

        thread = threading.Thread(target=kill_some)
        thread.start()
        result = ran([Works(str(tmp_path))], 200)
        over.set()
        thread.join()

        assert len(killed) == 2
        assert sorted(task.data for task in result) == list(range(200))
        assert sum(result.worker_restarts.values()) == 2
        assert result.quarantined == []
        assert "A worker died or was killed" not in "".join(capsys.readouterr())

    def test_a_task_that_ends_its_process_is_set_aside_alone(self) -> None:
        result = ran([Same(), Leaves(), Same().with_(name="behind")])

        assert sorted(task.data for task in result) == [n for n in range(40) if n != 17]
        [record] = result.quarantined
        assert (record.reason, record.attempts) == ("its worker left with os._exit(3)", 2)

    def test_workers_that_are_killed_before_a_stage_runs_are_no_evidence_against_it(
        self, tmp_path: Path
    ) -> None:
        result = ran([KilledWhileStarting(tmp_path)], 3)

        assert len(result) == 3
        assert sum(result.worker_restarts.values()) == 5


class TestErrors:
    def test_a_stage_whose_actors_die_while_it_is_set_up(self) -> None:
        told = (
            r"dies_at_setup could not be set up 3 times; last: a worker died.*'dies_at_setup' was "
            "being set up.*the same command does the rest"
        )
        with pytest.raises(StageError, match=told):
            ran([Same(), DiesAtSetup()], 1)

    def test_a_task_that_cannot_travel(self) -> None:
        with pytest.raises(PipelineError, match=r"\(Task\).*cannot be pickled.*plain data"):
            Pipeline("p", stages=[Same()]).run(
                RayActorPoolExecutor(), tasks=[Task(threading.Lock())]
            )


def test_a_pipeline_that_only_lists_needs_no_actor() -> None:
    result = Pipeline("p", stages=[Lists(5)]).run(RayActorPoolExecutor())

    assert sorted(task.data for task in result) == [0, 1, 2, 3, 4]
