"""The page of a run: its sections, comparison with the previous run, and size."""

import json
import re
import time
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

from curator_core import DocumentBatch, LocalExecutor, Pipeline, ProcessingStage, processing_stage
from curator_core.io.readers import JsonlReader
from curator_core.io.writers import JsonlWriter
from curator_core.model.metrics import MetricSummary
from curator_core.model.node_usage import GpuUsage, NodeUsage
from curator_core.model.records import StageCounts
from curator_core.run.result import RunResult
from curator_report.page import render, write_report
from curator_report.run_record import read_run
from reportkit import usage_of, write_run


class Few(ProcessingStage[DocumentBatch, DocumentBatch]):
    name = "few"

    def __init__(self, most: int = 5) -> None:
        self.most = most

    def process(self, task: DocumentBatch) -> object:
        return task.keep([n < self.most for n in task.data.column("n").to_pylist()], "too <much>")


@processing_stage(name="doze")
def doze(task: DocumentBatch) -> DocumentBatch:
    time.sleep(0.3)
    return task


def page_of(folder: Path, most: int, pause: bool = False) -> str:
    source = folder / "in"
    if not source.exists():
        source.mkdir()
        for number in range(6):
            lines = (json.dumps({"n": n, "text": "some words " * n}) for n in range(8))
            (source / f"{number}.jsonl").write_text("\n".join(lines) + "\n")
    writer = JsonlWriter(path=str(folder / "out"))
    line = [JsonlReader(file_paths=str(source)), *([doze] if pause else []), Few(most), writer]
    result = Pipeline("small", stages=line).run(LocalExecutor(workers=0), resume=False)
    assert result.run_dir
    return Path(write_report(result.run_dir)).read_text()


def test_the_page_lists_changes_since_the_previous_run(tmp_path: Path) -> None:
    assert "Since the previous run" not in page_of(tmp_path, 5)
    page = page_of(tmp_path, 3)
    assert "stage 'few': most 5 became 3" in unescape(page)
    assert "<td>few: dropped</td><td>18</td><td>30</td><td>+66.7 %</td>" in page
    again = page_of(tmp_path, 3)
    assert "The same stages, options and versions." in again
    assert "The same counts." in again


def test_the_page_of_a_real_run_has_all_sections(tmp_path: Path) -> None:
    page = page_of(tmp_path, 4, pause=True)
    titles = re.findall("<h2.*?>(.*?)</h2>", page)
    assert titles == ["What each stage kept", "Dropped, by reason", "Distributions",
                      "Kept documents", "Dropped documents", "Bottleneck", "Stages",
                      "Slowest sources", "Nodes", "Files", "Environment"]  # fmt: skip
    linked = re.findall('<a href="#(.*?)">(.*?)</a>', page)
    assert [title for _, title in linked] == titles
    assert {place for place, _ in linked} == set(re.findall('<h2 id="(.*?)">', page))
    assert "<b>doze</b>: " in page
    assert "use more workers for doze (num_workers)" in page
    assert "few: too &lt;much&gt;" in page
    assert "<polyline" not in page, "a run of two seconds has no plots over time"


def test_the_bottleneck_is_shown_once_and_so_is_that_everything_was_kept(tmp_path: Path) -> None:
    record = read_run(write_run(tmp_path / "run", stages=1, events=1), in_short=True)
    record.result.stages = {"copy": StageCounts(items_in=7, items_out=7)}
    record.result.notes = ["the bottleneck was copy: it was busy; more CPUs", "all is well"]
    diagnosis = {"bottleneck": "copy", "evidence": "it was busy", "advice": "more CPUs"}
    record.history.diagnosis = diagnosis
    page = render(record)
    assert page.count("it was busy") == 1
    assert "<td>all is well</td>" in page
    assert "<b>7</b><small>of 7 · 100.0 %</small>" in page
    assert "What each stage kept" not in page


