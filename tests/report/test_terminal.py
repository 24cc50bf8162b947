"""Progress on a terminal: a table while a run runs, and a terminal that works afterwards."""

import io
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from typing import TypeAlias

import pytest
from curator_core import DocumentBatch, LocalExecutor, Pipeline, RunInfo, processing_stage
from curator_core.model.progress import Progress, StageProgress
from curator_core.model.records import StageCounts
from curator_core.model.snapshot import RunSnapshot
from curator_core.run.progress_log import ProgressLog
from curator_core.testing import modules_loaded_by
from curator_report.terminal import TerminalProgress, drawn, transient_progress
from rich.console import Console

RUN = RunInfo("trial", "LocalExecutor", None)


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


def test_the_table_has_a_row_per_stage_and_the_run_below() -> None:
    lines = printed(PROGRESS, height=24)
    rows = [line.split() for line in lines[:3]]
    assert rows[0] == ["stage", "in", "out", "dropped", "failed", "rate", "queue"]
    assert rows[1] == ["read", "30", "9,000", "0", "3", "0.5/s", "0"]
    assert rows[2] == ["write", "8,000", "7,500", "1,500", "0", "120/s", "3"]
    assert lines[3] == (
        "clean: 30 of 100 sources · 1 min 5 s · 0.5/s · about 2 min 20 s left · 1 worker replaced"
    )


def test_on_a_narrow_terminal_names_are_shortened_not_numbers() -> None:
    lines = printed(PROGRESS, height=24, width=35)
    assert lines[0].split() == ["sta…", "in", "out", "dropped", "failed"]
    assert lines[2].split() == ["wri…", "8,000", "7,500", "1,500", "0"]
    assert max(map(len, lines)) <= 35


def test_the_table_fits_the_terminal() -> None:
    stages = [StageProgress(f"stage_{number}", StageCounts()) for number in range(40)]
    lines = printed(Progress("long", 1.0, 0, 0, stages=stages), height=20)
    assert len(lines) <= 20
    assert "… 25 more stages" in lines[-2]


def printed(progress: Progress, height: int, width: int = 100) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(drawn(progress, height, width))
    file = console.file
    assert isinstance(file, io.StringIO)
    return [line.rstrip() for line in file.getvalue().splitlines()]


SLOW = """
import sys, time
from curator_core import DocumentBatch, LocalExecutor, Pipeline, processing_stage

@processing_stage(name="slow")
def slow(task: DocumentBatch) -> DocumentBatch:
    time.sleep(0.15)
    if sys.argv[1] == "fails" and task.data.column("n")[0].as_py() == 6:
        raise LookupError
    return task

tasks = [DocumentBatch.from_pylist([{"n": n}]) for n in range(8)]
Pipeline("slow", stages=[slow], on_error="fail").run(LocalExecutor(workers=0), tasks)
"""


@pytest.mark.parametrize("ending", ["well", "fails"])
def test_a_terminal_gets_a_table_and_its_cursor_back(ending: str) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, ending], stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        output = read_all(ours)
    assert process.returncode == (0 if ending == "well" else 1)
    assert output.count("\x1b[?25l") == output.count("\x1b[?25h") == 1
    if ending == "well":
        assert "slow: 8 of 8 sources" in output
    else:
        assert output.index("\x1b[?25h") < output.index("StageError")


def read_all(handle: int) -> str:
    output = b""
    while True:
        try:
            output += os.read(handle, 4096)
        except OSError:  # its end, as Linux puts it
            os.close(handle)
            return output.decode()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def at(seconds: float, status: str = "running", done: int = 3) -> RunSnapshot:
    return RunSnapshot(0.0, "trial", "Local", status, seconds, done, 0, 0, 0, None, ())


Open: TypeAlias = Callable[[], Terminal]


@pytest.fixture
def open_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    """Call it in the test: pytest itself sets stderr between a fixture and its test."""

    def open_terminal() -> Terminal:
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setenv("TERM", "xterm")
        return terminal

    return open_terminal


class TestTheTerminal:
    def test_has_one_table_at_a_time(self, open_terminal: Open) -> None:
        open_terminal()
        first, second = TerminalProgress(), TerminalProgress()
        first.prepare()
        assert first.claims_terminal
        assert not second.claims_terminal
        first.close()
        assert second.claims_terminal

    def test_is_left_to_log_lines_if_it_is_dumb(
        self, open_terminal: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        open_terminal()
        monkeypatch.setenv("TERM", "dumb")
        assert not TerminalProgress().claims_terminal

    def test_shows_no_table_for_a_short_run(self, open_terminal: Open) -> None:
        terminal = open_terminal()
        display = TerminalProgress()
        display.prepare()
        display.progress(RUN, at(0.4))
        assert terminal.getvalue() == ""
        display.progress(RUN, at(0.4, "done"))
        display.close()
        assert terminal.getvalue().startswith("trial: 3 sources in 0.4 s")

    def test_shows_no_line_if_nothing_was_done(self, open_terminal: Open) -> None:
        terminal = open_terminal()
        display = TerminalProgress()
        display.prepare()
        display.progress(RUN, at(0.4, "done", done=0))
        display.close()
        assert terminal.getvalue() == ""

    def test_gets_its_cursor_back_without_a_last_snapshot(self, open_terminal: Open) -> None:
        terminal = open_terminal()
        display = TerminalProgress()
        display.prepare()
        display.progress(RUN, at(9.0))
        display.close()
        shown = terminal.getvalue()
        assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1

    def test_shows_nothing_of_a_second_run(self, open_terminal: Open) -> None:
        terminal = open_terminal()
        first, second = TerminalProgress(), TerminalProgress()
        first.prepare()
        second.prepare()
        second.progress(RUN, at(9.0))
        second.close()
        assert terminal.getvalue() == ""
        first.close()


def test_a_pipeline_in_python_replaces_its_log_lines_by_the_table(
    open_terminal: Open, caplog: pytest.LogCaptureFixture
) -> None:
    terminal = open_terminal()

    @processing_stage(name="same")
    def same(task: DocumentBatch) -> DocumentBatch:
        return task

    batches = [DocumentBatch.from_pylist([{"text": "a"}])]
    with caplog.at_level("INFO", "curator_core"):
        Pipeline("trial", stages=[same]).run(LocalExecutor(workers=0), batches)
    assert "trial: 1 source in 0." in terminal.getvalue()
    assert "1 source" not in caplog.text


class TestTransientProgress:
    def test_is_a_table_on_a_terminal(self, open_terminal: Open) -> None:
        open_terminal()
        [display] = transient_progress()
        assert isinstance(display, TerminalProgress)

    def test_is_log_lines_elsewhere(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        [display] = transient_progress()
        assert isinstance(display, ProgressLog)

    def test_can_be_turned_off(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CURATOR_PROGRESS", "0")
        assert transient_progress() == []


def test_importing_it_imports_no_rich() -> None:
    assert "rich" not in modules_loaded_by("import curator_report.terminal")
