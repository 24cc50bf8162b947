"""Stores without renames: a file is one PUT, and the manifest lists the valid ones."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
import pytest
from curator_core import LocalExecutor, Pipeline, ProcessingStage, ResumeError, Task
from curator_core.io.readers import JsonlReader
from curator_core.io.writers import JsonlWriter
from curator_core.model.documents import DocumentBatch
from curator_core.model.functions import processing_stage
from curator_core.run import events, locks, observers
from curator_report.history import events_in
from fsspec.implementations.memory import MemoryFileSystem

HERE = LocalExecutor(workers=0)
OUT = "/remote-tests/out"


@processing_stage(name="refuse")
def refuse(task: DocumentBatch) -> DocumentBatch:
    if task.data["id"][0].as_py() == 4:
        raise ValueError("four")
    return task


@dataclass
class RefusesFour(ProcessingStage[DocumentBatch, DocumentBatch]):
    allow_changed_stages: str

    def process(self, task: DocumentBatch) -> DocumentBatch:
        return task if Path(self.allow_changed_stages).exists() else refuse.process(task)  # type: ignore[return-value]


def pipeline() -> Pipeline:
    stages = [JsonlReader("memory:///remote-tests/in"), refuse, JsonlWriter(f"memory://{OUT}")]
    return Pipeline("job", stages=stages, max_failures=None)


@pytest.fixture
def fs() -> Iterator[MemoryFileSystem]:
    fs = MemoryFileSystem()
    for number in range(4):
        lines = "".join(json.dumps({"id": number * 2 + n, "text": "x"}) + "\n" for n in range(2))
        fs.pipe_file(f"/remote-tests/in/{number}.jsonl", lines.encode())
    yield fs
    if fs.exists("/remote-tests"):
        fs.rm("/remote-tests", recursive=True)


def result_of(fs: MemoryFileSystem) -> dict[str, bytes]:
    """The files that the manifest lists."""
    manifest = json.loads(fs.cat_file(f"{OUT}/_manifest.json"))
    return {file["file"]: fs.cat_file(f"{OUT}/{file['file']}") for file in manifest["files"]}


def records(fs: MemoryFileSystem) -> list[int]:
    lines = b"".join(result_of(fs).values()).splitlines()
    return sorted(json.loads(line)["id"] for line in lines)


def test_a_run_keeps_its_directory_there(fs: MemoryFileSystem) -> None:
    result = pipeline().run(HERE)
    assert result.run_dir == f"memory://{OUT}/.curator/job"
    assert records(fs) == [0, 1, 2, 3, 6, 7]
    [record] = result.quarantined
    assert record.reason.startswith("ValueError: four (test_object_stores.py:")
    assert not fs.exists(f"{OUT}/.curator/job/lock")
    facts = json.loads(fs.cat_file(f"{OUT}/.curator/job/run.json"))
    assert facts["status"] == "done"
    kinds = [event["event"] for event in events_in(str(result.run_dir))]
    assert (kinds[0], kinds[-1]) == ("run_started", "run_ended")


def test_events_are_stored_during_the_run(
    fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events are written during the run, so that a killed run has some."""
    monkeypatch.setattr(events, "_PART_EVERY_S", 0.0)
    monkeypatch.setattr(events, "_PARTS_OF_A_SPAN", float("inf"))  # however slow the machine is
    with pipeline().stream(HERE) as stream:
        run_dir = str(stream.result.run_dir)
        next(stream)
        found = [event["event"] for event in events_in(run_dir)]
        assert (found[0], found.count("sources_done") > 0) == ("run_started", True)
        assert len(fs.ls(f"{OUT}/.curator/job/events")) > 1
        for _ in stream:
            pass
    ended = [event["event"] for event in events_in(run_dir)]
    assert (ended[: len(found)], ended[-1]) == (found, "run_ended")
    pipeline().run(HERE, resume=False)
    again = [event["event"] for event in events_in(run_dir)]
    assert again.count("run_started") == 1


class Guarded(MemoryFileSystem):  # type: ignore[misc]
    """Refuses clients without the password."""

    protocol = "guarded"
    cachable = False

    def __init__(self, word: str = "", **options: Any) -> None:
        super().__init__(**options)
        if word != "sesame":
            raise PermissionError("say the word")


