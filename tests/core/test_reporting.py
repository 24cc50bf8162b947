"""Reporting: figures, reasons, the closing summary, and the page."""

import io
from html.parser import HTMLParser
from pathlib import Path

import pytest
from curator_core import DocumentBatch, LocalExecutor, Pipeline, RunResult, processing_stage
from curator_core.errors import InputError, StageError
from curator_core.io.writers import JsonlWriter
from curator_core.model.records import QuarantineRecord, StageCounts
from curator_core.reporting import Summary, drop_reasons, failures_of, print_summary, stage_table
from curator_core.reporting.directories import read_run
from curator_core.reporting.figures import counted, duration, rate, share, shortened, size
from curator_core.reporting.pages import render, write_report
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.6, "1 min 0 s"), (125, "2 min 5 s"),
     (3 * 3600 + 1230, "3 h 20 min"), (2 * 86400 + 3700, "2 d 1 h"), (-1, "0.0 s")],
)  # fmt: skip
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_rates_counts_and_sizes() -> None:
    assert [rate(0), rate(0.31), rate(9.96), rate(1234.5)] == ["", "0.3/s", "10/s", "1,234/s"]
    assert [counted(0, "file"), counted(1, "file"), counted(1200, "file")] == [
        "0 files",
        "1 file",
        "1,200 files",
    ]
    assert [size(812), size(3_400_000), size(2e15)] == ["812 B", "3.4 MB", "2000.0 TB"]


def test_a_share_never_rounds_something_to_nothing_or_all() -> None:
    assert [share(0, 9), share(1, 8), share(1, 5000), share(4999, 5000), share(9, 9)] == [
        "0.0 %",
        "12.5 %",
        "< 0.1 %",
        "> 99.9 %",
        "100.0 %",
    ]
    assert share(1, 0) == ""


@given(st.text(), st.integers(1, 50))
def test_a_shortened_text_is_one_short_line(text: str, longest: int) -> None:
    line = shortened(text, longest)
    assert len(line) <= longest
    assert "\n" not in line


def record(reason: str = "bad", stage: str = "parse", **facts: object) -> QuarantineRecord:
    return QuarantineRecord("id", stage, 1, reason, **facts)  # type: ignore[arg-type]


def test_failures_are_gathered_by_stage_and_reason() -> None:
    found = failures_of(
        [record("a"), record("b", items=5), record("a", stage="other"), record("a")]
    )
    assert [(f.stage, f.reason, f.items) for f in found] == [
        ("parse", "b", 5),
        ("parse", "a", 2),
        ("other", "a", 1),
    ]


@pytest.mark.parametrize(
    ("facts", "place"),
    [
        ({}, ""),
        ({"source": "a.jsonl"}, "a.jsonl"),
        ({"source": "a.jsonl", "where": "line 3"}, "a.jsonl, line 3"),
        ({"source": "a.jsonl", "where": "a.jsonl:line 3"}, "a.jsonl:line 3"),
    ],
)
def test_a_failure_names_its_first_place_once(facts: dict[str, object], place: str) -> None:
    [failure] = failures_of([record(**facts)])
    assert failure.first_place == place


def test_drop_reasons_come_in_the_order_of_stages() -> None:
    stages = {"b": StageCounts(reasons={"x": 1, "y": 5}), "a": StageCounts(reasons={"z": 9})}
    assert drop_reasons(stages) == [("b", "y", 5), ("b", "x", 1), ("a", "z", 9)]


def printed(summary: Summary, width: int = 100) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    print_summary(console, summary)
    file = console.file
    assert isinstance(file, io.StringIO)
    return [line.rstrip() for line in file.getvalue().splitlines()]


RESULT = RunResult(
    stages={
        "read": StageCounts(items_in=2, items_out=90, items_rejected=1),
        "clean": StageCounts(items_in=90, items_out=60, items_dropped=30, reasons={"short": 30}),
        "write": StageCounts(items_in=60, items_out=2),
    },
    seconds=12.4,
    sources_done=2,
    files=["/out/a.jsonl", "/out/b.jsonl"],
    dropped_files=["/out/c.jsonl", "/dropped/a.jsonl", "/dropped/b.jsonl"],
    run_dir="/out/.curator/my run",
    quarantined=[record("not JSON", "read", source="in.jsonl", where="line 7", payload=b"x")],
    worker_restarts={"was killed by SIGKILL": 2},
    notes=["something else"],
)


def test_a_summary_says_what_came_of_it_where_it_is_and_what_is_next() -> None:
    assert [" ".join(line.split()) for line in printed(Summary("clean_up", RESULT, "r.html"))] == [
        "clean_up is done: 2 sources in 12 s",
        "",
        "stage in out dropped failed why",
        "read 2 90 0 1 not JSON",
        "clean 90 60 30 0 short",
        "write 60 2 0 0",
        "",
        "quarantined 1, written down in /out/.curator/my run/quarantine",
        "1 in read: not JSON (in.jsonl, line 7)",
        "files 2 files in /out",
        "dropped 2 files in /dropped",
        "1 file in /out",
        "workers 2 times a worker was killed by SIGKILL and was replaced",
        "note something else",
        "report r.html",
        "next pipeline.retry('/out/.curator/my run')",
    ]


def test_a_narrow_terminal_costs_reasons_not_figures() -> None:
    lines = printed(Summary("clean_up", RESULT), width=48)
    [row] = [line for line in lines if line.startswith("clean ")]
    assert row.split()[:5] == ["clean", "90", "60", "30", "0"]


