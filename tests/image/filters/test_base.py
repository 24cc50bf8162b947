"""What all filters of pictures share: scores, reasons, counts, pixels, errors."""

import gc
import weakref
from typing import Any

import pytest
from curator_core.model.scores import Scores
from curator_core.testing import run_stages
from curator_image import image_batch
from curator_image.filters.base import ImageFilter
from curator_image.filters.quality import (
    BlurFilter,
    BrightnessFilter,
    ContrastFilter,
    UniformityFilter,
)
from curator_image.filters.scoring import ScoreFilter
from curator_image.filters.size import AspectRatioFilter, FormatFilter, SizeFilter
from drawings import encoded
from sample_pictures import (
    FLAT,
    NARROW,
    NOISE,
    SMALL,
    SOFT,
    PictureOrBytes,
    batch_of,
    is_kept,
    keys_of,
)


def test_each_filter_counts_its_drops_with_a_reason() -> None:
    batch = batch_of(NOISE, SMALL, NARROW, FLAT, SOFT)
    stages = [SizeFilter(min_side=100), AspectRatioFilter(), UniformityFilter(), BlurFilter()]
    run = run_stages(stages, [batch])
    assert [run.report.of(place).reasons for place in range(len(stages))] == [
        {"shorter side under 100": 1},
        {"longer to shorter side over 3": 1},
        {"share of one level over 0.9": 1},
        {"sharpness under 100": 1},
    ]
    assert keys_of(run.outputs) == ["a"]


def test_a_damaged_picture_is_quarantined_alone() -> None:
    run = run_stages([SizeFilter()], [batch_of(NOISE, b"no picture")], on_error="quarantine")
    [record] = run.report.quarantined
    assert record.reason == "it is not an image of a known format"
    assert record.where == "drawn.tar key 'b'"
    assert record.stage == "size_filter"
    assert keys_of(run.outputs) == ["a"]


@pytest.mark.parametrize(
    ("rule", "bad"),
    [(SizeFilter, SMALL), (BlurFilter, SOFT), (FormatFilter, encoded(NOISE, "GIF"))],
)
def test_invert_swaps_kept_and_dropped(rule: Any, bad: PictureOrBytes) -> None:
    assert [is_kept(rule(), one) for one in (NOISE, bad)] == [True, False]
    assert [is_kept(rule(invert=True), one) for one in (NOISE, bad)] == [False, True]


def test_dropped_pictures_keep_their_score() -> None:
    [kept, dropped] = BlurFilter(score_field="blur").process(batch_of(NOISE, SOFT))
    records = dropped.records()  # type: ignore[union-attr,operator,misc]
    assert records.keys == ["b"]
    assert records.data["blur"].to_pylist()[0] < 100 < kept.data["blur"].to_pylist()[0]  # type: ignore[union-attr]


def test_each_picture_is_decoded_once_for_all_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[object] = []
    decode = image_batch.decode

    def counted(*arguments: Any) -> Any:
        decoded.append(arguments)
        return decode(*arguments)

    monkeypatch.setattr(image_batch, "decode", counted)
    stages = [SizeFilter(), UniformityFilter(), BrightnessFilter(), ContrastFilter(), BlurFilter()]
    run_stages(stages, [batch_of(NOISE, SOFT, FLAT)])
    assert len(decoded) == 3


@pytest.mark.parametrize(
    ("stage", "kept", "dropped"),
    [
        (BlurFilter(), 1, 1),
        (BlurFilter(invert=True), 1, 1),
        (SizeFilter(min_side=1), 2, 0),
        (FormatFilter(["jpeg"]), 0, 0),
        (ScoreFilter(lambda picture: True), 0, 0),
    ],
    ids=lambda one: getattr(one, "name", one),
)
def test_numeric_scores_are_counted_for_the_report(stage: Any, kept: int, dropped: int) -> None:
    run = run_stages([stage], [batch_of(NOISE, SOFT)])
    scores = run.report.of(0).scores.get("score", Scores())
    assert (sum(scores.kept.values()), sum(scores.dropped.values())) == (kept, dropped)


def test_a_score_cannot_replace_the_pictures() -> None:
    [problem] = BlurFilter(score_field="image").check()
    assert "'image'" in problem


@pytest.mark.parametrize("stage", [BlurFilter(), SizeFilter()])
def test_an_error_does_not_keep_its_batch_in_memory(stage: ImageFilter) -> None:
    gc.collect()
    gc.disable()  # reference cycles would keep the pixels of many batches until a collection
    try:
        task = batch_of(NOISE, b"no picture")
        known = weakref.ref(task)
        outcomes = stage.process(task)
        del task, outcomes
        assert known() is None
    finally:
        gc.enable()
