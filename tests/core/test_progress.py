"""Progress: what is counted, when it is shown, and that it never gets in the way."""

import io
import json
import logging
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from curator_core import DocumentBatch, LocalExecutor, Pipeline, processing_stage
from curator_core.cli.screens import logged
from curator_core.model.records import StageCounts
from curator_core.model.reports import CallReport
from curator_core.model.snapshot import Pulse, StagePulse
from curator_core.model.usage import Usage
from curator_core.progress import Attendance, Manner, attach, manner
from curator_core.progress.counting import Meter, Progress, StageProgress
from curator_core.progress.displays import Heartbeat, LiveTable, closing, drawn, heartbeat
from curator_core.run.run import ActiveRun
from curator_core.run.snapshot import Pulsing
from rich.console import Console

BATCHES = [DocumentBatch.from_pylist([{"text": "a"}, {"text": "b"}]) for _ in range(4)]


@processing_stage(name="first_only")
def first_only(task: DocumentBatch) -> object:
    return task.keep([True, False], "not the first")


def pipeline() -> Pipeline:
    return Pipeline("trial", stages=[first_only])


def at(seconds: float, status: str = "running", **facts: Any) -> Pulse:
    """A pulse of a run with one stage."""
    counts = facts.pop("counts", StageCounts())
    stage = StagePulse(0, "first_only", counts, counts, Usage())
    numbers = {"done": 0, "skipped": 0, "failed": 0, "open": 0, "left": None, **facts}
    return Pulse(0.0, "trial", "Local", status, seconds, stages=(stage,), **numbers)


def told(attendance: Attendance, pulse: Pulse) -> None:
    attendance.hear({"event": "pulse", "pulse": pulse})


class Shown:
    """A display that remembers."""

    def __init__(self, every: float = 1.0, error: Exception | None = None) -> None:
        self.every = every
        self.error = error
        self.updates: list[Progress] = []
        self.closings: list[tuple[Progress, bool]] = []

    def update(self, progress: Progress) -> None:
        if self.error:
            raise self.error
        self.updates.append(progress)

    def close(self, progress: Progress, *, with_line: bool) -> None:
        self.closings.append((progress, with_line))


@pytest.fixture
def run() -> Iterator[ActiveRun]:
    """A run under way, of which nothing has been asked yet."""
    with manner(Manner(shown=False)):
        stream = pipeline().stream(LocalExecutor(workers=0), BATCHES)
        yield stream.run
        stream.close()


def walk(run: ActiveRun, hear: Callable[[dict[str, Any]], None]) -> None:
    run.events.listen(hear, "pulse")
    run.start("Local", "given")
    for _ in LocalExecutor(workers=0).execute(run.plan, run):
        pass
    run.finish()


def test_every_run_tells_how_it_began_and_how_it_ended(run: ActiveRun) -> None:
    seen: list[Pulse] = []
    walk(run, lambda event: seen.append(event["pulse"]))
    first, last = seen[0], seen[-1]
    assert (first.status, first.done, first.stages[0].counts.items_in) == ("running", 0, 0)
    assert (last.status, last.done, last.left, last.open) == ("done", 4, 0, 0)
    [stage] = last.stages
    assert (stage.name, stage.counts.items_in, stage.counts.items_dropped) == ("first_only", 8, 4)
    assert stage.usage.tasks == 4
    assert stage.usage.seconds > 0
    assert last.time >= last.last_progress >= first.time


def test_a_pulse_is_the_same_after_it_was_written_down(run: ActiveRun) -> None:
    seen: list[Pulse] = []
    walk(run, lambda event: seen.append(event["pulse"]))
    [pulse] = seen[-1:]
    read = Pulse.from_json(json.loads(json.dumps(pulse.to_json())))
    assert read.to_json() == pulse.to_json()
    assert Meter().read(read) == Meter().read(pulse)


