"""Totals of a run, and the tables that `print(result)` shows."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from curator_core import (
    DocumentBatch,
    JsonlReader,
    JsonlWriter,
    LocalExecutor,
    Pipeline,
    RunResult,
    WorkflowResult,
    processing_stage,
)
from curator_core.model import optional_dependencies
from curator_core.model.contents import CHARACTERS
from curator_core.model.records import StageCounts

HERE = LocalExecutor(workers=0)


@processing_stage(name="long_texts")
def long_texts(task: DocumentBatch) -> object:
    lengths = [len(text) for text in task.data["text"].to_pylist()]
    return task.keep([length >= 20 for length in lengths], reason="shorter than 20 characters")


def pipeline_in(folder: Path) -> Pipeline:
    if not (folder / "in").exists():
        (folder / "in").mkdir()
        for name in "abc":
            lines = (json.dumps({"text": "some words " * n}) for n in range(10))
            (folder / f"in/{name}.jsonl").write_text("\n".join(lines) + "\n")
    stages = [JsonlReader(str(folder / "in")), long_texts, JsonlWriter(str(folder / "out"))]
    return Pipeline("totals", stages=stages)


def test_records_files_and_bytes_are_counted_apart(tmp_path: Path) -> None:
    result = pipeline_in(tmp_path).run(HERE)
    read, written = result.totals.read, result.totals.written
    assert (read.files, read.records) == (3, 30)
    assert read.num_bytes == sum(path.stat().st_size for path in (tmp_path / "in").iterdir())
    assert (written.files, written.records) == (3, 24)
    assert written.num_bytes == sum(Path(path).stat().st_size for path in result.files)
    totals = result.to_json()["totals"]
    assert totals["read"]["records"] == 30
    assert totals["written"]["bytes"] == written.num_bytes
    listing, reading, _, writing = result.stages.values()
    assert [one.files for one in (listing, reading, writing)] == [3, 3, 3]
    assert [one.records_in for one in (listing, reading, writing)] == [0, 0, 24]
    assert [one.records_out for one in (listing, reading, writing)] == [0, 30, 24]


def test_the_data_before_and_after_are_measured_and_a_resumed_run_measures_the_same(
    tmp_path: Path,
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    expected = pipeline_in(whole).run(HERE).totals
    with pipeline_in(parts).stream(HERE) as stream:
        next(stream)
    resumed = pipeline_in(parts).run(HERE)
    assert resumed.sources_skipped == 1
    found = resumed.totals
    for amount, same in ((expected.read, found.read), (expected.written, found.written)):
        assert amount.contents is not None
        assert same.contents is not None
        assert amount.contents.numbers[CHARACTERS] == same.contents.numbers[CHARACTERS]
        assert sum(amount.contents.numbers[CHARACTERS].values()) == amount.records


def test_without_files_the_records_are_those_given_and_returned() -> None:
    batch = DocumentBatch.from_pylist([{"text": "short"}, {"text": "long enough " * 3}])
    totals = Pipeline("given", stages=[long_texts]).run(HERE, [batch]).totals
    assert (totals.read.records, totals.written.records) == (2, 1)
    assert (totals.read.files, totals.written.num_bytes) == (0, 0)


def test_usage_of_all_attempts_is_kept(tmp_path: Path) -> None:
    with pipeline_in(tmp_path).stream(HERE) as stream:
        next(stream)
    run_dir = Path(str(stream.result.run_dir))

    def tasks() -> int:
        facts = json.loads((run_dir / "run.json").read_text())
        return int(facts["result"]["usages"]["long_texts"]["tasks"])

    before = tasks()
    pipeline_in(tmp_path).run(HERE)
    assert (before, tasks()) == (1, 3)


class TestPrint:
    def test_shows_totals_stages_reasons_and_places(self, tmp_path: Path) -> None:
        result = pipeline_in(tmp_path).run(HERE)
        lines = [line.split() for line in str(result).splitlines()]
        assert ["kept", "80.0", "%"] in lines
        assert ["stage", "files", "in", "out", "dropped", "bytes", "why"] in lines
        [row] = [line for line in lines if line[:1] == ["long_texts"]]
        assert row[1:4] == ["30", "24", "6"]
        assert row[-4:] == ["shorter", "than", "20", "characters"]
        assert ["output", str(tmp_path / "out")] in lines
        assert ["run", str(result.run_dir)] in lines

    def test_fits_a_narrow_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        reasons = {"a long reason " * 20: 3}
        stages = {"rule": StageCounts(items_in=9, items_out=6, items_dropped=3, reasons=reasons)}
        text = str(RunResult(stages=stages))
        assert max(map(len, text.splitlines())) <= 80

    def test_says_what_to_install_for_a_report(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        result = RunResult(run_dir=str(tmp_path))
        assert result.report is None
        monkeypatch.setattr(
            optional_dependencies,
            "find_spec",
            lambda name: None if name == "curator_report" else find_spec(name),
        )
        assert "pip install curator-report" in str(result)
        (tmp_path / "report.html").touch()
        assert result.report == str(tmp_path / "report.html")
        assert str(tmp_path / "report.html") in str(result)

    def test_shows_the_pipelines_of_a_workflow(self, tmp_path: Path) -> None:
        runs = {"first": pipeline_in(tmp_path).run(HERE), "then": RunResult()}
        text = str(WorkflowResult(runs, report="page.html"))
        head, first, then, *_ = [line.split() for line in text.splitlines()]
        assert head == ["pipeline", "state", "sources", "read", "written", "files", "time"]
        assert first[:6] == ["first", "done", "3", "30", "24", "3"]
        assert then[:2] == ["then", "done"]
        assert text.endswith("page.html")

    def test_shows_a_result_without_anything(self) -> None:
        assert str(RunResult()) == "done in 0.0 s: 0 sources"
