"""Workflows: killed between two pipelines, run twice, run at the same time."""

import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from html import unescape
from pathlib import Path
from typing import Any

import psutil
import pytest
from curator_core import (
    AnyTask,
    LocalExecutor,
    Pipeline,
    PipelineError,
    Plan,
    ProcessingStage,
    RemovedInputsError,
    ResumeError,
    Run,
    RunInterrupted,
    RunResult,
    StageError,
    Task,
    Workflow,
    WorkflowResult,
)
from curator_core.plugins.registry import plugins
from curator_core.run import locks
from curator_core.run.locks import LockedFolder
from curator_core.run.store import DirectoryStore
from fsspec.implementations.memory import MemoryFileSystem
from runkit import Judge, ListFiles, ReadWords, WriteWords, published, write_input, write_inputs

HERE = LocalExecutor(workers=0)


@dataclass
class TwoSteps(Workflow):
    """in/ -> middle/ -> out/; `steps` records each step."""

    folder: Path
    steps: list[str] = field(default_factory=list)
    names: tuple[str, str] = ("first", "second")
    stop_before: str = ""

    name = "two_steps"

    @property
    def work_dir(self) -> str:
        return str(self.folder / "work")

    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        for name, source, target in zip(
            self.names, ("in", "middle"), ("middle", "out"), strict=True
        ):
            if name == self.stop_before:
                raise RunInterrupted("stopped between two pipelines")
            self.steps.append(name)
            yield self._step(name, source, target)
            result.metadata[name] = result.runs[name].sources_done

    def _step(self, name: str, source: str, target: str) -> Pipeline:
        visible = Visible(str(self.folder / source))
        judge = Judge(str(self.folder / "mended"))
        stages = [visible, ReadWords(), judge, WriteWords(str(self.folder / target))]
        return Pipeline(name, stages=stages, on_error="fail")


class Visible(ListFiles):
    """The published files of another run, without its run directory."""

    def process(self, task: object) -> Iterator[object]:  # type: ignore[override]
        for group in super().process(task):  # type: ignore[arg-type]
            if os.path.basename(group.paths[0])[0] not in "._":
                yield group


