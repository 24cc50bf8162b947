"""Scores in a report: histograms that show where a rule cuts, and the shares on each side."""

import re
from pathlib import Path
from typing import Any

import pytest
from curator_core.model.records import StageCounts
from curator_core.model.scores import Scores
from curator_report.histograms import BINS, binned_histogram
from curator_report.html import render_part
from curator_report.page import render
from curator_report.run_record import read_run
from curator_report.scores import MOST_SHOWN, limits_in, score_figures
from reportkit import counts_of, write_run

LENGTHS = Scores.of([60.0] * 70 + [90.0] * 10, [20.0] * 15 + [200.0] * 5)


def page_of(scores: Scores, **options: object) -> str:
    stages = {"rule": StageCounts(scores={"score": scores})}
    return figures_of(stages, [{"name": "rule", "options": options}])


def figures_of(stages: dict[str, StageCounts], plan: list[dict[str, Any]]) -> str:
    return render_part("plots", "scores", score_figures(stages, plan))


def drawing_of(scores: Scores, *limits: float) -> str:
    drawn = binned_histogram(scores, limits)
    assert drawn
    return drawn.to_html()


def test_limits_are_drawn_and_the_caption_has_the_shares_on_each_side() -> None:
    page = page_of(LENGTHS, min_words=50, max_words=100, words="whitespace")
    assert "100 scores, 80.0 % kept, 15.0 % below 50, 5.0 % above 100" in page
    assert re.findall(r">limit ([\d.]+)<", page) == ["50", "100"]
    assert page.count('class="limit"') == 2


def test_shares_end_at_one() -> None:
    assert re.findall(r">([^<]+)</text></svg>", drawing_of(Scores.of([0.0, 0.5, 1.0]))) == ["1"]
    more = drawing_of(Scores.of([0.0, 0.5, 1.0, 3.0]))
    assert re.findall(r">([^<]+)</text></svg>", more) == ["3"]


@pytest.mark.parametrize(("kept", "dropped", "caption"), [
    ([50, 51, 60], [49, 40], "60.0 % kept, 40.0 % below 50, 60.0 % above 50"),
    ([40, 49, 50], [50.5, 51, 60], "50.0 % kept, 50.0 % below 50, 50.0 % above 50"),
])  # fmt: skip
def test_shares_are_exact_also_where_a_bin_is_cut(
    kept: list[float], dropped: list[float], caption: str
) -> None:
    assert caption in page_of(Scores.of(kept, dropped), threshold=50)


def test_limits_are_found_among_the_options_of_a_stage_and_of_its_rule() -> None:
    assert limits_in({"min_words": 5, "max_words": None, "text_field": "min_", "at_most": 2}) == [
        5.0, 2.0]  # fmt: skip
    assert limits_in({"rule": {"type": "X", "max_share": 0.5}, "invert": False}) == [0.5]
    assert limits_in({"rule": "words:long#1", "max_on": True}) == []


def test_a_score_is_cut_where_the_option_is_that_is_called_like_it() -> None:
    freezing = {"max_difference": 0.0005, "max_share": 0.5}
    assert limits_in(freezing, "frozen_share") == [0.5]
    looking = {"min_side": 4, "min_width": 144, "at_least": 1}
    assert limits_in(looking, "width", is_only=False) == [144.0]
    assert limits_in(looking, "fps", is_only=False) == []
    assert limits_in({"at_least": 5.0}, "snr_db") == [5.0]
    stages = {"look": StageCounts(scores={"width": LENGTHS, "fps": LENGTHS})}
    page = figures_of(stages, [{"name": "look", "options": {"min_width": 50}}])
    assert re.findall(r">limit ([\d.]+)<", page) == ["50"]


def bars(drawing: str, kind: str) -> float:
    found = re.findall(rf'class="{kind}".*?<title>([\d,]+) ', drawing)
    return sum(int(number.replace(",", "")) for number in found)


def test_bars_add_up_to_the_number_of_scores() -> None:
    scores = Scores.of([n / 7 for n in range(700)], [n / 7 for n in range(700, 1400)])
    drawing = drawing_of(scores, 100.0)
    assert bars(drawing, "kept") == pytest.approx(700, abs=BINS)
    assert bars(drawing, "dropped") == pytest.approx(700, abs=BINS)


def test_an_outlier_does_not_hide_the_other_scores() -> None:
    drawing = drawing_of(Scores.of([*range(1, 1000), 10**9]))
    assert "≥ 1,024" in drawing or "≥ 1,056" in drawing


def test_a_limit_far_from_all_scores_is_only_in_the_caption() -> None:
    page = page_of(Scores.of([n / 100 for n in range(500, 900)]), max_word_length=1000)
    assert "limit 1,000" not in page
    assert "none cut at 1,000" in page


@pytest.mark.parametrize("score", [0.0, 1.0, -3.0, 1e-300, 1e17])
def test_equal_scores_are_drawn_next_to_the_limit(score: float) -> None:
    page = page_of(Scores.of([score] * 9), max_share=0.5)
    assert "limit 0.5" in page
    assert 1 <= page.count('class="kept"') <= BINS


def test_many_scores_keep_the_page_small_and_hostile_names_are_escaped(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", stages=3, events=0)
    record = read_run(run, in_short=True)
    spread = Scores.of([1.07**n for n in range(300)], [-(1.07**n) for n in range(300)])
    name = "<script>alert(1)</script>"
    record.result.stages |= {
        f"{name}{place}": StageCounts(scores={f"{name}{n}": spread for n in range(5)})
        for place in range(200)
    }
    page = render(record)
    assert page.count("<figure>") == MOST_SHOWN
    assert f"{1000 - MOST_SHOWN} more: curate report --json" in page
    assert len(page.encode()) < 3_000_000
    assert "<script" not in page


def test_stages_without_scores_have_no_section() -> None:
    assert score_figures({"any": counts_of(1)}, []).figures == []
