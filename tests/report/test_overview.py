"""The first lines of the page, and the names of stages that ran in one pass."""

from pathlib import Path
from typing import Any

import pytest
from curator_core.model.records import StageCounts
from curator_core.model.usage import Usage
from curator_report.overview import costs, inputs_of, overview_facts, total_cards
from curator_report.page import page_data, render
from curator_report.run_record import RunRecord, read_run
from reportkit import write_run


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    return read_run(write_run(tmp_path / "run", stages=3, events=3), in_short=True)


def usage(seconds: float, **more: float) -> Usage:
    made = Usage()
    made.seconds = made.cpu_s = seconds
    for name, value in more.items():
        setattr(made, name, value)
    return made


def test_the_page_begins_with_totals_input_output_and_command(record: RunRecord) -> None:
    record.result.stages = {
        "list": StageCounts(items_out=2, files_out=2),
        "read": StageCounts(items_in=2, files_in=2, items_out=90, bytes_in=4000),
        "rule": StageCounts(items_in=90, items_out=60, items_dropped=30),
        "write": StageCounts(items_in=60, items_out=1, files_out=1, bytes_out=3000),
    }
    record.facts["plan"] = [{"name": "list", "options": {"file_paths": ["a.jsonl", "b.jsonl"]}}]
    record.facts["command"] = ["/usr/bin/curate", "run", "my recipe.yaml"]
    record.facts["description"] = "A <small> trial."
    head = render(record).partition("<h2 ")[0]
    for text in ("A &lt;small&gt; trial.", "<b>60</b><small>of 90 · 66.7 %</small>",
                 "<b>3.0 kB</b><small>of 4.0 kB · 75.0 %</small>", "<b>1</b><small>of 2</small>",
                 "<td>a.jsonl</td>", "<td>curate run &#39;my recipe.yaml&#39;</td>",
                 "<td>/out (3 files)</td>"):  # fmt: skip
        assert text in head


def test_images_and_clips_are_called_by_their_names() -> None:
    stages = {
        "read": StageCounts(items_out=4, playing_ms=8000),
        "cut": StageCounts(items_in=4, items_out=9, playing_ms=6000),
    }
    records, hours = total_cards(stages, ("video", "clip"))
    assert (records.name, records.after, records.before) == ("clips", "9", "9 made of 4 videos")
    assert (hours.name, hours.after, hours.before) == ("duration", "6.0 s", "8.0 s")
    assert total_cards({}, ()) == []


def test_inputs_are_paths_or_urls_of_the_first_stage() -> None:
    plan: list[dict[str, Any]] = [{"options": {"urls": ["https://a", "https://b"], "path": None}}]
    assert inputs_of(plan) == ["https://a", "https://b"]
    assert inputs_of([{"options": {"file_paths": "raw/*.jsonl"}}]) == ["raw/*.jsonl"]
    assert inputs_of([]) == []


def test_the_cost_has_cpu_and_gpu_time(record: RunRecord) -> None:
    record.result.usages = {
        "read": usage(1800.0),
        "embed": usage(3600.0, waited_s=3600.0),
        "share": usage(60.0),
    }
    record.facts["needs"] = {"embed": {"gpus": 0.5}, "share": {"gpu_memory_gb": 4.0}}
    assert {"1.5 h CPU time", "1.0 h GPU time"} <= set(costs(record))


def test_what_a_killed_attempt_used_is_not_known(record: RunRecord) -> None:
    record.result.stages = {"read": StageCounts(items_out=1, seconds=40.0)}
    record.result.usages = {"read": usage(10.0)}
    assert "at least 10 s CPU time" in dict(overview_facts(record))["cost"]


def test_stages_of_one_pass_share_a_name_where_their_time_is_shown(record: RunRecord) -> None:
    record.facts["steps"] = [["stage_0"], ["stage_1", "stage_2"]]
    record.result.usages = {"stage_1": usage(30.0)}
    found = page_data(record)
    together = "stage_1 and 1 more stage in one pass"
    assert found.bottleneck is not None
    assert found.bottleneck.name == together
    assert found.stages.fused == ["stage_2"]


def test_plots_over_time_name_the_passes_of_the_workers(tmp_path: Path) -> None:
    """The first stage lists the sources on the driver, so workers have one pass less."""
    run = write_run(tmp_path / "run", stages=2, events=300)
    record = read_run(run, in_short=True)
    record.facts["steps"] = [["lists"], ["reads"], ["rule", "another rule"]]
    names = {curve.name for plot in page_data(record).timelines for curve in plot.curves}
    assert {"reads", "rule and 1 more stage in one pass"} <= names
    assert "lists" not in names
