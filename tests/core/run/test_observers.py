"""Observers see what a run does, and can neither harm nor delay it."""

import logging
import threading
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest
from curator_core import (
    JsonlReader,
    JsonlWriter,
    LocalExecutor,
    Observer,
    Pipeline,
    PipelineError,
    RemovedInputsError,
    RunInfo,
    RunResult,
    Task,
    Workflow,
    WorkflowInfo,
    WorkflowResult,
    processing_stage,
)
from curator_core.model.snapshot import RunSnapshot
from curator_core.plugins.catalog import Offer
from curator_core.plugins.registry import plugins
from curator_core.run import observers

HERE = LocalExecutor(workers=0)
TASKS = [Task(n) for n in range(4)]


@processing_stage(name="double")
def double(task: Task[int]) -> Task[int]:
    if task.data == 13:
        raise ValueError("unlucky")
    return task.with_data(2 * task.data)


def pipeline(**options: Any) -> Pipeline:
    return Pipeline("trial", stages=[double], **options)


class Recorder(Observer):
    """Records all calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.runs: list[RunInfo] = []
        self.last: RunSnapshot | None = None
        self.results: list[RunResult] = []

    def prepare(self) -> None:
        self.calls.append("prepare")

    def run_started(self, run: RunInfo) -> None:
        self.calls.append("run_started")
        self.runs.append(run)

    def progress(self, run: RunInfo, snapshot: RunSnapshot) -> None:
        if self.calls[-1] != "progress":
            self.calls.append("progress")
        self.last = snapshot

    def run_ended(self, run: RunInfo, result: RunResult) -> None:
        self.calls.append("run_ended")
        self.results.append(result)
        assert run in self.runs

    def close(self) -> None:
        self.calls.append("close")


ALL = ["prepare", "run_started", "progress", "run_ended", "close"]


class TestWhatObserversSee:
    def test_a_run_from_start_to_end(self) -> None:
        recorder = Recorder()
        result = pipeline().run(HERE, TASKS, observers=[recorder])
        assert recorder.calls == ALL
        assert recorder.results == [result]
        [run] = recorder.runs
        assert (run.name, run.executor, run.run_dir) == ("trial", "LocalExecutor", None)

    def test_the_last_snapshot_is_always_seen(self) -> None:
        recorder = Recorder()
        pipeline().run(HERE, TASKS, observers=[recorder])
        assert recorder.last is not None
        assert (recorder.last.status, recorder.last.done) == ("done", 4)

    def test_a_failed_run_has_a_result_too(self) -> None:
        recorder = Recorder()
        with pytest.raises(Exception, match="unlucky"):
            pipeline(on_error="fail").run(HERE, [Task(13)], observers=[recorder])
        assert recorder.calls == ALL
        assert recorder.results[0].status == "failed"

    def test_a_stream_that_is_closed_early_has_ended(self) -> None:
        recorder = Recorder()
        with pipeline().stream(HERE, TASKS, observers=[recorder]) as stream:
            next(stream)
        assert recorder.results[0].status == "closed"

    def test_files_are_in_place_when_the_run_has_ended(self, tmp_path: Path) -> None:
        (tmp_path / "in.jsonl").write_text('{"text": "a"}\n')
        found: list[bool] = []

        class Looks(Observer):
            def run_ended(self, run: RunInfo, result: RunResult) -> None:
                found.extend(Path(file).exists() for file in result.files)

        stages = [JsonlReader(str(tmp_path / "in.jsonl")), JsonlWriter(str(tmp_path / "out"))]
        Pipeline("copy", stages=stages).run(HERE, observers=[Looks()])
        assert found == [True]

    def test_a_retry_is_one_run(self, tmp_path: Path) -> None:
        run_dir = tmp_path / "run"
        failing = pipeline(max_failures=None)
        failing.run(HERE, [Task(1), Task(13)], run_dir)
        recorder = Recorder()
        result = failing.retry(run_dir, HERE, observers=[recorder])
        assert recorder.calls == ALL
        assert recorder.results == [result]

    def test_a_run_that_is_refused_is_only_closed(self, tmp_path: Path) -> None:
        raw = tmp_path / "raw"
        raw.mkdir()
        for name in ("a", "b"):
            (raw / f"{name}.jsonl").write_text('{"text": "a"}\n')
        stages = [JsonlReader(str(raw)), JsonlWriter(str(tmp_path / "out"))]
        copy = Pipeline("copy", stages=stages)
        copy.run(HERE)
        (raw / "a.jsonl").unlink()
        recorder = Recorder()
        with pytest.raises(RemovedInputsError):
            copy.run(HERE, observers=[recorder])
        assert recorder.calls == ["prepare", "close"]

    def test_events_are_those_of_the_log_without_snapshots(self) -> None:
        kinds: list[str] = []

        class Events(Observer):
            def event(self, run: RunInfo, event: dict[str, Any]) -> None:
                kinds.append(event["event"])

        pipeline().run(HERE, TASKS, observers=[Events()])
        assert (kinds[0], kinds[-1]) == ("run_started", "run_ended")
        assert kinds.count("sources_done") == 4
        assert "snapshot" not in kinds

    def test_observers_may_be_a_generator(self) -> None:
        recorder = Recorder()
        pipeline().run(HERE, TASKS, observers=(one for one in [recorder]))
        assert recorder.calls

    def test_events_are_not_collected_for_others(self) -> None:
        stream = pipeline().stream(HERE, TASKS, observers=[Recorder()])
        assert not stream.run.events.has_listener("sources_done")
        stream.close()


class TestTrouble:
    @pytest.mark.parametrize("method", ["run_started", "progress", "run_ended", "close"])
    def test_a_failing_observer_costs_one_warning(
        self, method: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Broken(Recorder):
            pass

        def fail(self: Observer, *_: object) -> None:
            raise OSError("disk is full")

        setattr(Broken, method, fail)
        result = pipeline().run(HERE, TASKS, observers=[Broken()])
        assert result.status == "done"
        [warning] = [r for r in caplog.records if r.levelno == logging.WARNING]
        assert "Broken" in warning.message
        assert "disk is full" in warning.message

    def test_a_failing_observer_is_closed(self) -> None:
        class Broken(Recorder):
            def run_started(self, run: RunInfo) -> None:
                raise OSError

        broken = Broken()
        pipeline().run(HERE, TASKS, observers=[broken])
        assert broken.calls == ["prepare", "close"]

    def test_a_hanging_observer_delays_neither_the_run_nor_others(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        release = threading.Event()

        class Hangs(Observer):
            wait_s = 0.05

            def run_started(self, run: RunInfo) -> None:
                release.wait(60)

        recorder = Recorder()
        result = pipeline().run(HERE, TASKS, observers=[Hangs(), recorder])
        assert (result.status, recorder.calls) == ("done", ALL)
        assert "Hangs is still busy" in caplog.text
        release.set()

    def test_a_slow_observer_gets_the_latest_snapshot(self) -> None:
        seen: list[int] = []

        class Slow(Observer):
            def progress(self, run: RunInfo, snapshot: RunSnapshot) -> None:
                seen.append(snapshot.done)
                time.sleep(0.3)

        @processing_stage(name="takes_time")
        def takes_time(task: Task[int]) -> Task[int]:
            time.sleep(0.02)
            return task

        tasks = [Task(n) for n in range(40)]
        Pipeline("slow", stages=[takes_time]).run(HERE, tasks, observers=[Slow()])
        assert len(seen) < 10
        assert seen[-1] == 40

    def test_a_slow_observer_misses_events_with_a_warning(
        self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(observers, "MOST_WAITING", 2)
        release = threading.Event()

        class Slow(Observer):
            def run_started(self, run: RunInfo) -> None:
                release.wait(60)

            def event(self, run: RunInfo, event: dict[str, Any]) -> None: ...

        with pipeline().stream(HERE, TASKS, observers=[Slow()]) as stream:
            for _ in stream:
                if "Slow is slow and misses events" in caplog.text:
                    release.set()
        assert release.is_set()

    def test_an_observer_can_refuse_a_run_before_it_touches_anything(self, tmp_path: Path) -> None:
        class Refuses(Observer):
            def prepare(self) -> None:
                raise PipelineError("port 9464 is taken")

        with pytest.raises(PipelineError, match="port 9464 is taken"):
            pipeline().run(HERE, TASKS, tmp_path / "run", observers=[Refuses()])
        assert not (tmp_path / "run").exists()


class Installed(Recorder):
    """An observer that a plugin registers."""

    made: ClassVar[list["Installed"]] = []

    def __init__(self) -> None:
        super().__init__()
        Installed.made.append(self)


class Display(Installed):
    @property
    def claims_terminal(self) -> bool:
        return True


class BrokenPlugin(Observer):
    def __init__(self) -> None:
        raise RuntimeError("no such service")


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Registers observers of this file like an installed plugin."""
    catalog = type(plugins().observers)("observer")
    monkeypatch.setattr(plugins(), "observers", catalog)
    Installed.made = []

    def install(kind: type[Observer]) -> None:
        place = f"{__name__}:{kind.__name__}"
        catalog.add(Offer(f"trial.{kind.__name__.lower()}", place, "trial", "trial", "1.0"))

    return install