def test_what_workers_have_in_hand_counts(run: ActiveRun) -> None:
    run.under_way["0"] = {0: StageCounts(tasks_in=1, items_in=7)}
    [stage] = Pulsing(run).taken().stages
    assert (stage.counts.items_in, stage.settled.items_in) == (7, 0)


def test_what_open_sources_have_reported_counts(run: ActiveRun) -> None:
    """A source of a thousand tasks moves the table long before it is done."""
    first = run.plan.stages[0]
    task = next(run.sources())
    report = CallReport()
    report.part(task.lineage).of(first.index).items_in = 5
    assert run.absorb(report, [task]) == []
    [stage] = Pulsing(run).taken().stages
    assert (stage.counts.items_in, stage.settled.items_in) == (5, 0)
    run.again(next(iter(task.lineage))[0], "its worker died")
    assert Pulsing(run).taken().stages[0].counts.items_in == 0


def test_pulses_cost_no_more_than_a_hundredth(run: ActiveRun) -> None:
    """Whoever hears them may be slow; then there are fewer."""
    heard: list[float] = []

    def hear(_: object) -> None:
        heard.append(time.monotonic())
        time.sleep(0.01)

    run.events.listen(hear, "pulse")
    pulsing = Pulsing(run)
    began = time.monotonic()
    while len(heard) < 2:
        pulsing.tick()
    assert heard[1] - began >= 1.0


def test_progress_is_when_something_moved(run: ActiveRun) -> None:
    pulsing = Pulsing(run)
    first = pulsing.taken().last_progress
    assert pulsing.taken().last_progress == first
    run.usages.of(0).took(0.1)
    assert pulsing.taken().last_progress > first


def test_a_meter_counts_and_tells_rates() -> None:
    meter = Meter()
    meter.read(at(0.0, done=2))
    progress = meter.read(at(4.0, done=4, skipped=3, open=1, left=5, counts=EIGHT))
    assert (progress.done, progress.total, progress.seconds) == (7, 13, 4.0)
    assert (progress.rate, progress.stages[0].rate) == (0.5, 2.0)


EIGHT = StageCounts(tasks_in=4, items_in=8)


def test_what_is_taken_back_makes_no_negative_rate() -> None:
    meter = Meter()
    meter.read(at(0.0, counts=EIGHT))
    assert meter.read(at(1.0)).stages[0].rate == 0.0


def test_rates_are_those_of_the_last_half_minute() -> None:
    meter = Meter()
    done = 0
    for second in range(121):
        progress = meter.read(at(float(second), done=done))
        done += 5 if second < 60 else 1
    assert progress.rate == pytest.approx(1.0, rel=0.05)


def test_hearing_often_shows_seldom() -> None:
    display = Shown(every=1.0)
    attendance = Attendance(display)
    for number in range(5500):
        told(attendance, at(number / 1000))
    assert len(display.updates) == 5


def test_nothing_is_shown_of_what_is_over_at_once() -> None:
    display = Shown(every=0.1)
    attendance = Attendance(display)
    told(attendance, at(0.4))
    assert display.updates == []
    attendance.close()
    assert [with_line for _, with_line in display.closings] == [False]


def test_the_end_of_a_run_closes_it_once() -> None:
    display = Shown()
    attendance = Attendance(display)
    told(attendance, at(0.0))
    assert display.closings == []
    told(attendance, at(9.0, "done", done=3))
    attendance.close()
    [(progress, with_line)] = display.closings
    assert (progress.done, with_line) == (3, True)
    told(attendance, at(11.0, "done", done=3))
    assert (display.updates, len(display.closings)) == ([], 1)


def test_a_broken_display_breaks_no_run() -> None:
    display = Shown(error=OSError("the terminal is gone"))
    attendance = Attendance(display)
    for number in range(3):
        told(attendance, at(2.0 * number))
    attendance.close()
    assert display.closings == []


