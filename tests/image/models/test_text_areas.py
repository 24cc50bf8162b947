"""Text in pictures: found, measured, read."""

from importlib.util import find_spec

import pytest
from curator_core.testing import run_stage
from curator_image.models.text_areas import TextAreaFilter, covered
from drawings import batch, encoded
from PIL import Image, ImageDraw, ImageFont

needs_rapidocr = pytest.mark.skipif(
    not (find_spec("rapidocr") and find_spec("onnxruntime")),
    reason="the extra `ocr` of curator-image, with OpenCV over 60 MB",
)


def written(text: str, lines: int) -> bytes:
    image = Image.new("RGB", (480, 320), (250, 245, 230))
    draw = ImageDraw.Draw(image)
    for line in range(lines):
        draw.text((20, 20 + 48 * line), text, (20, 20, 60), ImageFont.load_default(36))
    return encoded(image)


def test_what_overlaps_counts_once() -> None:
    half = [(0, 0), (50, 0), (50, 40), (0, 40)]
    assert covered([half], 100, 40) == pytest.approx(0.5, abs=0.01)
    assert covered([half, half], 100, 40) == covered([half], 100, 40)
    assert covered([], 100, 40) == 0.0


@needs_rapidocr
def test_pictures_full_of_text_go() -> None:
    task = batch(written("curated data", 6), written("a word", 1), written("", 0))
    stage = TextAreaFilter(max_area=0.2, text_field="said", device="cpu")
    [kept] = run_stage(stage, task)
    assert kept.keys == ["b", "c"]
    [first, second] = kept.to_pylist()
    assert first["said"].replace(" ", "").lower() == "aword"
    assert 0.01 < first["text_area"] < 0.2
    assert (second["said"], second["text_area"]) == ("", 0.0)
    assert first["text_area_model"].startswith("rapidocr sha256:")
    [unread] = run_stage(TextAreaFilter(max_area=None, device="cpu"), task)
    assert "said" not in unread.columns()
    areas = unread.data["text_area"].to_pylist()
    assert areas[0] > 0.3
    assert areas[1:] == pytest.approx([first["text_area"], 0.0], abs=0.02)


def disks(width: int, height: int) -> bytes:
    image = Image.new("RGB", (width, height), (40, 90, 160))
    draw = ImageDraw.Draw(image)
    for number, colour in enumerate(["gold", "tomato", "seagreen", "white", "navy"]):
        left, top = number * width // 6, number * height // 9
        draw.ellipse((left, top, left + width // 3, top + width // 3), fill=colour)
    return encoded(image)


@needs_rapidocr
def test_coloured_areas_are_no_text() -> None:
    task = batch(disks(640, 360), disks(360, 360), written("curated data", 4))
    [found] = run_stage(TextAreaFilter(max_area=None, device="cpu"), task)
    *none, text = found.data["text_area"].to_pylist()
    assert none == [0.0, 0.0]
    assert text > 0.2


@pytest.mark.skipif(bool(find_spec("rapidocr")), reason="rapidocr is installed")
def test_what_lacks_is_named_with_its_command() -> None:
    [part, _] = TextAreaFilter(device="cpu").parts()
    [problem] = part.check()
    assert problem.startswith("finding text needs rapidocr, which is not installed")
    assert problem.endswith("which is not installed: pip install 'curator-image[ocr]'")
