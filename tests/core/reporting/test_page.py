"""The page of a run: what holds it up, what it took, what differs from the run before."""

import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from curator_core import DocumentBatch, LocalExecutor, Pipeline, ProcessingStage, processing_stage
from curator_core.io.readers import JsonlReader
from curator_core.io.writers import JsonlWriter
from curator_core.model.records import QuarantineRecord, StageCounts
from curator_core.model.usage import Usage
from curator_core.reporting.bottlenecks import bottleneck_of
from curator_core.reporting.directories import read_run
from curator_core.reporting.pages import render, write_report
from curator_core.reporting.reasons import place_of
from curator_core.reporting.stages import funnel
from reportkit import usage_of, write_run


def usage(seconds: float, cpu: float = 1.0, tasks: int = 10) -> Usage:
    made = Usage()
    made.seconds, made.cpu_s, made.tasks = seconds, cpu * seconds, tasks
    return made


def advice_for(stage: Usage, **options: object) -> tuple[str, str]:
    found = bottleneck_of({"slow": stage, "quick": usage(1.0)}, {"slow": options}, {})
    assert found
    return found.name, found.advice


def test_the_bottleneck_has_a_name_and_a_change_to_try() -> None:
    assert advice_for(usage(9.0)) == (
        "slow",
        "it keeps its CPUs busy: more CPUs or machines, or a faster slow, would help most",
    )
    assert "more workers for slow (num_workers)" in advice_for(usage(9.0, cpu=0.1))[1]
    crowded = usage(9.0, cpu=0.5)
    crowded.crowded_s = 4.0
    assert "no CPU was free: fewer workers at once" in advice_for(crowded)[1]
    assert "larger batches for slow (batch_size)" in advice_for(usage(9.0), gpus=1.0)[1]
    assert "its tasks are tiny" in advice_for(usage(9.0, tasks=100_000))[1]
    setting_up = usage(9.0)
    setting_up.setup_s = 60.0
    assert "setting slow up took longer than its work" in advice_for(setting_up)[1]


def test_it_may_be_no_stage_at_all() -> None:
    waiting, held = usage(2.0), usage(2.0)
    waiting.waited_s, held.held_s = 9.0, 9.0
    supply = bottleneck_of({"a": waiting}, {}, {})
    taking = bottleneck_of({"a": held}, {}, {})
    even = bottleneck_of({name: usage(2.0) for name in "abcd"}, {}, {})
    assert supply
    assert taking
    assert even
    assert supply.name == "the supply of work"
    assert taking.name == "whoever takes the outputs"
    assert (even.name, even.evidence[:21]) == ("", "no stage stands out: ")
    assert bottleneck_of({"a": usage(0.5)}, {}, {}) is None


def test_what_a_scheduler_says_of_itself_counts_more() -> None:
    said = {"bottleneck": "embed", "evidence": "it was busy", "advice": "more GPUs"}
    found = bottleneck_of({"slow": usage(9.0)}, {}, said)
    assert found
    assert (found.name, found.advice) == ("embed", "more GPUs")


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
            lines = (json.dumps({"n": n}) for n in range(8))
            (source / f"{number}.jsonl").write_text("\n".join(lines) + "\n")
    writer = JsonlWriter(path=str(folder / "out"))
    line = [JsonlReader(file_paths=str(source)), *([doze] if pause else []), Few(most), writer]
    result = Pipeline("small", stages=line).run(LocalExecutor(workers=0), resume=False)
    assert result.run_dir
    return Path(write_report(result.run_dir)).read_text()


def test_a_page_tells_what_differs_from_the_run_before(tmp_path: Path) -> None:
    assert "Since the previous run" not in page_of(tmp_path, 5)
    page = page_of(tmp_path, 3)
    assert "stage &#x27;few&#x27;: most 5 became 3" in page
    assert "<td>few: dropped</td><td>18</td><td>30</td><td>+66.7 %</td>" in page
    again = page_of(tmp_path, 3)
    assert "The same stages, options and versions." in again
    assert "The same counts." in again


def test_a_page_of_a_real_run_has_it_all(tmp_path: Path) -> None:
    page = page_of(tmp_path, 4, pause=True)
    titles = re.findall("<h2>(.*?)</h2>", page)
    assert titles == ["What holds it up", "What was left", "Stages", "Over time",
                      "Dropped, by reason", "Slowest sources", "Files", "Environment"]  # fmt: skip
    assert "<b>doze</b>: " in page
    assert "waits for the rest: more workers for doze (num_workers)" in page
    assert "few: too &lt;much&gt;" in page
    assert '<polyline class="c0"' in page


@pytest.mark.parametrize("files", [1, 13])
def test_what_is_left_are_records_however_many_files_they_became(files: int) -> None:
    few = StageCounts(items_in=9, items_out=5, items_dropped=4)
    stages = {"few": few, "writer": StageCounts(items_in=5, items_out=files)}
    assert "<span>left at the end</span><span>5 " in funnel(stages, wrote=True)
    assert f"<span>left at the end</span><span>{files} " in funnel(stages, wrote=False)