class Pressed(TwoSteps):
    """Gets SIGINT between its pipelines, and loses the exception, as a destructor does."""

    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        for pipeline in super().pipelines(result):
            yield pipeline
            with suppress(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_between_pipelines_is_never_lost(tmp_path: Path) -> None:
    write_inputs(tmp_path, ["a b", "c"])
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(RunInterrupted, match="stopped by SIGINT: 1 pipeline done and kept; run"):
        Pressed(tmp_path).run(HERE)
    assert signal.getsignal(signal.SIGINT) is before
    assert not (tmp_path / "out").exists()
    result = TwoSteps(tmp_path).run(HERE)
    assert result.runs["first"].sources_done == 0
    assert result.metadata["second"] == 3


def test_ctrl_c_at_the_end_of_a_pipeline_starts_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = DirectoryStore.finish

    def pressed(keeper: DirectoryStore, result: RunResult) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        finish(keeper, result)

    write_inputs(tmp_path, ["a b", "c"])
    monkeypatch.setattr(DirectoryStore, "finish", pressed)
    with pytest.raises(RunInterrupted, match="stopped by SIGINT: 1 pipeline done and kept; run"):
        TwoSteps(tmp_path).run(HERE)
    assert not (tmp_path / "out").exists()


def test_each_pipeline_builds_on_the_files_of_the_one_before(tmp_path: Path) -> None:
    write_inputs(tmp_path, ["a b", "c"])
    result = TwoSteps(tmp_path).run(HERE)
    assert list(result.runs) == ["first", "second"]
    assert result.metadata == {"first": 2, "second": 3}
    assert not result.did_nothing
    assert result.seconds > 0
    assert len(list((tmp_path / "out").glob("part-*"))) == 3


def test_a_finished_workflow_does_nothing(tmp_path: Path) -> None:
    write_inputs(tmp_path, ["a b", "c"])
    TwoSteps(tmp_path).run(HERE)
    before = published(tmp_path / "out")
    assert TwoSteps(tmp_path).run(HERE).did_nothing
    assert published(tmp_path / "out") == before


def test_a_workflow_killed_between_pipelines_resumes_with_the_next(tmp_path: Path) -> None:
    write_inputs(tmp_path, ["a b", "c"])
    with pytest.raises(RunInterrupted):
        TwoSteps(tmp_path, stop_before="second").run(HERE)
    result = TwoSteps(tmp_path).run(HERE)
    assert result.metadata == {"first": 0, "second": 3}


def test_a_workflow_that_failed_in_a_pipeline_resumes_in_it(tmp_path: Path) -> None:
    write_inputs(tmp_path, ["a", "bad"])
    with pytest.raises(StageError, match=r"cannot judge bad \(.*\(source: .*001.txt\)"):
        TwoSteps(tmp_path).run(HERE)
    (tmp_path / "mended").touch()
    assert TwoSteps(tmp_path).run(HERE).metadata == {"first": 1, "second": 2}


def test_a_failed_workflow_has_a_page_until_it_completes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/curate", "two", "steps & more"])
    write_inputs(tmp_path, ["a b", "bad"])
    page = tmp_path / "work/unfinished.html"
    with pytest.raises(StageError):
        TwoSteps(tmp_path).run(HERE)
    html = page.read_text()
    assert "two_steps ended in first, before it was done" in html
    assert '<a href=".curator/two_steps/first/report.html">first</a>' in html
    assert (tmp_path / "work/.curator/two_steps/first/report.html").exists()
    assert "<pre>curate two 'steps & more'</pre>" in unescape(html)
    assert "& more" not in html
    assert "cannot judge bad" in html
    assert f"what is done, and how to resume: {page}" in caplog.text
    (tmp_path / "mended").touch()
    TwoSteps(tmp_path).run(HERE)
    assert not page.exists()


def test_a_workflow_refused_before_it_starts_leaves_no_page(tmp_path: Path) -> None:
    write_inputs(tmp_path, ["a b"])
    with pytest.raises(RunInterrupted):
        TwoSteps(tmp_path, stop_before="first").run(HERE)
    assert not (tmp_path / "work/unfinished.html").exists()
    with pytest.raises(RunInterrupted):
        TwoSteps(tmp_path, stop_before="second").run(HERE)
    assert "ended before it was done" in (tmp_path / "work/unfinished.html").read_text()


def test_changed_inputs_go_through_all_pipelines(tmp_path: Path) -> None:
    write_inputs(tmp_path, ["a", "b", "c"])
    TwoSteps(tmp_path).run(HERE)
    write_input(tmp_path, "001", "d e")
    result = TwoSteps(tmp_path).run(HERE)
    assert result.metadata == {"first": 1, "second": 2}
    assert len(list((tmp_path / "out").glob("part-*"))) == 4
    assert result.runs["second"].notes == [
        "retracted the output of 1 source: their inputs have changed"
    ]


class TestInputs:
    """As in one pipeline, but renamed files run again: their name may affect the output."""

    @pytest.fixture
    def finished(self, tmp_path: Path) -> Path:
        write_inputs(tmp_path, ["a", "b2", "c33"])
        (tmp_path / "work").mkdir()
        self.run(tmp_path)
        return tmp_path

    def run(self, folder: Path, **options: Any) -> WorkflowResult:
        return Between(folder).run(HERE, **options)

    def fresh(self, folder: Path) -> list[bytes]:
        for made in ("out", "work"):
            shutil.rmtree(folder / made)
        self.run(folder)
        return texts(folder / "out")

    def test_removed_ones_stop_it_before_anything_is_written(self, finished: Path) -> None:
        (finished / "in/001.txt").unlink()
        before = texts(finished / "out"), texts(finished / "work/middle")
        with pytest.raises(RemovedInputsError, match=r"in/001\.txt"):
            self.run(finished)
        assert (texts(finished / "out"), texts(finished / "work/middle")) == before

    def test_output_of_removed_ones_is_deleted_throughout(self, finished: Path) -> None:
        (finished / "in/001.txt").unlink()
        self.run(finished, removed_inputs="prune")
        found = texts(finished / "out")
        assert len(found) == 2
        assert found == self.fresh(finished)

    def test_output_of_removed_ones_is_kept_throughout(self, finished: Path) -> None:
        (finished / "in/001.txt").unlink()
        before = texts(finished / "out")
        self.run(finished, removed_inputs="keep")
        assert texts(finished / "out") == before

    def test_a_renamed_one_runs_again(self, finished: Path) -> None:
        (finished / "in/001.txt").rename(finished / "in/009.txt")
        assert self.run(finished).metadata == {"first": 1, "second": 1}
        found = texts(finished / "out")
        assert found == self.fresh(finished)

    def test_deleted_intermediate_files_do_not_stop_it(self, finished: Path) -> None:
        before = texts(finished / "out")
        min((finished / "work/middle").glob("part-*")).unlink()
        self.run(finished)
        assert texts(finished / "out") == before


def texts(folder: Path) -> list[bytes]:
    """The published texts; names depend on when intermediate files were made."""
    return sorted(path.read_bytes() for path in folder.glob("part-*"))


class Between(TwoSteps):
    """Its intermediate files are in its work directory, as in most workflows."""

    def _step(self, name: str, source: str, target: str) -> Pipeline:
        places = {"middle": "work/middle"}
        return super()._step(name, places.get(source, source), places.get(target, target))


def test_intermediate_files_may_be_deleted(tmp_path: Path) -> None:
    """Deleted by a user, not retracted by a run."""
    write_inputs(tmp_path, ["a", "b", "c"])
    TwoSteps(tmp_path).run(HERE)
    min((tmp_path / "middle").glob("part-*")).unlink()
    second = TwoSteps(tmp_path)._step("second", "middle", "out")
    home = str(tmp_path / "work/.curator/two_steps/second")
    assert second.run(HERE, run_dir=home, removed_inputs="keep").notes == [
        "inputs of 1 earlier source no longer exist: their output was kept"
    ]
    assert len(list((tmp_path / "out").glob("part-*"))) == 3


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    write_inputs(tmp_path, ["a"])
    inside, over = threading.Event(), threading.Event()

    class Waiting(TwoSteps):
        def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
            inside.set()
            over.wait(60)
            yield from super().pipelines(result)

    first = threading.Thread(target=lambda: Waiting(tmp_path).run(HERE))
    first.start()
    assert inside.wait(60)
    with pytest.raises(ResumeError) as caught:
        TwoSteps(tmp_path).run(HERE)
    over.set()
    first.join()
    message = str(caught.value)
    assert message.startswith(
        f"work directory {tmp_path}/work is in use by process {os.getpid()} on "
    )
    assert message.endswith("wait for that run to end, or give this one another work_dir")
    assert TwoSteps(tmp_path).run(HERE).did_nothing


def test_a_workflow_that_lost_its_lock_starts_no_other_pipeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if two started at the same moment on an object store, which cannot exclude one."""
    write_inputs(tmp_path, ["a"])
    monkeypatch.setattr(locks, "HEARTBEAT_S", 0.01)
    store = MemoryFileSystem()

    class Sharing(TwoSteps):
        def locked_folders(self) -> Iterator[LockedFolder]:
            yield from super().locked_folders()
            yield LockedFolder("memory://workflow-tests/shared", "library", "library_path")

        def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
            others = {"pid": 1, "host": "elsewhere", "since": 0, "renewed": time.time()}
            store.pipe_file("/workflow-tests/shared/.curator/lock", json.dumps(others).encode())
            time.sleep(0.1)
            yield from super().pipelines(result)

    workflow = Sharing(tmp_path)
    with pytest.raises(
        ResumeError, match=r"^library memory://.*/shared is in use by process 1 on e"
    ):
        workflow.run(HERE)
    store.rm("/workflow-tests", recursive=True)
    assert workflow.steps == ["first"]


def test_a_work_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    write_inputs(tmp_path, ["a"])
    (tmp_path / "work").write_text("a file")
    with pytest.raises(ResumeError) as caught:
        TwoSteps(tmp_path).run(HERE)
    assert str(caught.value) == (
        f"cannot make work directory {tmp_path}/work: Not a directory; "
        "allow writing there, or choose another place with work_dir"
    )


def test_another_workflow_in_its_work_directory_is_refused(tmp_path: Path) -> None:
    write_inputs(tmp_path, ["a"])

    class Other(TwoSteps):
        name = "others_steps"

    TwoSteps(tmp_path).run(HERE)
    for _ in range(2):  # nothing is left behind that would be in the way of the first
        with pytest.raises(ResumeError) as caught:
            Other(tmp_path).run(HERE)
        assert str(caught.value) == (
            f"the work directory {tmp_path}/work is that of the workflow 'two_steps'; give "
            "'others_steps' another one"
        )
    assert TwoSteps(tmp_path).run(HERE).did_nothing


def test_two_pipelines_of_one_name_are_refused(tmp_path: Path) -> None:
    write_inputs(tmp_path, ["a"])
    with pytest.raises(PipelineError) as caught:
        TwoSteps(tmp_path, names=("same", "same")).run(HERE)
    assert str(caught.value) == (
        "workflow 'two_steps' has two pipelines named 'same', whose runs would be kept in one "
        "place; give each its own name"
    )


class Sessions(LocalExecutor):
    """Counts its sessions, and the pipelines in and after them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.seen: list[str] = []

    @contextmanager
    def session(self) -> Iterator[None]:
        self.seen.append("begin")
        try:
            yield
        finally:
            self.seen.append("end")

    def execute(self, plan: Plan, run: Run) -> Iterator[AnyTask]:
        self.seen.append(plan.name)
        return super().execute(plan, run)


class TestSessions:
    """A workflow enters one session of its executor around all pipelines."""

    def test_around_all_pipelines(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a b", "c"])
        executor = Sessions(workers=0)
        TwoSteps(tmp_path).run(executor)
        assert executor.seen == ["begin", "first", "second", "end"]

    def test_after_an_error(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["bad"])
        executor = Sessions(workers=0)
        with pytest.raises(StageError):
            TwoSteps(tmp_path).run(executor)
        assert executor.seen == ["begin", "first", "end"]

    @pytest.mark.parametrize(
        ("name", "why"), [("sessions", "as requested"), (None, "set by CURATOR_EXECUTOR")]
    )
    def test_an_executor_that_is_chosen_by_name(
        self,
        name: str | None,
        why: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        write_inputs(tmp_path, ["a b", "c"])
        made: list[Sessions] = []

        def load(name: str) -> Any:
            assert name == "sessions"
            return lambda: made.append(Sessions(workers=0)) or made[-1]  # type: ignore[func-returns-value]

        monkeypatch.setenv("CURATOR_EXECUTOR", "sessions")
        monkeypatch.setattr(plugins().executors, "load", load)
        with caplog.at_level("INFO"):
            TwoSteps(tmp_path).run(name)
        [executor] = made
        assert executor.seen == ["begin", "first", "second", "end"]
        starts = [text for text in caplog.messages if text.startswith("running ")]
        assert len(starts) == 2
        assert all(why in text for text in starts)

    def test_worker_processes_run_all_pipelines(self, tmp_path: Path) -> None:
        write_inputs(tmp_path, ["a b", "c"])
        before = psutil.Process().children(recursive=True)
        Noting(tmp_path).run(LocalExecutor(workers=1))
        first, second = (tmp_path / "pids").iterdir()
        assert {first.suffix, second.suffix} == {".first", ".second"}
        assert first.stem == second.stem
        assert psutil.Process().children(recursive=True) == before


@dataclass
class NotePid(ProcessingStage[Task[str], Task[str]]):
    folder: Path
    ending: str

    def process(self, task: Task[str]) -> Task[str]:
        (self.folder / f"{os.getpid()}.{self.ending}").touch()
        return task


class Noting(TwoSteps):
    """Each pipeline notes its processes in file names."""

    def _step(self, name: str, source: str, target: str) -> Pipeline:
        folder = self.folder / "pids"
        folder.mkdir(exist_ok=True)
        step = super()._step(name, source, target)
        *others, writer = step.stages
        return replace(step, stages=[*others, NotePid(folder, name), writer])
