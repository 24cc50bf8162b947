"""Stages on the page: the funnel, and shares of what each stage received."""

import re
from pathlib import Path

import pytest
from curator_core.model.records import StageCounts
from curator_report.html import render_part
from curator_report.page import render
from curator_report.run_record import read_run
from curator_report.stage_tables import funnel, stage_tables, steps
from reportkit import write_run


def funnel_of(stages: dict[str, StageCounts]) -> str:
    return render_part("stages", "funnel", funnel(stages), "record")


@pytest.mark.parametrize("files", [1, 13])
def test_the_end_counts_records_not_the_files_of_the_writer(files: int) -> None:
    few = StageCounts(items_in=9, items_out=5, items_dropped=4)
    writer = StageCounts(items_in=5, items_out=files, files_out=files)
    assert "<span>written: writer</span><span>5 " in funnel_of({"few": few, "writer": writer})
    assert "<span>left</span><span>5 " in funnel_of({"few": few})


def test_shares_restart_at_a_stage_that_makes_more_items(tmp_path: Path) -> None:
    """Films, then their clips; files that the writer made are neither."""
    stages = {
        "read": StageCounts(items_in=4, items_out=3, items_failed=1),
        "split": StageCounts(items_in=3, items_out=15),
        "still": StageCounts(items_in=15, items_out=9, items_dropped=6, reasons={"frozen": 6}),
        "writer": StageCounts(items_in=9, items_out=21, files_out=21),
    }
    found = [(step.name, step.items, step.items_not_kept, step.made_of) for step in steps(stages)]
    assert found == [
        ("read: read", 4, 0, 0),
        ("read", 3, 1, 0),
        ("split", 15, 0, 3),
        ("still", 9, 6, 0),
        ("written: writer", 9, 0, 0),
    ]
    shares = re.findall("([0-9.]+ %|made of 3)</small>", funnel_of(stages))
    assert shares == ["100.0 %", "75.0 %", "made of 3", "60.0 %", "60.0 %"]
    record = read_run(write_run(tmp_path / "run", stages=1, events=1), in_short=True)
    record.result.stages = stages
    assert "<b>9</b><small>of 15 made of 3 records · 60.0 %</small>" in render(record)


def test_video_and_audio_are_shown_in_hours() -> None:
    stages = {
        "read": StageCounts(items_in=4, items_out=3, items_failed=1, playing_ms=9_000_000),
        "split": StageCounts(items_in=3, items_out=15, playing_ms=8_000_000),
        "loud": StageCounts(items_in=15, items_out=9, items_dropped=6, playing_ms=3_700_000),
        "writer": StageCounts(items_in=9, items_out=21, files_out=21),
    }
    hours = re.findall(r"<small>([^<]*? min), ", funnel_of(stages))
    assert hours == ["2 h 30 min", "2 h 30 min", "2 h 13 min", "1 h 1 min", "1 h 1 min"]


def test_files_records_and_speed_have_their_own_columns() -> None:
    """A fast stage is fast, however long the run took besides."""
    stages = {
        "read": StageCounts(items_in=2, files_in=2, items_out=900, bytes_out=10**6, seconds=3.0),
        "rule": StageCounts(items_in=900, items_out=800, items_dropped=100, seconds=0.1),
        "write": StageCounts(items_in=800, items_out=5, files_out=5, bytes_out=10**6, seconds=1.0),
    }
    tables = stage_tables(stages, {})
    shown = {row.name: dict(zip((column.name for column in tables.columns), row.cells, strict=True))
             for row in tables.rows}  # fmt: skip
    assert shown["read"] == {"files": "2", "in": "", "out": "900", "dropped": "", "size": "1.0 MB",
                             "time": "3.0 s", "speed": "300/s"}  # fmt: skip
    assert (shown["rule"]["files"], shown["rule"]["speed"]) == ("", "9,000/s")
    assert [shown["write"][name] for name in ("files", "in", "out")] == ["5", "800", "800"]
