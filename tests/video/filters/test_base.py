"""What all filters of clips share: scores, options, counts."""

from dataclasses import dataclass, replace

from curator_core.testing import check_stage, run_stages
from curator_video import ClipFilter, FrameNeeds
from curator_video.filters.models import NSFWFilter, TextAreaFilter
from curator_video.filters.quality import BlackFilter, FreezeFilter
from curator_video.filters.size import DurationFilter
from curator_video.tasks import Clip


@dataclass
class BrightnessFilter(ClipFilter):
    """A filter as users write it."""

    score_field = "brightness"
    reason = "too dark"

    minimum: float = 0.2
    """Minimum mean brightness."""

    def frame_needs(self) -> FrameNeeds:
        return FrameNeeds(luma=True)

    def score(self, clip: Clip) -> float:
        return float(self.analyze(clip).brightness.mean())

    def keeps(self, score: float) -> bool:
        return score >= self.minimum


def test_a_filter_of_the_user_is_a_score_a_decision_and_a_reason(clip: Clip) -> None:
    [kept] = run_stages([BrightnessFilter()], [clip]).outputs
    assert 0.2 < kept.scores["brightness"] < 1
    assert run_stages([BrightnessFilter(1)], [clip]).counts.reasons == {"too dark": 1}
    check_stage(BrightnessFilter(), clip)


def test_scores_are_counted_as_kept_or_dropped(clip: Clip) -> None:
    short = clip.with_data(replace(clip.data, end=1.0))
    counts = run_stages([DurationFilter(1.5)], [clip, short]).counts
    [scores] = counts.scores.values()
    assert sum(scores.dropped.values()) == sum(counts.reasons.values()) == 1
    assert sum(scores.kept.values()) == 1


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
