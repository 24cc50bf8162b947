"""Filters score pictures, drop them with reasons, and share pixels."""

import gc
import io
import weakref
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pytest
from curator_core import PipelineError
from curator_core.model.scores import Scores
from curator_core.testing import check_stage, run_stages
from curator_image import image_batch
from curator_image.filters.base import ImageFilter
from curator_image.filters.measures import MEASURES, ImageMeasures
from curator_image.filters.quality import (
    BlurFilter,
    BrightnessFilter,
    ColorfulnessFilter,
    ContrastFilter,
    EntropyFilter,
    UniformityFilter,
)
from curator_image.filters.scoring import Filter, Score, ScoreFilter
from curator_image.filters.size import (
    AspectRatioFilter,
    FileSizeFilter,
    FormatFilter,
    PixelCountFilter,
    SizeFilter,
)
from curator_image.filters.values import ValueFilter
from curator_image.image_batch import ImageBatch
from PIL import Image
from PIL import ImageFilter as Blurring

CHANCE = np.random.default_rng(3)
NOISE = Image.fromarray(CHANCE.integers(0, 256, (300, 400, 3), np.uint8))
GREY_NOISE = NOISE.convert("L").convert("RGB")
DARK = NOISE.point(lambda level: level // 30)
FLAT = Image.new("RGB", (300, 300), (120, 120, 120))
SOFT = NOISE.filter(Blurring.GaussianBlur(6))
NARROW = NOISE.resize((900, 200))
SMALL = NOISE.resize((90, 70))


def encoded(picture: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    sink = io.BytesIO()
    picture.save(sink, kind, **options)
    return sink.getvalue()


def batch_of(pictures: Iterable[Image.Image | bytes]) -> ImageBatch:
    images = [one if isinstance(one, bytes) else encoded(one) for one in pictures]
    keys = [f"sample{number}" for number in range(len(images))]
    columns = {
        "key": keys,
        "image": pa.array(images, pa.binary()),
        "extension": ["png"] * len(images),
        "source": ["shard.tar"] * len(images),
    }
    return ImageBatch(pa.table(columns))


def kept_by(rule: ImageFilter, *pictures: Image.Image | bytes) -> list[bool]:
    batch = batch_of(pictures)
    outputs = run_stages([rule], [batch]).outputs
    stay = {key for output in outputs for key in output.keys}
    return [key in stay for key in batch.keys]


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (SizeFilter(), NOISE, SMALL),
        (SizeFilter(min_side=None, max_side=250), SMALL, NOISE),
        (PixelCountFilter(), NOISE, SMALL),
        (AspectRatioFilter(), NOISE, NARROW),
        (AspectRatioFilter(), NOISE, NARROW.rotate(90, expand=True)),
        (FileSizeFilter(), NOISE, FLAT),
        (FormatFilter(["PNG"]), NOISE, encoded(NOISE, "JPEG")),
        (BlurFilter(), NOISE, SOFT),
        (BrightnessFilter(), NOISE, DARK),
        (ContrastFilter(), NOISE, DARK),
        (EntropyFilter(), NOISE, FLAT),
        (UniformityFilter(), NOISE, FLAT),
        (ColorfulnessFilter(), NOISE, GREY_NOISE),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_each_rule_keeps_good_and_drops_bad_pictures(
    rule: ImageFilter, good: object, bad: object
) -> None:
    assert kept_by(rule, good, bad) == [True, False]
    rule.invert = True
    assert kept_by(rule, good, bad) == [False, True]
    rule.invert = False
    check_stage(rule, batch_of([good]))


def test_counts_and_reasons_are_those_of_each_rule() -> None:
    batch = batch_of([NOISE, SMALL, NARROW, FLAT, SOFT, b"no picture"])
    stages = [SizeFilter(min_side=100), AspectRatioFilter(), UniformityFilter(), BlurFilter()]
    run = run_stages(stages, [batch], on_error="quarantine")
    reasons = [run.report.of(place).reasons for place in range(len(stages))]
    assert reasons == [
        {"shorter side under 100": 1},
        {"longer to shorter side over 3": 1},
        {"share of one level over 0.9": 1},
        {"sharpness under 100": 1},
    ]
    [record] = [one for part in run.report.parts.values() for one in part.quarantined]
    assert record.reason == "it is not an image of a known format"
    assert record.where == "shard.tar key 'sample5'"
    assert record.stage == "size_filter"
    assert [output.keys for output in run.outputs] == [["sample0"]]


def test_each_picture_is_decoded_once_for_all_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[object] = []
    monkeypatch.setattr(image_batch, "decode", _counting(image_batch.decode, loads))
    batch = batch_of([NOISE, SOFT, FLAT])
    stages = [SizeFilter(), UniformityFilter(), BrightnessFilter(), ContrastFilter(), BlurFilter()]
    run_stages(stages, [batch])
    assert len(loads) == 3


def _counting(function, calls):  # type: ignore[no-untyped-def]
    def counted(*arguments: object) -> object:
        calls.append(arguments)
        return function(*arguments)

    return counted


def test_headers_give_the_upright_size() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = encoded(NOISE.resize((300, 100)), "JPEG", exif=exif)
    [output] = run_stages(
        [ImageMeasures(["width", "height", "format"])], [batch_of([turned])]
    ).outputs
    row = output.to_pylist()[0]
    assert (row["width"], row["height"], row["format"]) == (100, 300, "jpeg")


def test_measures_become_columns() -> None:
    check_stage(ImageMeasures(prefix="m_"), batch_of([NOISE, FLAT]))
    [output] = run_stages([ImageMeasures(prefix="m_")], [batch_of([NOISE, FLAT])]).outputs
    assert set(output.columns()) >= {f"m_{name}" for name in MEASURES}
    assert output.data["m_uniformity"].to_pylist()[1] == 1
    assert output.data["m_entropy"].to_pylist()[1] == 0


def test_measures_that_do_not_exist() -> None:
    assert list(ImageMeasures(["sharpnes"]).check()) == [
        "measures contains 'sharpnes' (did you mean sharpness?)"
    ]
    assert "measures is empty" in next(iter(ImageMeasures([]).check()))


def test_scoring_and_filtering_can_be_two_steps() -> None:
    batch = batch_of([NOISE, SOFT])
    at_once = run_stages([ScoreFilter(BlurFilter(), "blur")], [batch])
    apart = run_stages([Score(BlurFilter(), "blur"), Filter(BlurFilter(), "blur")], [batch])
    by_value = run_stages([Score(BlurFilter(), "blur"), ValueFilter("blur", least=100)], [batch])
    for run in (apart, by_value):
        assert run.outputs[0].data.equals(at_once.outputs[0].data)
    assert apart.report.of(1).reasons == {"sharpness under 100": 1}
    assert by_value.report.of(1).reasons == {"blur under 100": 1}


def test_functions_can_be_rules() -> None:
    def is_wide(picture):  # type: ignore[no-untyped-def]
        return picture.header.width > picture.header.height

    stage = ScoreFilter([is_wide, BlurFilter()], [None, "blur"])
    run = run_stages([stage], [batch_of([NOISE, FLAT, SOFT])])
    assert run.outputs[0].keys == ["sample0"]
    assert run.report.of(0).reasons == {"rejected by is_wide": 1}
    mean = Score(lambda picture: picture.pixels.mean(), "mean")
    [output] = run_stages([mean], [batch_of([FLAT])]).outputs
    assert output.data["mean"].to_pylist() == [120]


def test_a_failing_rule_quarantines_one_picture() -> None:
    def picky(picture):  # type: ignore[no-untyped-def]
        return 1 / (picture.header.width - 300)

    run = run_stages([ScoreFilter(picky)], [batch_of([NOISE, FLAT])], on_error="quarantine")
    assert run.outputs[0].keys == ["sample0"]
    [record] = [one for part in run.report.parts.values() for one in part.quarantined]
    assert record.reason == "ZeroDivisionError: division by zero"


def test_dropped_pictures_keep_their_score() -> None:
    [kept, dropped] = BlurFilter(score_field="blur").process(batch_of([NOISE, SOFT]))
    records = dropped.records()
    assert records.keys == ["sample1"]
    assert records.data["blur"].to_pylist()[0] < 100 < kept.data["blur"].to_pylist()[0]


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
def test_scores_are_counted_for_the_report(stage: object, kept: int, dropped: int) -> None:
    run = run_stages([stage], [batch_of([NOISE, SOFT])])
    scores = run.report.of(0).scores.get("score", Scores())
    assert (sum(scores.kept.values()), sum(scores.dropped.values())) == (kept, dropped)


def test_measures_are_reported_under_their_names() -> None:
    stages = [ImageMeasures(["sharpness", "format"]), ValueFilter("sharpness", least=100)]
    run = run_stages(stages, [batch_of([NOISE, SOFT])])
    measured, cut = run.report.of(0).scores, run.report.of(1).scores["score"]
    assert {name: sum(one.kept.values()) for name, one in measured.items()} == {"sharpness": 2}
    assert (len(cut.kept), len(cut.dropped)) == (1, 1)


def test_wrong_limits_are_reported() -> None:
    assert list(SizeFilter(min_side=None).check()) == ["no limit is set: set min_side or max_side"]
    assert list(SizeFilter(300, 200).check()) == ["min_side is 300, which is above max_side, 200"]
    assert list(FormatFilter(["jepg"]).check()) == ["formats contains 'jepg' (did you mean jpeg?)"]
    assert "choose another name" in next(iter(BlurFilter(score_field="image").check()))
    assert list(ValueFilter("blur").check()) == ["no limit is set: set least, most or both"]


def test_wrong_rules_fail_where_they_are_created() -> None:
    with pytest.raises(PipelineError, match=r"call it to make one, BlurFilter\(...\)"):
        ScoreFilter(BlurFilter)
    with pytest.raises(PipelineError, match="filter_obj is an empty list"):
        ScoreFilter([])
    with pytest.raises(PipelineError, match="score_field has 1 entries for 2 rules"):
        ScoreFilter([BlurFilter(), SizeFilter()], "a")


@pytest.mark.parametrize("stage", [BlurFilter(), SizeFilter()])
def test_an_error_does_not_keep_its_batch_in_memory(stage: ImageFilter) -> None:
    gc.collect()
    gc.disable()  # cycles would hold the pixels of many batches until it comes
    try:
        task = batch_of([NOISE, b"no picture"])
        known = weakref.ref(task)
        outcomes = stage.process(task)
        del task, outcomes
        assert known() is None
    finally:
        gc.enable()
