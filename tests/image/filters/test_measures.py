"""Measures become columns, and filters compare them with limits."""

from curator_core.testing import check_stage, run_stages
from curator_image.filters.measures import MEASURES, ImageMeasures
from curator_image.filters.size import SizeFilter
from curator_image.filters.values import ValueFilter
from drawings import encoded
from PIL import Image
from sample_pictures import FLAT, NOISE, SOFT, batch_of


def test_headers_give_the_upright_size() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = encoded(NOISE.resize((300, 100)), "JPEG", exif=exif)
    stage = ImageMeasures(["width", "height", "format"])
    [output] = run_stages([stage], [batch_of(turned)]).outputs
    [row] = output.to_pylist()
    assert (row["width"], row["height"], row["format"]) == (100, 300, "jpeg")


def test_measures_become_columns() -> None:
    stage = ImageMeasures(prefix="m_")
    check_stage(stage, batch_of(NOISE, FLAT))
    [output] = run_stages([stage], [batch_of(NOISE, FLAT)]).outputs
    assert set(output.columns()) >= {f"m_{name}" for name in MEASURES}
    assert output.data["m_uniformity"].to_pylist()[1] == 1
    assert output.data["m_entropy"].to_pylist()[1] == 0


def test_measures_are_reported_under_their_names() -> None:
    stages = [ImageMeasures(["sharpness", "format"]), ValueFilter("sharpness", least=100)]
    run = run_stages(stages, [batch_of(NOISE, SOFT)])
    measured, filtered = run.report.of(0).scores, run.report.of(1).scores["score"]
    assert {name: sum(one.kept.values()) for name, one in measured.items()} == {"sharpness": 2}
    assert (len(filtered.kept), len(filtered.dropped)) == (1, 1)


def test_unknown_measures_are_reported() -> None:
    [problem] = ImageMeasures(["sharpnes"]).check()
    assert "'sharpnes' (did you mean sharpness?)" in problem
    [problem] = ImageMeasures([]).check()
    assert "measures is empty" in problem


def test_missing_and_contradictory_limits_are_reported() -> None:
    [problem] = SizeFilter(min_side=None).check()
    assert "min_side or max_side" in problem
    [problem] = SizeFilter(300, 200).check()
    assert "min_side is 300" in problem
