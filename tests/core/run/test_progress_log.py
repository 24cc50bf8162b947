"""Progress as log lines, and as lines on stderr if logging is not set up."""

import logging
from dataclasses import replace

import pytest
from curator_core import DocumentBatch, LocalExecutor, Pipeline, RunInfo, processing_stage
from curator_core.model.progress import Progress, StageProgress
from curator_core.model.records import StageCounts
from curator_core.model.snapshot import RunSnapshot, StageSnapshot
from curator_core.model.usage import Usage
from curator_core.run.progress_log import ProgressLog, closing_line, progress_line

BATCHES = [DocumentBatch.from_pylist([{"text": "a"}, {"text": "b"}]) for _ in range(4)]
RUN = RunInfo("trial", "LocalExecutor", None)


@processing_stage(name="first_only")
def first_only(task: DocumentBatch) -> object:
    return task.keep([True, False], "not the first")


def pipeline() -> Pipeline:
    return Pipeline("trial", stages=[first_only])


def at(seconds: float, status: str = "running", *, done: int = 3, failed: int = 0) -> RunSnapshot:
    """A snapshot of a run with one stage."""
    counts = StageCounts(tasks_in=4, items_in=8, items_failed=failed, items_out=8 - failed)
    stage = StageSnapshot(0, "first_only", counts, counts, Usage())
    return RunSnapshot(0.0, "trial", "Local", status, seconds, done, 0, 0, 0, None, (stage,))


def run_of(seconds: int, lines: ProgressLog, **end: int) -> None:
    for second in range(seconds):
        lines.progress(RUN, at(float(second)))
    lines.progress(RUN, at(float(seconds), "done", **end))


READING = StageCounts(tasks_in=30, items_in=30, items_out=9000, items_rejected=3)
WRITING = StageCounts(tasks_in=27, items_in=8000, items_out=7500, items_dropped=1500)
PROGRESS = Progress(
    name="clean",
    seconds=65.0,
    done=30,
    open=2,
    total=100,
    rate=0.5,
    restarts=1,
    stages=[
        StageProgress("read", READING, rate=0.5),
        StageProgress("write", WRITING, rate=120.0, waiting=3),
    ],
)
WELL = Progress("well", 1.0, 1, 0, stages=[StageProgress("write", WRITING)])


def test_a_line_has_sources_rate_time_left_and_records() -> None:
    assert progress_line(PROGRESS) == (
        "clean: 30 of 100 sources, 0.5/s, about 2 min 20 s left; "
        "9,000 read, 1,500 dropped, 3 failed, 7,500 given"
    )
    counts = StageCounts(tasks_in=27, items_in=8000, items_out=27, files_out=27)
    writer = StageProgress("write", counts, writes=True)
    written = replace(PROGRESS, stages=[PROGRESS.stages[0], writer])
    assert progress_line(written).endswith("0 dropped, 3 failed, 8,000 written")
    early = Progress("clean", seconds=30.0, done=0, open=2)
    assert progress_line(early) == "clean: 0 sources done, 2 under way, 30 s so far; nothing yet"


def test_the_closing_line_has_the_duration() -> None:
    assert (
        closing_line(WELL)
        == "well: 1 source in 1.0 s; 8,000 read, 1,500 dropped, 0 failed, 7,500 given"
    )


def test_a_short_run_logs_its_closing_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "curator_core"):
        pipeline().run(LocalExecutor(workers=0), BATCHES)
    last = caplog.messages[-1]
    assert last.startswith("trial: 4 sources in 0.")
    assert last.endswith("; 8 read, 4 dropped, 0 failed, 4 given")


def test_a_short_run_without_logging_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    pipeline().run(LocalExecutor(workers=0), BATCHES)
    assert capfd.readouterr() == ("", "")


def test_without_logging_lines_go_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    run_of(70, ProgressLog())
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 3  # after 30 and 60 seconds, and at the end
    assert all(line.startswith("trial: 3 sources") for line in lines)
    assert "in 1 min 10 s" in lines[-1]


def test_with_logging_lines_go_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "curator_core"):
        run_of(100, ProgressLog(interval_s=10))
    assert len(caplog.messages) == 10


def test_failures_are_a_warning_even_without_logging(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "curator_core")
    run_of(1, ProgressLog())
    run_of(1, ProgressLog(), failed=2)
    [message] = caplog.messages
    assert "2 failed" in message


@pytest.mark.parametrize(
    ("lines", "done"), [(ProgressLog(closing_line=False), 3), (ProgressLog(), 0)]
)
def test_there_may_be_no_closing_line(
    lines: ProgressLog, done: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "curator_core"):
        run_of(1, lines, done=done)
    assert caplog.messages == []


def test_every_part_of_a_retry_starts_at_zero(caplog: pytest.LogCaptureFixture) -> None:
    lines = ProgressLog(closing_line=False)
    with caplog.at_level(logging.INFO, "curator_core"):
        run_of(32, lines)
        run_of(32, lines)
    assert len(caplog.messages) == 2
