"""Rounds and batches, shared and own actors, dying workers, and errors."""

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


def run(stages: Sequence[Any], count: int = 40, mode: str = "rounds", **config: Any) -> RunResult:
    executor = RayActorPoolExecutor(config={"execution_mode": mode, **config})
    pipeline = Pipeline("p", stages=list(stages), max_failures=None)
    return pipeline.run(executor, tasks=[Task(n) for n in range(count)])


@dataclass
class Stamps(Tasks):
    """Adds its start, its end and its process to each task."""

    seconds: float = 0.005

    def process(self, task: Task[Any]) -> Task[Any]:
        started = time.time()
        time.sleep(self.seconds)
        stamps = task.data if isinstance(task.data, list) else []
        return task.with_data([*stamps, (started, time.time(), os.getpid())])


class Gathers(Tasks):
    """Needs all tasks at once."""

    batch_size = 10**9

    def process_batch(self, tasks: Sequence[Task[Any]]) -> Mixed[Task[Any]]:
        return Mixed([Task(sorted(task.data for task in tasks))])


class Passes(Tasks):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task


class KilledWhileLoading(Passes):
    """Kills four processes while they load the pipeline, more than may fail to set a stage up."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.parent = folder, os.getpid()

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if os.getpid() != self.parent and len(os.listdir(self.folder)) < 4:
            (self.folder / f"{os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Enlarges(Tasks):
    megabytes: int

    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(bytes(self.megabytes * 1_000_000))


class Measures(Tasks):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(len(task.data))


@dataclass
class WritesPid(Tasks):
    """Writes its process id into a folder."""

    folder: str

    def process(self, task: Task[Any]) -> Task[Any]:
        Path(self.folder, str(os.getpid())).touch()
        time.sleep(0.02)
        return task


class Exits(Tasks):
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
    def test_a_stage_finishes_all_tasks_before_the_next_starts(self) -> None:
        result = run([Stamps().with_(name=name) for name in ("one", "two", "three")], mode="batch")

        assert len(result) == 40
        for stage in range(2):
            last_end = max(task.data[stage][1] for task in result)
            assert last_end <= min(task.data[stage + 1][0] for task in result)

    def test_a_stage_may_get_all_tasks_in_one_call(self) -> None:
        [task] = run([Passes(), Gathers(), Passes().with_(name="behind")], 90, "batch")

        assert task.data == list(range(90))

    def test_data_may_exceed_the_object_store(self) -> None:
        result = run([Enlarges(8), Measures()], 44, "batch")  # 352 MB with a store of 300

        assert [task.data for task in result] == [8_000_000] * 44


class TestRounds:
    def test_each_passes_all_stages_before_the_next(self, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        run([Passes(), Writes(str(tmp_path / "out"))], 30)

        [file] = (tmp_path / "out").glob(".curator/*/events.jsonl")
        events = [json.loads(line) for line in file.read_text().splitlines()]
        assert [e["sources"] for e in events if e["event"] == "round_ended"] == [1, 4, 16, 9]

    def test_they_stay_within_their_bytes(self, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        stages = [Enlarges(2), Measures(), Writes(str(tmp_path / "out"))]
        run(stages, 40, max_round_gb=0.01)

        [file] = (tmp_path / "out").glob(".curator/*/events.jsonl")
        events = [json.loads(line) for line in file.read_text().splitlines()]
        rounds = [e for e in events if e["event"] == "round_ended"]
        assert max(e["sources"] for e in rounds) == 4
        assert max(e["peak_bytes"] for e in rounds) < 10_000_000


class TestActors:
    def test_stages_of_equal_size_share_actors(self) -> None:
        own = Stamps().with_(name="own", num_workers=1)

        result = run([Stamps(), Stamps().with_(name="again"), own], 60)

        pids = [Counter(task.data[stage][2] for task in result) for stage in range(3)]
        assert len(pids[0] | pids[1]) <= 2
        assert len(pids[2]) == 1
        assert not set(pids[2]) & set(pids[0])

    def test_killed_actors_are_replaced_and_no_task_is_lost(
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
        result = run([WritesPid(str(tmp_path))], 200)
        over.set()
        thread.join()

        assert len(killed) == 2
        assert sorted(task.data for task in result) == list(range(200))
        assert sum(result.worker_restarts.values()) == 2
        assert result.quarantined == []
        assert "A worker died or was killed" not in "".join(capsys.readouterr())

    def test_only_the_task_that_ends_its_process_is_quarantined(self) -> None:
        result = run([Passes(), Exits(), Passes().with_(name="behind")])

        assert sorted(task.data for task in result) == [n for n in range(40) if n != 17]
        [record] = result.quarantined
        assert (record.reason, record.attempts) == ("its worker left with os._exit(3)", 2)

    def test_workers_killed_before_a_stage_runs_are_not_blamed_on_it(self, tmp_path: Path) -> None:
        result = run([KilledWhileLoading(tmp_path)], 3)

        assert len(result) == 3
        assert sum(result.worker_restarts.values()) == 4


class TestErrors:
    def test_a_stage_that_kills_its_actors_during_setup_fails_the_run(self) -> None:
        message = (
            "dies_at_setup could not be set up 3 times; last: a worker died.*'dies_at_setup' was "
            "being set up.*run it again to resume"
        )
        with pytest.raises(StageError, match=message):
            run([Passes(), DiesAtSetup()], 1)

    def test_a_task_that_cannot_be_pickled_is_refused(self) -> None:
        with pytest.raises(PipelineError, match=r"\(Task\).*cannot be pickled.*plain data"):
            Pipeline("p", stages=[Passes()]).run(
                RayActorPoolExecutor(), tasks=[Task(threading.Lock())]
            )


def test_a_pipeline_that_only_lists_needs_no_actor() -> None:
    result = Pipeline("p", stages=[Lists(5)]).run(RayActorPoolExecutor())

    assert sorted(task.data for task in result) == [0, 1, 2, 3, 4]
