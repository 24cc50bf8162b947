"""What all filters of clips share: scores, options, counts."""

from curator_core.testing import run_stages
from curator_video.filters.models import NSFWFilter, TextAreaFilter
from curator_video.filters.quality import BlackFilter, BlurFilter, FreezeFilter
from curator_video.filters.size import DurationFilter
from curator_video.tasks import Clip


def test_scores_are_counted_as_kept_or_dropped(clips: dict[str, Clip]) -> None:
    counts = run_stages([BlurFilter()], list(clips.values())).counts
    [scores] = counts.scores.values()
    assert sum(scores.dropped.values()) == sum(counts.reasons.values()) == 2
    assert sum(scores.kept.values()) == len(clips) - 2


def test_score_only_drops_nothing(clip: Clip) -> None:
    [kept] = run_stages([DurationFilter(3, score_only=True)], [clip]).outputs
    assert kept.scores == {"duration": 2.0}


def test_invert_swaps_kept_and_dropped(clip: Clip) -> None:
    assert len(run_stages([DurationFilter(3, invert=True)], [clip]).outputs) == 1
    dropped = run_stages([DurationFilter(1, invert=True)], [clip]).counts
    assert dropped.reasons == {"not what duration_filter drops": 1}


def test_percentages_instead_of_shares_are_reported() -> None:
    """Otherwise nothing would ever be dropped."""
    for stage, name in (
        (BlackFilter(max_black_share=50), "max_black_share"),
        (FreezeFilter(max_frozen_share=50), "max_frozen_share"),
        (NSFWFilter(max_score=50), "max_score"),
        (TextAreaFilter(max_area=50), "max_area"),
    ):
        assert any(f"{name} is 50" in problem for problem in stage.check())
