"""Text in pictures is found, read and measured, and watermarks are recognized by their words."""

from importlib.util import find_spec

import pyarrow as pa
import pytest
from curator_core import Dropped, InputError
from curator_core.testing import run_stage
from curator_image.models.ocr import (
    WORDS,
    TextAreaFilter,
    WatermarkFilter,
    WatermarkWords,
    covered_share,
)
from drawings import batch, drawn, encoded
from PIL import Image, ImageDraw, ImageFont

needs_rapidocr = pytest.mark.skipif(
    not (find_spec("rapidocr") and find_spec("onnxruntime")),
    reason="the extra `ocr` of curator-image, with OpenCV over 60 MB",
)

TEXTS = [
    "Shutter-\nSTOCK",
    "a harbour",
    None,
    "www.alamy.com \u00b7 2AB",
    "iStock\niStock",
    "alamy",
]


def written(text: str, lines: int) -> bytes:
    image = Image.new("RGB", (480, 320), (250, 245, 230))
    draw = ImageDraw.Draw(image)
    for line in range(lines):
        draw.text((20, 20 + 48 * line), text, (20, 20, 60), ImageFont.load_default(36))
    return encoded(image)


def disks(width: int, height: int) -> bytes:
    image = Image.new("RGB", (width, height), (40, 90, 160))
    draw = ImageDraw.Draw(image)
    for number, colour in enumerate(["gold", "tomato", "seagreen", "white", "navy"]):
        left, top = number * width // 6, number * height // 9
        draw.ellipse((left, top, left + width // 3, top + width // 3), fill=colour)
    return encoded(image)


class TestTextArea:
    def test_overlapping_areas_count_once(self) -> None:
        half = [(0, 0), (50, 0), (50, 40), (0, 40)]
        assert covered_share([half], 100, 40) == pytest.approx(0.5, abs=0.01)
        assert covered_share([half, half], 100, 40) == covered_share([half], 100, 40)
        assert covered_share([], 100, 40) == 0.0

    @needs_rapidocr
    def test_pictures_full_of_text_are_dropped(self) -> None:
        task = batch(written("curated data", 6), written("a word", 1), written("", 0))
        stage = TextAreaFilter(max_area=0.2, text_field="text", device="cpu")
        [kept] = run_stage(stage, task)
        assert kept.keys == ["b", "c"]
        [first, second] = kept.to_pylist()
        assert first["text"].replace(" ", "").lower() == "aword"
        assert 0.01 < first["text_area"] < 0.2
        assert (second["text"], second["text_area"]) == ("", 0.0)
        assert first["text_area_model"].startswith("rapidocr sha256:")
        [unread] = run_stage(TextAreaFilter(max_area=None, device="cpu"), task)
        assert "text" not in unread.columns()
        areas = unread.data["text_area"].to_pylist()
        assert areas[0] > 0.3
        assert areas[1:] == pytest.approx([first["text_area"], 0.0], abs=0.02)

    @needs_rapidocr
    def test_coloured_areas_are_not_text(self) -> None:
        task = batch(disks(640, 360), disks(360, 360), written("curated data", 4))
        [scored] = run_stage(TextAreaFilter(max_area=None, device="cpu"), task)
        *none, text = scored.data["text_area"].to_pylist()
        assert none == [0.0, 0.0]
        assert text > 0.2

    @pytest.mark.skipif(bool(find_spec("rapidocr")), reason="rapidocr is installed")
    def test_a_missing_library_is_named_with_its_command(self) -> None:
        [part, _] = TextAreaFilter(device="cpu").parts()
        [problem] = part.check()
        assert "needs rapidocr, which is not installed" in problem
        assert problem.endswith("pip install 'curator-image[ocr]'")


def find_watermarks(drops: bool = True) -> list[object]:
    pictures = [encoded(drawn(1, (8, 8)))] * len(TEXTS)
    task = batch(*pictures, text_seen=pa.array(TEXTS, pa.string()))
    return WatermarkWords("text_seen", WORDS, "watermark", drops).process(task)


class TestWatermarks:
    def test_each_word_is_a_reason_however_it_is_spelled(self) -> None:
        kept, *dropped = find_watermarks()
        assert kept.keys == ["b", "c"]
        assert kept.data["watermark"].null_count == 2
        counts = {note.reason: note.items for note in dropped if isinstance(note, Dropped)}
        assert counts == {
            "watermark: shutterstock": 1,
            "watermark: alamy": 2,
            "watermark: istock": 1,
        }

    def test_pictures_can_be_marked_and_kept(self) -> None:
        [marked] = find_watermarks(drops=False)
        expected = ["shutterstock", None, None, "alamy", "istock", "alamy"]
        assert marked.data["watermark"].to_pylist() == expected

    def test_wrong_words_and_columns_are_named(self) -> None:
        *_, stage = WatermarkFilter(words=["--"], device="cpu").parts()
        [problem] = stage.check()
        assert "'--'" in problem
        *_, stage = WatermarkFilter(words=[], device="cpu").parts()
        [problem] = stage.check()
        assert problem.startswith("words is empty")
        task = batch(encoded(drawn(1, (8, 8))), text_seen=[1])
        with pytest.raises(InputError, match="int64"):
            WatermarkWords("text_seen", WORDS, "watermark", True).process(task)

    @needs_rapidocr
    def test_words_are_read_from_pictures(self) -> None:
        task = batch(written("shutterstock", 2), written("a harbour", 1))
        [kept] = run_stage(WatermarkFilter(device="cpu"), task)
        assert kept.keys == ["b"]
        assert kept.data["text_seen"][0].as_py().replace(" ", "").lower() == "aharbour"
