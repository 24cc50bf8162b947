"""Results: the same tasks, ids and counts on every executor, in any order."""

import subprocess
import sys
from pathlib import Path

import cloudpickle
import pytest

from curator_core.errors import CuratorError, EmptyRunError
from curator_core.execution.run_stages import run_stages
from curator_core.io.readers import JsonlReader
from curator_core.io.writers import JsonlWriter
from curator_core.model.documents import DocumentBatch
from curator_core.model.files import FileGroup
from curator_core.model.ids import fingerprint
from curator_core.model.metrics import MetricSummary
from curator_core.model.scores import Scores
from curator_core.model.stages import ProcessingStage
from curator_core.model.tasks import Dropped, Task
from curator_core.pipeline import Pipeline
from curator_core.testing.contract.stages import (
    SCALES,
    Adds,
    Anchored,
    DropsAll,
    Fails,
    FansOut,
    GivesAnchored,
    KeepsEven,
    Lists,
    Logs,
    Sums,
    Weighs,
)
from curator_core.testing.contract.trials import Trial, data, tasks, untimed


class KeepsLong(ProcessingStage[DocumentBatch, DocumentBatch]):
    def process(self, task: DocumentBatch) -> list[DocumentBatch | Dropped]:
        return task.keep([len(text) > 1 for text in task.data["text"].to_pylist()], "short")


class NamesFiles(ProcessingStage[FileGroup, FileGroup]):
    def process(self, task: FileGroup) -> list[FileGroup]:
        return [FileGroup.of([f"{path}.{i}"]) for path in task.paths for i in range(2)]


_SCRIPT = """
import sys
import cloudpickle
from curator_core import Pipeline, ProcessingStage, Task

class Doubles(ProcessingStage[Task, Task]):
    def process(self, task):
        return task.with_data(task.data * 2)

if __name__ == "__main__":
    executor = cloudpickle.loads(bytes.fromhex(sys.argv[1]))
    result = Pipeline("script", stages=[Doubles()]).run(executor, tasks=[Task(1), Task(2)])
    print(sorted(task.data for task in result))
"""


