"""Closing summaries: counts, reasons, files and the next step; and the page of the same run."""

import io
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from curator_core import DocumentBatch, LocalExecutor, Pipeline, RunResult, processing_stage
from curator_core.errors import InputError, StageError
from curator_core.io.writers import JsonlWriter
from curator_core.model.formatting import counted, duration, rate, share, shortened, size
from curator_core.model.records import QuarantineRecord, StageCounts
from curator_report import Summary, drop_reasons, group_failures, print_summary, stage_table
from curator_report.failures import place_of
from curator_report.page import render, write_report
from curator_report.run_record import read_run
from curator_report.summary import next_command, same_command
from hypothesis import given
from hypothesis import strategies as st
from reportkit import write_run
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


def test_failures_are_grouped_by_stage_and_reason() -> None:
    found = group_failures(
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
    [failure] = group_failures([record(**facts)])
    assert failure.first_place == place


@pytest.mark.parametrize(
    ("source", "where", "shown"),
    [
        ("/in/a.warc.gz", "/in/a.warc.gz byte 12", "/in/a.warc.gz byte 12"),
        ("/in/a.wav and 8 more", "/in/empty.wav", "/in/empty.wav"),
        ("/in/a.jsonl", "line 3", "/in/a.jsonl, line 3"),
        ("/in/a.jsonl", "", "/in/a.jsonl"),
        ("", "line 3", "line 3"),
    ],
)
def test_a_place_names_its_file_once(source: str, where: str, shown: str) -> None:
    record = QuarantineRecord("t", "s", 0, "no", source=source, where=where)
    assert place_of(record) == shown


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
        "read": StageCounts(items_in=2, files_in=2, items_out=90, items_rejected=1),
        "clean": StageCounts(items_in=90, items_out=60, items_dropped=30, reasons={"short": 30}),
        "write": StageCounts(items_in=60, items_out=2, files_out=2),
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


def test_a_summary_lists_counts_files_and_the_next_step() -> None:
    assert [" ".join(line.split()) for line in printed(Summary("clean_up", RESULT, "r.html"))] == [
        "clean_up is done: 2 sources in 12 s",
        "",
        "stage files in out dropped failed why",
        "read 2 90 0 1 not JSON",
        "clean 90 60 30 0 short",
        "write 2 60 60 0 0",
        "",
        "kept 60 of 91 records (65.9 %)",
        "quarantined 1, stored in /out/.curator/my run/quarantine",
        "1 in read: not JSON (in.jsonl, line 7)",
        "files 2 files in /out",
        "dropped 2 files in /dropped",
        "1 file in /out",
        "workers 2 times a worker was killed by SIGKILL and was replaced",
        "note something else",
        "report r.html",
        "next pipeline.retry('/out/.curator/my run')",
    ]


def test_a_narrow_terminal_shortens_reasons_not_numbers() -> None:
    lines = printed(Summary("clean_up", RESULT), width=48)
    [row] = [line for line in lines if line.startswith("clean ")]
    assert row.split()[:5] == ["clean", "90", "60", "30", "0"]


def test_a_long_pipeline_has_a_short_summary() -> None:
    stages = {f"stage_{n}": StageCounts(items_in=9, items_out=9) for n in range(60)}
    stages["stage_33"] = StageCounts(items_in=9, items_out=1, items_dropped=8)
    lines = printed(Summary("long", RunResult(stages=stages, sources_done=1)))
    assert len(lines) < 30
    assert any(line.startswith("stage_33 ") for line in lines)
    assert "… 44 more stages" in lines


@pytest.mark.parametrize(
    ("facts", "is_suggested"),
    [
        ({"payload": b"x"}, True),
        ({"payload": b"x", "damaged": True}, False),
        ({"payload": None}, False),
        ({"whole_task": False, "payload": b"x"}, False),
        ({"whole_task": False, "subtask_id": "t.1r0"}, True),
        ({"whole_task": False, "subtask_id": "t.1r0", "damaged": True}, False),
    ],
)
def test_a_retry_is_suggested_only_if_it_can_help(
    facts: dict[str, object], is_suggested: bool
) -> None:
    result = RunResult(quarantined=[record(**facts)], run_dir="/run", sources_done=1)
    assert any("retry" in line for line in printed(Summary("x", result))) is is_suggested


def test_a_failed_run_also_names_the_command_that_retries_its_quarantine() -> None:
    found = [record(payload=b"x")]
    failed = RunResult(quarantined=found, run_dir="/run", sources_done=1, status="failed")
    again, retry = printed(Summary("x", failed))[-2:]
    assert "run the same command again" in again
    assert "pipeline.retry('/run')" in retry


def test_a_finished_run_with_damaged_inputs_suggests_fixing_them() -> None:
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


def test_a_run_directory_has_the_facts_of_the_result(tmp_path: Path) -> None:
    found = read_run(finished(tmp_path / "out", "long", "short", "refused"))
    assert (found.name, found.state, found.result.sources_done) == ("trial", "done", 3)
    counts = found.result.stages["<picky>"]
    assert (counts.items_in, counts.items_out, counts.items_dropped) == (3, 1, 1)
    [record] = found.result.quarantined
    assert record.reason.startswith("ValueError: <script>alert('no')</script> (")
    assert len(found.result.files) == 1


def test_a_failed_run_is_read_as_failed(tmp_path: Path) -> None:
    with pytest.raises(StageError):
        finished(tmp_path / "out", "long", "refused", on_error="fail")
    found = read_run(str(tmp_path / "out/.curator/trial"))
    assert (found.state, found.result.sources_done) == ("failed", 1)


def test_a_folder_without_run_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not a run directory: it has no run\.json"):
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
        assert not {name for name, _ in attrs} & {"src", "onclick"}
        assert all((value or "").startswith("#") for name, value in attrs if name == "href")

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
    assert "trial was killed; " in render(read_run(run_dir))


def test_unreadable_files_with_one_reason_are_grouped() -> None:
    records = [
        QuarantineRecord(str(n), "read", 1, f"cannot read /raw/{n}: no gzip", source=f"/raw/{n}")
        for n in range(3)
    ]
    [failure] = group_failures(records)
    assert (failure.items, failure.message) == (3, "cannot read …: no gzip (/raw/0)")
    [alone] = group_failures(records[:1])
    assert alone.message == "cannot read /raw/0: no gzip"


def test_reasons_that_differ_in_a_url_are_counted_together() -> None:
    reasons = [
        f"https://pictures.example/{n}.jpg: the server answered 404 Not Found" for n in range(3)
    ]
    [failure] = group_failures(record(reason) for reason in reasons)
    assert (failure.items, failure.reason) == (3, "…: the server answered 404 Not Found")
    [alone] = group_failures([record(reasons[0])])
    assert alone.reason == reasons[0]


FAILED = QuarantineRecord("t", "stage_0", 0, "no", payload=b"x")


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        (["/opt/bin/curate", "run", "my recipe.yaml"], "curate run 'my recipe.yaml'"),
        (["curate", "run", "r.yaml", "--no-resume"], "curate run r.yaml"),
        (["jobs/clean.py", "--fast"], "python jobs/clean.py --fast"),
        (["-c"], ""),
        ([], ""),
    ],
)
def test_a_command_is_shown_as_it_was_typed(typed: list[str], command: str) -> None:
    assert same_command(typed) == command