class TestInstalledObservers:
    def test_each_run_gets_a_new_one(self, install: Any) -> None:
        install(Installed)
        for _ in range(2):
            pipeline().run(HERE, TASKS)
        assert [one.calls for one in Installed.made] == [ALL, ALL]

    def test_one_that_claims_the_terminal_replaces_the_log_lines(
        self, install: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        install(Display)
        with caplog.at_level(logging.INFO, "curator_core"):
            pipeline().run(HERE, TASKS)
        assert Installed.made[0].calls == ALL
        assert "4 sources in" not in caplog.text

    @pytest.mark.parametrize("how", ["option", "variable"])
    def test_progress_can_be_turned_off(
        self,
        install: Any,
        caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch,
        how: str,
    ) -> None:
        install(Display)
        if how == "variable":
            monkeypatch.setenv("CURATOR_PROGRESS", "0")
        with caplog.at_level(logging.INFO, "curator_core"):
            pipeline().run(HERE, TASKS, progress=how != "option")
        assert [one.calls for one in Installed.made] == [[]]
        assert "4 sources in" not in caplog.text

    def test_one_that_does_not_load_costs_a_warning(
        self, install: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        install(BrokenPlugin)
        assert pipeline().run(HERE, TASKS).status == "done"
        assert "trial.brokenplugin" in caplog.text
        assert "no such service" in caplog.text


class Twice(Workflow):
    name = "twice"

    def __init__(self, folder: Path, text: str) -> None:
        self._folder = folder
        (folder / "in.jsonl").write_text(text)

    @property
    def work_dir(self) -> str:
        return str(self._folder / "work")

    def pipelines(self, result: WorkflowResult) -> Any:
        stages = [JsonlReader(str(self._folder / "in.jsonl")), JsonlWriter(f"{self.work_dir}/out")]
        yield Pipeline("copy", stages=stages)


class WorkflowEnd(Observer):
    def __init__(self) -> None:
        self.ends: list[tuple[str, str, list[str]]] = []

    def workflow_ended(self, workflow: WorkflowInfo, result: WorkflowResult) -> None:
        error = type(workflow.error).__name__ if workflow.error else ""
        self.ends.append((workflow.name, error, list(result.runs)))


class TestWorkflows:
    def test_its_end_is_seen(self, tmp_path: Path) -> None:
        end = WorkflowEnd()
        Twice(tmp_path, '{"text": "a"}\n').run(HERE, observers=[end])
        assert end.ends == [("twice", "", ["copy"])]

    def test_its_failure_is_seen(self, tmp_path: Path) -> None:
        end = WorkflowEnd()
        with pytest.raises(Exception, match=r"."):
            Twice(tmp_path, "").run(HERE, observers=[end])
        [(name, error, runs)] = end.ends
        assert (name, bool(error), runs) == ("twice", True, [])