class ResultsContract(Trial):
    def test_every_task_passes_every_stage(self) -> None:
        result = self.run(Adds(1), Adds(10).with_(name="adds_more"))

        assert data(result) == list(range(11, 21))
        assert (result.sources_done, result.sources_skipped, result.status) == (10, 0, "done")

    @pytest.mark.parametrize("lazily", [False, True], ids=["list", "generator"])
    def test_a_stage_may_make_several_of_one(self, lazily: bool) -> None:
        result = self.run(FansOut(3, lazily), Adds(1), numbers=range(4))

        assert data(result) == [n * 100 + i + 1 for n in range(4) for i in range(3)]
        assert result.stages["fans_out"].tasks_in == 4
        assert result.stages["adds"].tasks_in == 12

    def test_dropping_is_counted_with_its_reasons(self) -> None:
        result = self.run(KeepsEven(), Adds(0))

        assert data(result) == [0, 2, 4, 6, 8]
        counts = result.stages["keeps_even"]
        assert (counts.tasks_in, counts.tasks_passed, counts.tasks_dropped) == (10, 5, 5)
        assert counts.reasons == {"odd": 2, "dropped": 3}

    def test_scores_are_counted_for_kept_and_dropped_records(self) -> None:
        result = self.run(FansOut(2), Weighs(500), Adds(1))

        numbers = [100 * n + i for n in range(10) for i in range(2)]
        expected = Scores.of([n for n in numbers if n < 500], [n for n in numbers if n >= 500])
        assert result.stages["weighs"].scores == {"weight": expected}
        assert result.stages["adds"].scores == {}

    def test_the_model_that_made_something_is_written_down(self) -> None:
        result = self.run(FansOut(2), Weighs(500), Adds(1))

        assert result.stages["weighs"].models == {SCALES: 10}
        assert result.stages["adds"].models == {}

    def test_what_stages_log_is_counted_once(self, tmp_path: Path) -> None:
        logs = Logs(str(tmp_path / "log")).with_(retries=1)

        result = self.run(FansOut(2), logs, Adds(1))

        assert result.stages["logs"].tasks_retried == 20
        numbers = [100 * n + i for n in range(10) for i in range(2)]
        summary = MetricSummary(20, sum(numbers), min(numbers), max(numbers))
        assert result.stages["logs"].metrics == {"number": summary}
        assert result.stages["adds"].metrics == {}

    def test_dropping_all_is_not_an_error(self) -> None:
        result = self.run(DropsAll(), Adds(1))

        assert list(result) == []
        assert (result.stages["drops_all"].tasks_dropped, result.stages["adds"].tasks_in) == (10, 0)
        assert result.sources_done == 10

    def test_many_may_become_few(self) -> None:
        result = self.run(FansOut(5), Sums().with_(batch_size=4), numbers=range(3))

        everything = sum(n * 100 + i for n in range(3) for i in range(5))
        assert sum(data(result)) == everything
        assert 4 <= len(result) <= 6
        counts = result.stages["sums"]
        assert (counts.tasks_in, counts.tasks_passed, result.sources_done) == (15, 15, 3)

    def test_nothing_to_do_is_an_error_unless_it_is_allowed(self) -> None:
        with pytest.raises(EmptyRunError, match="'contract' had nothing to do"):
            self.run(Adds(1), numbers=[])

        assert list(self.run(Adds(1), numbers=[], allow_empty=True)) == []

    def test_the_first_stage_may_list_the_sources(self) -> None:
        pipeline = Pipeline("contract", stages=[Lists(5), Adds(1)])

        result = pipeline.run(self.make_executor())

        assert data(result) == [1, 2, 3, 4, 5]
        assert result.sources_done == 5
        assert result.stages["lists"].tasks_out == 5

    def test_output_follows_inputs_that_were_renamed_and_removed(self, tmp_path: Path) -> None:
        def write(name: str) -> Path:
            path = tmp_path / "in" / f"{name}.jsonl"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f'{{"text": "{name * len(name)}"}}\n')
            return path

        reader, writer = JsonlReader(str(tmp_path / "in")), JsonlWriter(str(tmp_path / "out"))
        pipeline = Pipeline("contract", stages=[reader, writer])
        renamed, removed = write("a"), write("bb")
        write("ccc")
        pipeline.run(self.make_executor())

        renamed.rename(renamed.with_name("z.jsonl"))
        removed.unlink()
        write("dddd")
        result = pipeline.run(self.make_executor(), removed_inputs="prune")

        assert (result.sources_done, result.sources_skipped) == (1, 2)
        found = "".join(path.read_text() for path in (tmp_path / "out").glob("part-*"))
        assert sorted(found.split('"')[3::4]) == ["a", "c" * 9, "d" * 16]

    def test_the_order_of_sources_decides_nothing(self) -> None:
        paths = ["a", "b", "c", "d", "e"]
        pipeline = Pipeline("contract", stages=[NamesFiles()])

        def ran(order: list[str]) -> dict[str, str]:
            result = pipeline.run(self.make_executor(), tasks=[FileGroup.of([p]) for p in order])
            return {task.task_id: task.paths[0] for task in result if isinstance(task, FileGroup)}

        forwards = ran(paths)

        assert sorted(forwards.values()) == [f"{path}.{i}" for path in paths for i in range(2)]
        assert ran(paths[::-1]) == forwards

    def test_ids_follow_from_the_source_and_the_position(self) -> None:
        pipeline = Pipeline("contract", stages=[NamesFiles()])
        sources = [FileGroup.of([path]) for path in ("a", "b")]

        result = pipeline.run(self.make_executor(), tasks=sources)

        expected = {f"{fingerprint(source.identity())}.{i}" for source in sources for i in range(2)}
        assert {task.task_id for task in result} == expected

    def test_ids_are_the_same_in_every_run(self) -> None:
        executor = self.make_executor()
        pipeline = Pipeline(
            "contract",
            stages=[FansOut(2, lazily=True), KeepsEven(), FansOut(2).with_(name="again")],
        )

        runs = [pipeline.run(executor, tasks=tasks(range(5))) for _ in range(2)]

        first, second = ([(task.task_id, task.data) for task in run] for run in runs)
        assert sorted(first) == sorted(second)
        assert len({task_id for task_id, _ in first}) == len(first) == 10

    def test_counts_are_those_of_a_single_worker(self) -> None:
        stages = [FansOut(3, lazily=True), KeepsEven(), Fails(frozenset({2, 202, 900})), Adds(1)]

        result = self.run(*stages, max_failures=None)
        reference = run_stages(stages, tasks(range(10)), on_error="quarantine")

        for index, stage in enumerate(stages):
            assert untimed(result.stages[stage.name]) == untimed(reference.report.of(index))
            assert result.stages[stage.name].is_balanced
        assert data(result) == data(reference.outputs)

    def test_what_the_author_noted_is_carried_along(self) -> None:
        pipeline = Pipeline("contract", stages=[FansOut(2)])

        result = pipeline.run(self.make_executor(), tasks=[Task(1, "web", {"page": 7})])

        assert [(t.dataset_name, t.metadata) for t in result] == [("web", {"page": 7})] * 2
        assert all(set(task.timings) == {"fans_out"} for task in result)

    def test_tables_travel(self) -> None:
        batches = [
            DocumentBatch.from_pylist([{"text": "a" * n}, {"text": "b"}, {"text": "ccc"}])
            for n in (1, 2)
        ]

        result = Pipeline("contract", stages=[KeepsLong()]).run(self.make_executor(), tasks=batches)

        rows = sorted(str(t.to_pylist()) for t in result if isinstance(t, DocumentBatch))
        assert rows == ["[{'text': 'aa'}, {'text': 'ccc'}]", "[{'text': 'ccc'}]"]
        counts = result.stages["keeps_long"]
        assert (counts.items_in, counts.items_out, counts.reasons) == (6, 3, {"short": 3})

    def test_stages_need_not_be_importable(self) -> None:
        class Local(ProcessingStage[Task[int], Task[int]]):
            def process(self, task: Task[int]) -> Task[int]:
                return task.with_data(task.data * 3)

        assert data(self.run(Local(), numbers=[1, 2])) == [3, 6]

    def test_stages_may_be_defined_in_the_script_itself(self) -> None:
        executor = cloudpickle.dumps(self.make_executor()).hex()

        ended = subprocess.run(
            [sys.executable, "-c", _SCRIPT, executor], capture_output=True, text=True, timeout=60
        )

        assert ended.stdout.strip().endswith("[2, 4]"), ended.stderr

    def test_a_stage_that_cannot_travel_is_named(self) -> None:
        message = ""
        try:
            result = self.run(Anchored(), numbers=[1, 2])
        except CuratorError as error:
            message = str(error)
        if message:
            assert "'anchored'" in message
            assert "pickle" in message
            assert "setup()" in message
        else:  # it was not pickled
            assert data(result) == [1, 2]

    def test_an_output_that_cannot_travel_is_named(self) -> None:
        message, outputs = "", 0
        try:
            result = self.run(GivesAnchored(2), numbers=[1, 2, 3], max_failures=None)
            message, outputs = "".join(record.reason for record in result.quarantined), len(result)
        except CuratorError as error:
            message = str(error)
        if outputs < 3:  # the output was pickled
            assert "'gives_anchored'" in message
            assert "pickle" in message