def test_the_next_command_depends_on_the_state_of_the_run(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", stages=1, events=1, command=["/bin/curate", "run", "r.yaml"])
    record = read_run(run, in_short=True)
    assert next_command(record) == ("curate run r.yaml", "processes new input")
    record.result.quarantined = [FAILED]
    assert next_command(record)[0] == f"pipeline.retry('{run}')"
    (tmp_path / "run/recipe.yaml").touch()
    assert next_command(record)[0] == f"curate retry {run}"
    record.result.status = "failed"
    assert next_command(record)[0] == "curate run r.yaml"
    assert next_command(replace(record, state="running"))[0] == f"curate status {run} --watch"


def test_the_next_command_of_a_workflow_runs_it_again(tmp_path: Path) -> None:
    run = write_run(tmp_path / ".curator/flow/one", stages=1, events=1, command=["curate", "flow"])
    record = read_run(run, in_short=True)
    record.result.quarantined = [FAILED]
    assert next_command(record)[0] == "curate flow"


def test_the_next_command_is_shown_once(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", stages=1, events=1, command=["/bin/curate", "run", "r.yaml"])
    record = read_run(run, in_short=True)
    record.result.quarantined = [FAILED]
    record.result.status = "failed"
    head = render(record).partition("<h2 ")[0]
    assert "<code>curate run r.yaml</code>" in head
    assert "retry" not in head