def test_drops_of_a_reader_are_a_share_of_the_records_it_read(tmp_path: Path) -> None:
    record = read_run(write_run(tmp_path / "run", stages=1, events=1), in_short=True)
    reader = StageCounts(items_in=8, items_out=1500, items_dropped=500, reasons={"request": 500})
    record.result.stages = {"reader": reader}
    assert "<td>reader: request</td><td>500</td><td>25.0 %</td>" in render(record)


class References(HTMLParser):
    """Everything in a page that a browser would fetch or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"script", "link", "img", "iframe", "object", "embed"}:
            self.found.append(tag)
        links = [value for name, value in attrs if name == "href"]
        self.found += [str(link) for link in links if not str(link).startswith("#")]
        self.found += [f"{tag} src" for name, _ in attrs if name == "src"]


def test_a_thousand_stages_stay_readable_and_below_2_mb(tmp_path: Path) -> None:
    page = render(read_run(write_run(tmp_path / "run", stages=1000, events=500), in_short=True))
    assert len(page) < 2_000_000
    assert "large is done: 500 sources in 1 h 0 min" in page
    assert "976 more stages kept less back." in page
    assert "Those of 1,000 stages that took longest or kept most back." in page
    assert "<summary>all 1,000 stages</summary>" in page
    first = page.partition("<details>")[0]
    assert first.count("<tr>") < 100
    parser = References()
    parser.feed(page)
    assert parser.found == []
    assert "url(" not in page
    assert "@import" not in page
    assert "prefers-color-scheme: dark" in page


def test_a_run_directory_of_an_earlier_version_still_has_a_page(tmp_path: Path) -> None:
    """It has no usages, no snapshots and no summary of the files."""
    run = Path(write_run(tmp_path / "run", stages=2, events=0))
    facts = json.loads((run / "run.json").read_text())
    del facts["result"]["usages"], facts["written"]
    (run / "run.json").write_text(json.dumps(facts))
    (run / "events.jsonl").write_text('{"time":1.0,"event":"run_started"}\n{"time":2.0,"ev')
    assert ">Stages</h2>" in render(read_run(str(run), in_short=True))


def test_metrics_of_stages_are_shown(tmp_path: Path) -> None:
    record = read_run(write_run(tmp_path / "run", stages=1, events=1), in_short=True)
    counts = StageCounts(metrics={"tokens": MetricSummary(4, 10_000.0, 0.5, 9000.0)})
    record.result.stages = {"tag": StageCounts.from_json(counts.to_json())}
    page = render(record)
    cells = ("tag: tokens", "4", "2,500", "0.5", "9,000", "10,000")
    assert "".join(f"<td>{cell}</td>" for cell in cells) in page


def test_nodes_are_shown_in_a_row_each(tmp_path: Path) -> None:
    gpus = (GpuUsage(10**9, 8 * 10**9, 0.5), GpuUsage(7 * 10**9, 8 * 10**9, 1.0))
    nodes = {"one": NodeUsage(3 * 10**9, 16 * 10**9, gpus), "two": NodeUsage(10**9, 2 * 10**9)}
    facts = RunResult(nodes=nodes).to_json()
    run_dir = write_run(tmp_path / "run", stages=1, events=1, result=facts)
    page = render(read_run(run_dir, in_short=True))
    for cells in (
        ("one", "3.0 GB", "16.0 GB", "2", "7.0 GB of 8.0 GB", "50%, 100%"),
        ("two", "1.0 GB", "2.0 GB", "", "", ""),
    ):
        assert "".join(f"<td>{cell}</td>" for cell in cells) in page


def test_only_tables_with_many_columns_limit_the_first_one(tmp_path: Path) -> None:
    page = render(read_run(write_run(tmp_path / "run", stages=1, events=1), in_short=True))
    assert page.count('<table class="figures wide"><tr><th>stage</th>') == 1
    assert '<table class="figures"><tr><th>stage and reason</th>' in page


def test_the_stage_table_has_quantiles_of_task_times(tmp_path: Path) -> None:
    page = render(read_run(write_run(tmp_path / "run", stages=1, events=1), in_short=True))
    assert f"{1000 * usage_of(0).quantile(0.95):.0f} ms" in page