def test_shares_begin_anew_where_a_stage_makes_more_of_what_it_gets(tmp_path: Path) -> None:
    """Films, then their clips; files that the writer made are neither."""
    stages = {
        "read": StageCounts(items_in=4, items_out=3, items_failed=1),
        "split": StageCounts(items_in=3, items_out=15),
        "still": StageCounts(items_in=15, items_out=9, items_dropped=6, reasons={"frozen": 6}),
        "writer": StageCounts(items_in=9, items_out=21),
    }
    told = re.findall(
        "<span>(.*?)</span><span>(.*?) <small>(.*?)</small>", funnel(stages, wrote=True)
    )
    assert told == [
        ("read", "4", "100.0 %"),
        ("split", "15", "made of 3"),
        ("still", "15", "100.0 %"),
        ("left at the end", "9", "60.0 %"),
    ]
    record = read_run(write_run(tmp_path / "run", stages=1, events=1), in_short=True)
    record.result.stages = stages
    head = render(record).partition("<h2>")[0]
    assert "<td>3 of 4, 75.0 %; of what they became, 9 of 15, 60.0 %</td>" in head


def test_films_and_recordings_are_told_in_hours() -> None:
    stages = {
        "read": StageCounts(items_in=4, items_out=3, items_failed=1, playing_ms=9_000_000),
        "split": StageCounts(items_in=3, items_out=15, playing_ms=8_000_000),
        "loud": StageCounts(items_in=15, items_out=9, items_dropped=6, playing_ms=3_700_000),
        "writer": StageCounts(items_in=9, items_out=21),
    }
    told = re.findall("<span>([^<]*?)</span><span>(.*?)</span>", funnel(stages, wrote=True))
    assert told == [
        ("read", "4 <small>2 h 30 min, 100.0 %</small>"),
        ("split", "15 <small>2 h 13 min, made of 3</small>"),
        ("loud", "15 <small>2 h 13 min, 100.0 %</small>"),
        ("left at the end", "9 <small>1 h 1 min, 60.0 %</small>"),
    ]


def test_what_holds_it_up_is_told_once_and_that_all_is_kept(tmp_path: Path) -> None:
    record = read_run(write_run(tmp_path / "run", stages=1, events=1), in_short=True)
    record.result.stages = {"copy": StageCounts(items_in=7, items_out=7)}
    record.result.notes = ["the bottleneck was copy: it was busy; more CPUs", "all is well"]
    said = {"bottleneck": "copy", "evidence": "it was busy", "advice": "more CPUs"}
    record.history.diagnosis = said
    page = render(record)
    assert page.count("it was busy") == 1
    assert "<td>all is well</td>" in page
    assert "<tr><th>kept</th><td>all 7</td></tr>" in page
    assert "What was left" not in page


def test_what_a_reader_drops_is_a_share_of_what_it_read(tmp_path: Path) -> None:
    record = read_run(write_run(tmp_path / "run", stages=1, events=1), in_short=True)
    reader = StageCounts(items_in=8, items_out=1500, items_dropped=500, reasons={"request": 500})
    record.result.stages = {"reader": reader}
    assert "<td>reader: request</td><td>500</td><td>25.0 %</td>" in render(record)


@pytest.mark.parametrize(
    ("source", "where", "told"),
    [
        ("/in/a.warc.gz", "/in/a.warc.gz byte 12", "/in/a.warc.gz byte 12"),
        ("/in/a.wav and 8 more", "/in/empty.wav", "/in/empty.wav"),
        ("/in/a.jsonl", "line 3", "/in/a.jsonl, line 3"),
        ("/in/a.jsonl", "", "/in/a.jsonl"),
        ("", "line 3", "line 3"),
    ],
)
def test_a_place_is_told_once(source: str, where: str, told: str) -> None:
    record = QuarantineRecord("t", "s", 0, "no", source=source, where=where)
    assert place_of(record) == told


class References(HTMLParser):
    """Everything in a page that a browser would fetch or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"script", "link", "img", "iframe", "object", "embed"}:
            self.found.append(tag)
        self.found += [f"{tag} {name}" for name, _ in attrs if name in {"src", "href"}]


def test_a_thousand_stages_are_readable_and_small(tmp_path: Path) -> None:
    page = render(read_run(write_run(tmp_path / "run", stages=1000, events=500), in_short=True))
    assert len(page) < 3_000_000
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


def test_a_run_that_was_told_of_less_still_has_a_page(tmp_path: Path) -> None:
    """As an earlier version left it: no usages, no pulses, nothing of what was written."""
    run = Path(write_run(tmp_path / "run", stages=2, events=0))
    facts = json.loads((run / "run.json").read_text())
    del facts["result"]["usages"], facts["written"]
    (run / "run.json").write_text(json.dumps(facts))
    (run / "events.jsonl").write_text('{"time":1.0,"event":"run_started"}\n{"time":2.0,"ev')
    assert "<h2>Stages</h2>" in render(read_run(str(run), in_short=True))


def test_only_tables_of_many_columns_are_cut_on_a_telephone(tmp_path: Path) -> None:
    page = render(read_run(write_run(tmp_path / "run", stages=1, events=1), in_short=True))
    assert page.count('<table class="figures wide"><tr><th>stage</th>') == 1
    assert '<table class="figures"><tr><th>stage and reason</th>' in page


def test_quantiles_of_a_usage_are_in_the_table(tmp_path: Path) -> None:
    page = render(read_run(write_run(tmp_path / "run", stages=1, events=1), in_short=True))
    assert f"{1000 * usage_of(0).quantile(0.95):.0f} ms" in page