@pytest.mark.parametrize("value", ["0", "1"])
def test_a_variable_turns_it_off(
    run: ActiveRun, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("CURATOR_PROGRESS", value)
    with manner(Manner()):
        attendance = attach(run)
    assert (attendance is None) == (value == "0")
    assert run.events.are_heard("pulse") == (value != "0")


def test_a_run_in_python_closes_with_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "curator_core"):
        pipeline().run(LocalExecutor(workers=0), BATCHES)
    last = caplog.messages[-1]
    assert last.startswith("trial: 4 sources in 0.")
    assert last.endswith("; 8 read, 4 dropped, 0 failed, 4 given")


def test_a_run_in_python_says_nothing_to_nobody(capfd: pytest.CaptureFixture[str]) -> None:
    pipeline().run(LocalExecutor(workers=0), BATCHES)
    assert capfd.readouterr() == ("", "")


def test_heartbeats_reach_people_who_keep_no_log(capfd: pytest.CaptureFixture[str]) -> None:
    display = Heartbeat()
    display.update(WELL)
    display.close(WELL, with_line=True)
    assert capfd.readouterr().err.splitlines() == [heartbeat(WELL), closing(WELL)]


def test_failures_are_told_even_where_nobody_keeps_a_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "curator_core")
    for progress in (WELL, PROGRESS):
        Heartbeat().close(progress, with_line=True)
    assert caplog.messages == [closing(PROGRESS)]


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


def test_a_heartbeat_says_it_all_in_a_line() -> None:
    assert heartbeat(PROGRESS) == (
        "clean: 30 of 100 sources, 0.5/s, about 2 min 20 s left; "
        "9,000 read, 1,500 dropped, 3 failed, 7,500 given"
    )
    writer = StageProgress("write", WRITING, writes=True)
    written = replace(PROGRESS, stages=[PROGRESS.stages[0], writer])
    assert heartbeat(written).endswith("1,500 dropped, 3 failed, 8,000 written")
    early = Progress("clean", seconds=30.0, done=0, open=2)
    assert heartbeat(early) == "clean: 0 sources done, 2 under way, 30 s so far; nothing yet"


def test_the_table_has_a_row_for_each_stage_and_the_whole_below() -> None:
    lines = printed(PROGRESS, height=24)
    rows = [line.split() for line in lines[:3]]
    assert rows[0] == ["stage", "in", "out", "dropped", "failed", "rate", "queue"]
    assert rows[1] == ["read", "30", "9,000", "0", "3", "0.5/s", "0"]
    assert rows[2] == ["write", "8,000", "7,500", "1,500", "0", "120/s", "3"]
    assert lines[3] == (
        "clean: 30 of 100 sources · 1 min 5 s · 0.5/s · about 2 min 20 s left · 1 worker replaced"
    )


def test_on_a_narrow_terminal_the_figures_stay_whole() -> None:
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
        said = read_all(ours)
    assert process.returncode == (0 if ending == "well" else 1)
    assert said.count("\x1b[?25l") == said.count("\x1b[?25h") == 1
    if ending == "well":
        assert "slow: 8 of 8 sources" in said
    else:
        assert said.index("\x1b[?25h") < said.index("StageError")


def read_all(handle: int) -> str:
    said = b""
    while True:
        try:
            said += os.read(handle, 4096)
        except OSError:  # its end, as Linux puts it
            os.close(handle)
            return said.decode()


def test_one_table_at_a_time(run: ActiveRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with manner(Manner(with_line=False)):
        first, second = attach(run), attach(run)
        assert first is not None
        assert second is not None
        assert isinstance(first.display, LiveTable)
        assert isinstance(second.display, Heartbeat)
        first.close()
        third = attach(run)
        assert third is not None
        assert isinstance(third.display, LiveTable)
        third.close()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_importing_it_imports_no_rich() -> None:
    from curator_core.testing import modules_loaded_by

    assert "rich" not in modules_loaded_by("import curator_core.progress.attending")


def test_what_a_command_logged_is_not_let_through_after_it() -> None:
    log = logging.getLogger("curator_core")
    with logged(logging.INFO):
        assert log.isEnabledFor(logging.INFO)
    assert not log.isEnabledFor(logging.INFO)
