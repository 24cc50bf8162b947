"""Notebook views, and results as tables."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from curator_core import DocumentBatch, LocalExecutor, Pipeline, RunResult, Task, processing_stage
from curator_core.errors import PipelineError
from curator_core.io.readers import JsonlReader
from curator_core.io.writers import JsonlWriter, ParquetWriter

RECORDS = [{"text": "<b>one</b>", "n": 1}, {"text": "two", "n": None}, {"text": "three", "n": 3}]


def batches() -> list[DocumentBatch]:
    return [DocumentBatch.from_pylist(RECORDS[:2]), DocumentBatch.from_pylist(RECORDS[2:])]


@processing_stage(name="odd")
def odd(task: DocumentBatch) -> object:
    return task.keep([n != 1 for n in task.data.column("n").to_pylist()], "is <one>")


def run(*stages: Any, tasks: Any = None) -> RunResult:
    return Pipeline("cell", stages=[*stages]).run(LocalExecutor(workers=0), tasks or batches())


def test_a_batch_shows_its_first_rows() -> None:
    shown = batches()[0]._repr_html_()
    assert "2 records, 2 columns" in shown
    assert "<th>text (string)</th><th>n (int64)</th>" in shown
    assert "<td>&lt;b&gt;one&lt;/b&gt;</td><td>1</td>" in shown
    assert "<td>two</td><td></td>" in shown


def test_a_view_of_a_large_batch_is_small() -> None:
    wide = [{f"column {n}": "x" * 5000 for n in range(40)}] * 100
    assert len(DocumentBatch.from_pylist(wide)._repr_html_()) < 25_000


def test_a_pipeline_shows_its_stages(tmp_path: Path) -> None:
    writer = JsonlWriter(path=str(tmp_path / "out"))
    shown = Pipeline("cell", "cleans <little>", stages=[odd, writer])._repr_html_()
    assert "<b>cell</b> cleans &lt;little&gt;" in shown
    assert "<td>1</td><td>odd</td><td>DocumentBatch → " in shown
    assert "jsonl_writer" in shown
    assert "<td>1 CPU</td>" in shown


def test_options_that_were_set_come_first_and_long_ones_are_shortened() -> None:
    shown = Pipeline("cell", stages=[JsonlReader("raw/pages")])._repr_html_()
    files, _ = re.findall("<td>jsonl_reader.*?</tr>", shown)
    assert "paths='raw/pages'" in unescape(files)
    assert "…" in files
    fields = Pipeline("cell", stages=[JsonlReader("raw", fields=["url", "text"])])._repr_html_()
    assert "<td>fields=['url', 'text']" in unescape(fields)


def test_an_empty_pipeline_has_a_view() -> None:
    assert "0 stages" in Pipeline("nothing")._repr_html_()


def test_a_result_shows_its_verdict_counts_and_reasons() -> None:
    shown = run(odd)._repr_html_()
    assert "the run is done: 2 sources in " in shown
    assert "<td>odd</td><td></td><td>3</td><td>2</td><td>1</td><td>0</td>" in shown
    assert "<b>dropped</b> 1 odd: is &lt;one&gt;" in shown


def test_a_result_is_a_table() -> None:
    result = run(odd)
    assert result.to_arrow().to_pylist() == RECORDS[1:]
    assert list(result.to_pandas()["text"]) == ["two", "three"]


@pytest.mark.parametrize("writer", [JsonlWriter, ParquetWriter])
def test_written_files_are_a_table(writer: Any, tmp_path: Path) -> None:
    numbers = [DocumentBatch.from_pylist([{"n": n}, {"n": n + 1}]) for n in (1, 5)]
    result = run(odd, writer(path=str(tmp_path / "out")), tasks=numbers)
    assert sorted(result.to_arrow().column("n").to_pylist()) == [2, 5, 6]


def test_tables_with_different_schemas_are_refused() -> None:
    unlike = [DocumentBatch.from_pylist([{"n": 2}]), DocumentBatch.from_pylist([{"n": "two"}])]
    with pytest.raises(
        PipelineError, match=r"have different schemas \(.*take its tasks, or its files"
    ):
        run(odd, tasks=unlike).to_arrow()


def test_an_empty_result_is_an_empty_table() -> None:
    assert RunResult().to_arrow().num_rows == 0


@processing_stage(name="same")
def same(task: Task[int]) -> Task[int]:
    return task


def test_results_without_records_are_refused() -> None:
    with pytest.raises(PipelineError, match="the run gave Task, which are not records"):
        run(same, tasks=[Task(1)]).to_arrow()
    with pytest.raises(PipelineError, match=r"wrote 1 files, and none of them ends in \.parquet"):
        RunResult(files=["a.tar"]).to_pandas()
