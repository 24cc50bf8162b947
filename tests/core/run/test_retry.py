"""Retries: in the end the output is that of a run that never failed."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from curator_core import (
    DocumentBatch,
    Dropped,
    FileGroup,
    LocalExecutor,
    Pipeline,
    ProcessingStage,
    Rejected,
    ResumeError,
    RunResult,
    Task,
    processing_stage,
)
from curator_core.io.readers import JsonlReader
from curator_core.io.writers import JsonlWriter
from curator_core.model.records import QuarantineRecord, StageCounts
from curator_core.run.quarantine import INLINE_BYTES, Quarantine
from jobkit import write_records
from runkit import (
    ListFiles,
    Pairs,
    ReadWords,
    Together,
    WriteWords,
    hidden_leftovers,
    published,
    words_pipeline,
    write_inputs,
)

HERE = LocalExecutor(workers=0)
TEXTS = ["a bad1", "bad2", "drop1 bad3 b", "c"]


def run_dir(folder: Path) -> str:
    return str(folder / "out/.curator/words")


def retry(folder: Path, pipeline: Pipeline | None = None) -> RunResult:
    return (pipeline or words_pipeline(folder)).retry(run_dir(folder), HERE)


def counts(result: RunResult) -> dict[str, StageCounts]:
    """Without facts that always differ: times, and the listing, which retries do not have."""
    found = {name: c for name, c in result.stages.items() if name != "list_files"}
    for c in found.values():
        c.seconds, c.bytes_in, c.bytes_out = 0.0, 0, 0
    return found


def is_as_if_never_failed(folder: Path, result: RunResult, pipeline: Pipeline) -> None:
    found = published(folder / "out")
    assert (result.quarantined, hidden_leftovers(folder / "out")) == ([], [])
    shutil.rmtree(folder / "out")
    fresh = pipeline.run(HERE)
    assert found == published(folder / "out")
    assert counts(result) == counts(fresh)
    assert result.files == fresh.files


class TestTasks:
    def test_a_corrected_stage_is_retried(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, TEXTS)
        failed = words_pipeline(tmp_path).run(HERE)
        assert len(failed.quarantined) == 3
        (tmp_path / "mended").touch()
        result = retry(tmp_path)
        assert (result.sources_done, len(result), result.status) == (3, 3, "done")
        is_as_if_never_failed(tmp_path, result, words_pipeline(tmp_path))

    def test_in_worker_processes(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, TEXTS)
        words_pipeline(tmp_path).run(HERE)
        (tmp_path / "mended").touch()
        result = words_pipeline(tmp_path).retry(run_dir(tmp_path), LocalExecutor(workers=2))
        is_as_if_never_failed(tmp_path, result, words_pipeline(tmp_path))

    def test_tasks_that_fail_again_stay(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, TEXTS)
        first = words_pipeline(tmp_path).run(HERE)
        for _ in range(3):
            again = retry(tmp_path)
            assert len(again) == 0
            assert {r.task_id for r in again.quarantined} == {r.task_id for r in first.quarantined}
            assert counts(again) == counts(first)
        (tmp_path / "mended").touch()
        is_as_if_never_failed(tmp_path, retry(tmp_path), words_pipeline(tmp_path))

    def test_a_run_after_a_retry_has_nothing_left_to_do(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, TEXTS)
        words_pipeline(tmp_path).run(HERE)
        (tmp_path / "mended").touch()
        retried = retry(tmp_path)
        before = published(tmp_path / "out")
        result = words_pipeline(tmp_path).run(HERE)
        assert (result.sources_done, result.sources_skipped) == (0, 4)
        assert result.quarantined == []
        assert counts(result) == counts(retried)
        assert published(tmp_path / "out") == before

    def test_nothing_to_retry(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a", "b"])
        first = words_pipeline(tmp_path).run(HERE)
        again = retry(tmp_path)
        assert (len(again), again.quarantined, again.status) == (0, [], "done")
        assert again.files == first.files
        assert words_pipeline(tmp_path).run(HERE).sources_skipped == 2

    def test_a_mixed_task(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a", "b", "c", "d"])
        pipeline = words_pipeline(tmp_path, Pairs(), Fussy(str(tmp_path / "calm")))
        assert len(pipeline.run(Together(4)).quarantined) == 2
        (tmp_path / "calm").touch()
        result = retry(tmp_path, pipeline)
        assert result.quarantined == []
        assert len(list((tmp_path / "out").glob("part-*"))) == 2


@dataclass
class Fussy(ProcessingStage[Task[str], Task[str]]):
    """Fails until its file exists."""

    calm: str

    def process(self, task: Task[str]) -> Task[str]:
        if not os.path.exists(self.calm):
            raise ValueError("not like this")
        return task


@dataclass
class Halfway(ReadWords):
    """A generator that rejects a word, and fails after its third one."""

    folder: str

    def process(self, task: FileGroup) -> Iterator[Any]:
        for number, word in enumerate(super().process(task)):
            if number == 1:
                yield Rejected("an ugly word", "word 1", payload=b"ugly")
                yield Dropped("too ugly")
            if number == 3 and not os.path.exists(f"{self.folder}/mended"):
                raise ValueError("lost the thread")
            if number == 5 and not os.path.exists(f"{self.folder}/really"):
                raise ValueError("lost it again")
            yield word


class TestGenerators:
    def pipeline(self, folder: Path) -> Pipeline:
        source, words = str(folder / "in"), str(folder)
        stages = [ListFiles(source), Halfway(words), WriteWords(str(folder / "out"))]
        return Pipeline("words", stages=stages, max_failures=None)

    def test_nothing_is_duplicated(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a b c d e f g h", "i"])
        first = self.pipeline(tmp_path).run(HERE)
        assert len(first) == 4
        (tmp_path / "mended").touch()
        second = retry(tmp_path, self.pipeline(tmp_path))
        assert len(second) == 2
        [lost] = [r for r in second.quarantined if r.whole_task]
        assert lost.reason.startswith("ValueError: lost it again (test_retry.py:")
        (tmp_path / "really").touch()
        third = retry(tmp_path, self.pipeline(tmp_path))
        found = published(tmp_path / "out")
        assert sorted(text for name, text in found.items() if name.startswith("part-")) == [
            f"{word}\n".encode() for word in "abcdefghi"
        ]
        assert [r.reason for r in third.quarantined] == ["an ugly word"]
        shutil.rmtree(tmp_path / "out")
        fresh = self.pipeline(tmp_path).run(HERE)
        assert found == published(tmp_path / "out")
        assert counts(third) == counts(fresh)


class TestPipelines:
    def function(self, folder: Path, allow_changed_stages: bool) -> Pipeline:
        @processing_stage(name="judge")
        def broken(task: Task) -> Task:  # type: ignore[type-arg]
            raise ValueError("oh")

        @processing_stage(name="judge")
        def whole(task: Task) -> Task:  # type: ignore[type-arg]
            return task

        pipeline = words_pipeline(folder)
        pipeline.stages[2] = whole if allow_changed_stages else broken
        return pipeline

    def test_a_function_may_be_corrected(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a", "b"])
        self.function(tmp_path, allow_changed_stages=False).run(HERE)
        allow_changed_stages = self.function(tmp_path, allow_changed_stages=True)
        result = allow_changed_stages.retry(run_dir(tmp_path), HERE, accept_changes=True)
        assert (len(result), result.quarantined) == (2, [])
        [note] = result.notes
        assert "stage 'judge': function" in note
        assert self.function(tmp_path, allow_changed_stages=True).run(HERE).sources_skipped == 2

    def test_a_changed_one_is_refused_with_the_difference(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, TEXTS)
        words_pipeline(tmp_path).run(HERE)
        before = published(tmp_path / "out")
        changed = words_pipeline(tmp_path, work_s=0.001)
        (tmp_path / "mended").touch()
        with pytest.raises(ResumeError, match=r"work_s 0\.0 became 0\.001") as caught:
            retry(tmp_path, changed)
        assert "accept_changes" in str(caught.value)
        assert published(tmp_path / "out") == before
        is_as_if_never_failed(tmp_path, retry(tmp_path), words_pipeline(tmp_path))

    @pytest.mark.parametrize("mode", ["error", "overwrite"])
    def test_it_must_write_to_the_same_place(self, mode: str, tmp_path: Path) -> None:
        write_inputs(tmp_path, TEXTS)
        words_pipeline(tmp_path, mode=mode).run(HERE)
        before = published(tmp_path / "out")
        other = words_pipeline(tmp_path, mode=mode)
        other.stages[-1] = WriteWords(str(tmp_path / "out2"), mode)
        with pytest.raises(ResumeError) as caught:
            retry(tmp_path, other)
        assert str(caught.value) == (
            f"the pipeline 'words' differs from that of the run in {run_dir(tmp_path)}:\n"
            f"  stage 'write_words': output_path '{tmp_path}/out' became '{tmp_path}/out2'\n"
            "A retry may change what stages do, not which stages there are or where they write"
        )
        assert published(tmp_path / "out") == before

    def test_no_run_directory(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, TEXTS)
        with pytest.raises(ResumeError) as caught:
            retry(tmp_path)
        assert str(caught.value) == (
            f"{run_dir(tmp_path)} is not the directory of a run; give one with a run.json"
        )


class TestDamage:
    def test_damaged_records_are_left_alone(self, tmp_path: Path) -> None:
        write_records(tmp_path, 2, 3)
        with (tmp_path / "in/00000.jsonl").open("a") as file:
            file.write('{"id": \n[1]\n')
        stages = [JsonlReader(str(tmp_path / "in")), JsonlWriter(str(tmp_path / "out"))]
        pipeline = Pipeline("words", stages=stages, max_failures=None)
        first = pipeline.run(HERE)
        again = retry(tmp_path, pipeline)
        [note] = again.notes
        assert note.startswith("damaged records that cannot be retried: 2")
        assert len(again) == 0
        assert [r.where for r in again.quarantined] == [r.where for r in first.quarantined]

    def test_tasks_that_cannot_be_stored(self, tmp_path: Path) -> None:
        class Strange(ProcessingStage[Task[str], Task[Any]]):
            def process(self, task: Task[str]) -> Task[Any]:
                return Task(object())

        write_inputs(tmp_path, ["a"])
        stages = words_pipeline(tmp_path).stages
        fussy = Fussy(str(tmp_path / "calm"))
        pipeline = Pipeline("words", stages=[*stages[:2], Strange(), fussy, stages[-1]])
        pipeline.max_failures = None
        pipeline.run(HERE)
        result = retry(tmp_path, pipeline)
        [note] = result.notes
        assert "could not be stored, and so cannot be retried: 1" in note
        assert len(result.quarantined) == 1


class TestQuarantine:
    record = QuarantineRecord("s.0", "judge", 2, "no", source_id="s", payload=b"small")

    def test_records_survive_a_round_trip(self, tmp_path: Path) -> None:
        quarantine = Quarantine(str(tmp_path))
        large = QuarantineRecord("s.1", "judge", 2, "no", payload=b"x" * (INLINE_BYTES + 1))
        none = QuarantineRecord("s.2", "judge", 2, "no", where="line 7", whole_task=False)
        quarantine.add("s", [self.record, large, none])
        one, two, three = quarantine.records()
        assert (one, three) == (self.record, none)
        assert two.payload == large.payload
        assert [r.payload is None for r in (one, two, three)] == [False, False, True]

    def test_adding_again_replaces(self, tmp_path: Path) -> None:
        quarantine = Quarantine(str(tmp_path))
        for _ in range(2):
            quarantine.add("s", [self.record])
        assert list(quarantine.records()) == [self.record]

    def test_settled_records_are_removed(self, tmp_path: Path) -> None:
        quarantine = Quarantine(str(tmp_path))
        other = QuarantineRecord("s.1", "judge", 2, "no")
        quarantine.add("s", [self.record, other])
        quarantine.settle("s", self.record)
        assert list(quarantine.records()) == [other]
        quarantine.settle("s", other)
        quarantine.settle("s", other)
        assert (list(quarantine.records()), quarantine.groups()) == ([], [])

    def test_large_payloads_are_loaded_on_access(self, tmp_path: Path) -> None:
        """A thousand batches of 32 MiB that failed must not all be in memory at the end."""
        write_records(tmp_path, 1, 2000)
        stages = [
            JsonlReader(str(tmp_path / "in")),
            Refusing(),
            JsonlWriter(str(tmp_path / "out")),
        ]
        pipeline = Pipeline("words", stages=stages, max_failures=None)
        [record] = pipeline.run(HERE).quarantined
        assert vars(record)["payload"] is None
        assert record.payload is not None
        assert DocumentBatch.from_payload(record.payload).num_items == 2000


class Refusing(ProcessingStage[DocumentBatch, DocumentBatch]):
    def process(self, task: DocumentBatch) -> DocumentBatch:
        raise ValueError("no")


class Pictures(DocumentBatch):
    """A batch of a modality."""


@dataclass
class ReadPictures(ProcessingStage[FileGroup, Pictures]):
    def process(self, task: FileGroup) -> Pictures:
        return Pictures.from_pylist([{"n": n} for n in range(4)])


@dataclass
class AnyRecords(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Accepts batches of any modality; rejects a record or a batch until `calm` exists."""

    calm: str
    whole: bool

    def process(self, task: DocumentBatch) -> list[DocumentBatch | Rejected]:
        if os.path.exists(self.calm):
            return [task]
        if self.whole:
            raise ValueError("no")
        return [task.take([0, 1, 3]), Rejected("no", row=2)]


@dataclass
class Look(ProcessingStage[Pictures, Task[str]]):
    def process(self, task: Pictures) -> list[Task[str]]:
        return [Task(f"{type(task).__name__} {row['n']}") for row in task.to_pylist()]


@pytest.mark.parametrize("whole", [True, False])
def test_a_retried_task_has_its_original_class(whole: bool, tmp_path: Path) -> None:
    write_inputs(tmp_path, ["a"])
    doubtful = AnyRecords(str(tmp_path / "calm"), whole)
    ends = ListFiles(str(tmp_path / "in")), WriteWords(str(tmp_path / "out"))
    stages = [ends[0], ReadPictures(), doubtful, Look(), ends[1]]
    pipeline = Pipeline("words", stages=stages, max_failures=None)
    pipeline.allow_empty = True
    assert len(pipeline.run(HERE).quarantined) == 1
    (tmp_path / "calm").touch()
    assert retry(tmp_path, pipeline).quarantined == []
    texts = [text for name, text in published(tmp_path / "out").items() if "part-" in name]
    assert sorted(texts) == [f"Pictures {n}\n".encode() for n in range(4)]