def test_a_long_pipeline_still_has_a_short_summary() -> None:
    stages = {f"stage_{n}": StageCounts(items_in=9, items_out=9) for n in range(60)}
    stages["stage_33"] = StageCounts(items_in=9, items_out=1, items_dropped=8)
    lines = printed(Summary("long", RunResult(stages=stages, sources_done=1)))
    assert len(lines) < 30
    assert any(line.startswith("stage_33 ") for line in lines)
    assert "… 44 more stages" in lines


@pytest.mark.parametrize(
    ("facts", "is_advised"),
    [
        ({"payload": b"x"}, True),
        ({"payload": b"x", "damaged": True}, False),
        ({"payload": None}, False),
        ({"whole_task": False, "payload": b"x"}, False),
        ({"whole_task": False, "subtask_id": "t.1r0"}, True),
        ({"whole_task": False, "subtask_id": "t.1r0", "damaged": True}, False),
    ],
)
def test_a_retry_is_advised_only_where_it_may_help(
    facts: dict[str, object], is_advised: bool
) -> None:
    result = RunResult(quarantined=[record(**facts)], run_dir="/run", sources_done=1)
    assert any("retry" in line for line in printed(Summary("x", result))) is is_advised


def test_a_failed_run_names_what_redoes_its_quarantine_as_well() -> None:
    found = [record(payload=b"x")]
    failed = RunResult(quarantined=found, run_dir="/run", sources_done=1, status="failed")
    again, retry = printed(Summary("x", failed))[-2:]
    assert "run the same command again" in again
    assert "pipeline.retry('/run')" in retry


def test_a_finished_run_with_damaged_inputs_says_to_mend_them() -> None:
    found = [record(payload=b"x", damaged=True)]
    failed = RunResult(quarantined=found, run_dir="/run", status="failed", is_complete=True)
    assert "fixed" in printed(Summary("x", failed))[-1]


def test_markup_in_names_is_only_text() -> None:
    stages = {"[red]stage[/red]": StageCounts(items_in=1, items_out=1)}
    lines = printed(Summary("[bold]x", RunResult(stages=stages, sources_done=1)))
    assert lines[0].startswith("[bold]x is done")
    assert lines[3].startswith("[red]stage[/red]")


def test_all_rows_of_a_table() -> None:
    stages = {f"stage_{n}": StageCounts() for n in range(60)}
    assert stage_table(stages, most_rows=None).row_count == 60


@processing_stage(name="<picky>")
def picky(task: DocumentBatch) -> object:
    if "refused" in task.data.column("text").to_pylist():
        raise ValueError("<script>alert('no')</script>")
    return task.keep([text != "short" for text in task.data.column("text").to_pylist()], "a < b")


def finished(folder: Path, *texts: str, on_error: str = "quarantine") -> str:
    tasks = [DocumentBatch.from_pylist([{"text": text}]) for text in texts]
    line = Pipeline(
        "trial",
        stages=[picky, JsonlWriter(str(folder))],
        on_error=on_error,  # type: ignore[arg-type]
        max_failures=None,
    )
    result = line.run(LocalExecutor(workers=0), tasks)
    assert result.run_dir is not None
    return result.run_dir


def test_a_run_directory_tells_what_the_result_told(tmp_path: Path) -> None:
    found = read_run(finished(tmp_path / "out", "long", "short", "refused"))
    assert (found.name, found.state, found.result.sources_done) == ("trial", "done", 3)
    counts = found.result.stages["<picky>"]
    assert (counts.items_in, counts.items_out, counts.items_dropped) == (3, 1, 1)
    assert [r.reason for r in found.result.quarantined] == [
        "ValueError: <script>alert('no')</script>"
    ]
    assert len(found.result.files) == 1


def test_a_run_that_failed_says_so(tmp_path: Path) -> None:
    with pytest.raises(StageError):
        finished(tmp_path / "out", "long", "refused", on_error="fail")
    found = read_run(str(tmp_path / "out/.curator/trial"))
    assert (found.state, found.result.sources_done) == ("failed", 1)


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is no run directory: there is no run\.json in it"):
        read_run(str(tmp_path))


class Texts(HTMLParser):
    """The tags and the texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not {name for name, _ in attrs} & {"src", "href", "onclick"}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_page_shows_everything_escaped_and_needs_no_network(tmp_path: Path) -> None:
    run_dir = finished(tmp_path / "out", "long", "short", "refused")
    path = write_report(run_dir)
    page = Path(path).read_text()
    seen = Texts(page)
    assert "script" not in seen.tags
    assert "link" not in seen.tags
    text = " ".join(seen.texts)
    assert "trial is done: 3 sources in " in text
    assert "<picky>: a < b" in text
    assert "ValueError: <script>alert('no')</script>" in text
    assert f"pipeline.retry('{run_dir}')" in text
    assert "LocalExecutor" in text
    assert path == f"{run_dir}/report.html"
    assert len(page) < 20_000


def test_the_page_of_a_run_that_was_killed(tmp_path: Path) -> None:
    run_dir = finished(tmp_path / "out", "long")
    facts = Path(run_dir, "run.json")
    facts.write_text(facts.read_text().replace('"status": "done"', '"status": "running"', 1))
    assert "trial was killed: its process is gone" in render(read_run(run_dir))


def test_files_that_are_unreadable_for_one_reason_are_told_together() -> None:
    records = [
        QuarantineRecord(str(n), "read", 1, f"cannot read /raw/{n}: no gzip", source=f"/raw/{n}")
        for n in range(3)
    ]
    [failure] = failures_of(records)
    assert (failure.items, failure.told) == (3, "cannot read …: no gzip (/raw/0)")
    [alone] = failures_of(records[:1])
    assert alone.told == "cannot read /raw/0: no gzip"
