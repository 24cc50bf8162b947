"""Stages on the page: the funnel, and shares of what each stage received."""

import re
from pathlib import Path

import pytest
from curator_core.model.records import StageCounts
from curator_report.html import render_part
from curator_report.page import render
from curator_report.run_record import read_run
from curator_report.stage_tables import funnel
from reportkit import write_run


def funnel_of(stages: dict[str, StageCounts], *, wrote: bool) -> str:
    return render_part("stages", "funnel", funnel(stages, wrote=wrote))


@pytest.mark.parametrize("files", [1, 13])
def test_the_end_counts_records_not_the_files_of_the_writer(files: int) -> None:
    few = StageCounts(items_in=9, items_out=5, items_dropped=4)
    stages = {"few": few, "writer": StageCounts(items_in=5, items_out=files)}
    assert "<span>left at the end</span><span>5 " in funnel_of(stages, wrote=True)
    assert f"<span>left at the end</span><span>{files} " in funnel_of(stages, wrote=False)


def test_shares_restart_at_a_stage_that_makes_more_items(tmp_path: Path) -> None:
    """Films, then their clips; files that the writer made are neither."""
    stages = {
        "read": StageCounts(items_in=4, items_out=3, items_failed=1),
        "split": StageCounts(items_in=3, items_out=15),
        "still": StageCounts(items_in=15, items_out=9, items_dropped=6, reasons={"frozen": 6}),
        "writer": StageCounts(items_in=9, items_out=21),
    }
    shown = re.findall(
        "<span>(.*?)</span><span>(.*?) <small>(.*?)</small>", funnel_of(stages, wrote=True)
    )
    assert shown == [
        ("read", "4", "100.0 %"),
        ("split", "15", "made of 3"),
        ("still", "15", "100.0 %"),
        ("left at the end", "9", "60.0 %"),
    ]
    record = read_run(write_run(tmp_path / "run", stages=1, events=1), in_short=True)
    record.result.stages = stages
    head = render(record).partition("<h2>")[0]
    assert "<td>3 of 4, 75.0 %; of what they became, 9 of 15, 60.0 %</td>" in head


def test_video_and_audio_are_shown_in_hours() -> None:
    stages = {
        "read": StageCounts(items_in=4, items_out=3, items_failed=1, playing_ms=9_000_000),
        "split": StageCounts(items_in=3, items_out=15, playing_ms=8_000_000),
        "loud": StageCounts(items_in=15, items_out=9, items_dropped=6, playing_ms=3_700_000),
        "writer": StageCounts(items_in=9, items_out=21),
    }
    shown = re.findall("<span>([^<]*?)</span><span>(.*?)</span>", funnel_of(stages, wrote=True))
    assert shown == [
        ("read", "4 <small>2 h 30 min, 100.0 %</small>"),
        ("split", "15 <small>2 h 13 min, made of 3</small>"),
        ("loud", "15 <small>2 h 13 min, 100.0 %</small>"),
        ("left at the end", "9 <small>1 h 1 min, 60.0 %</small>"),
    ]