def test_a_run_directory_has_storage_options_of_its_own(
    fs: MemoryFileSystem, tmp_path: Path
) -> None:
    fsspec.register_implementation("guarded", Guarded, clobber=True)
    allow_changed_stages = tmp_path / "mended"
    stages = [JsonlReader("memory:///remote-tests/in"), RefusesFour(str(allow_changed_stages)),
              JsonlWriter(str(tmp_path / "out"))]  # fmt: skip
    pipeline = Pipeline("job", stages=stages, max_failures=None)
    place: dict[str, Any] = {"run_dir": "guarded:///remote-tests/run"}
    with pytest.raises(PermissionError, match="say the word"):
        pipeline.run(HERE, **place)
    place["storage_options"] = {"word": "sesame"}
    first, again = pipeline.run(HERE, **place), pipeline.run(HERE, **place)
    allow_changed_stages.touch()
    retried = pipeline.retry(executor=HERE, **place)
    assert (first.sources_done, again.sources_skipped, len(first.quarantined)) == (4, 4, 1)
    assert (retried.sources_done, retried.quarantined) == (1, [])


def test_a_finished_run_does_nothing(fs: MemoryFileSystem) -> None:
    pipeline().run(HERE)
    again = pipeline().run(HERE)
    assert (again.sources_done, again.sources_skipped) == (0, 4)


def test_changed_inputs_and_deleted_outputs(fs: MemoryFileSystem) -> None:
    pipeline().run(HERE)
    fs.pipe_file("/remote-tests/in/0.jsonl", b'{"id": 10, "text": "new"}\n')
    fs.rm_file(f"{OUT}/{min(result_of(fs))}")
    pipeline().run(HERE)
    assert records(fs) == [2, 3, 6, 7, 10]


class Killed(BaseException):
    """The process was killed."""


class Dying:
    """No change succeeds from the chosen one on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
        self.number = 0
        self.at = at
        for name in ("pipe_file", "rm_file", "rm"):
            monkeypatch.setattr(MemoryFileSystem, name, self.watched(name))

    def watched(self, name: str) -> Any:
        change = getattr(MemoryFileSystem, name)

        def watched(*args: Any, **options: Any) -> Any:
            self.number += 1
            if self.number >= self.at:
                raise Killed
            return change(*args, **options)

        return watched


def test_a_crash_at_any_change_only_costs_time(
    fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Observers write in threads of their own, which do not end with the run.
    monkeypatch.setattr(observers, "_installed", lambda: iter(()))
    pipeline().run(HERE)
    wanted = result_of(fs)
    fs.rm(OUT, recursive=True)
    monkeypatch.setattr(locks, "_is_dead", lambda owner: True)
    with monkeypatch.context() as patches:
        counting = Dying(patches, at=1 << 30)
        pipeline().run(HERE)
    assert counting.number > 10
    for at in range(1, counting.number + 1):
        fs.rm(OUT, recursive=True)
        with monkeypatch.context() as patches:
            Dying(patches, at)
            with pytest.raises(Killed):
                pipeline().run(HERE)
        result = pipeline().run(HERE)
        assert result_of(fs) == wanted, at
        assert len(result.quarantined) == 1, at


def test_two_at_once_are_refused(fs: MemoryFileSystem) -> None:
    with pipeline().stream(HERE) as stream:
        next(stream)
        with pytest.raises(
            ResumeError, match=f"run directory memory://{OUT}/.curator/job is in use"
        ):
            pipeline().run(HERE)
        list(stream)
    assert records(fs) == [0, 1, 2, 3, 6, 7]


def test_a_run_directory_away_from_local_output(tmp_path: Any, fs: MemoryFileSystem) -> None:
    stages = [JsonlReader("memory:///remote-tests/in"), JsonlWriter(str(tmp_path / "out"))]
    for done in (4, 0):
        result = Pipeline("job", stages=stages).run(HERE, run_dir="memory:///remote-tests/run")
        assert result.sources_done == done
    assert len(list((tmp_path / "out").glob("part-*"))) == 4
    assert fs.exists("/remote-tests/run/run.json")


def test_tasks_need_no_run_directory() -> None:
    @processing_stage(name="same")
    def same(task: Task) -> Task:  # type: ignore[type-arg]
        return task

    result = Pipeline("job", stages=[same]).run(HERE, [Task(1)])
    assert result.run_dir is None
