"""Watermarks: words that are found however they are spelled, and read where OCR is installed."""

import pyarrow as pa
import pytest
from curator_core import Dropped, InputError
from curator_core.testing import run_stage
from curator_image.models.watermarks import WORDS, MarkedPictures, WatermarkFilter
from drawings import batch, drawn, encoded
from test_text_areas import needs_rapidocr, written

SAID = ["Shutter-\nSTOCK", "a harbour", None, "www.alamy.com \u00b7 2AB", "iStock\niStock", "alamy"]


def read(drops: bool = True) -> list[object]:
    pictures = [encoded(drawn(1, (8, 8)))] * len(SAID)
    task = batch(*pictures, text_seen=pa.array(SAID, pa.string()))
    return MarkedPictures("text_seen", WORDS, "watermark", drops).process(task)


def test_each_word_is_a_reason() -> None:
    kept, *dropped = read()
    assert kept.keys == ["b", "c"]
    assert kept.data["watermark"].null_count == 2
    found = {note.reason: note.items for note in dropped if isinstance(note, Dropped)}
    assert found == {"watermark: shutterstock": 1, "watermark: alamy": 2, "watermark: istock": 1}


def test_pictures_may_only_be_marked() -> None:
    [marked] = read(drops=False)
    expected = ["shutterstock", None, None, "alamy", "istock", "alamy"]
    assert marked.data["watermark"].to_pylist() == expected


def test_wrong_words_and_columns_are_named() -> None:
    *_, stage = WatermarkFilter(words=["--"], device="cpu").parts()
    assert list(stage.check()) == ["words has '--', which has neither letters nor digits"]
    *_, stage = WatermarkFilter(words=[], device="cpu").parts()
    assert list(stage.check()) == ["words is empty; name what marks a picture, or leave it out"]
    task = batch(encoded(drawn(1, (8, 8))), text_seen=[1])
    with pytest.raises(InputError, match="holds int64, but must hold text"):
        MarkedPictures("text_seen", WORDS, "watermark", True).process(task)


@needs_rapidocr
def test_marks_are_read() -> None:
    task = batch(written("shutterstock", 2), written("a harbour", 1))
    [kept] = run_stage(WatermarkFilter(device="cpu"), task)
    assert kept.keys == ["b"]
    assert kept.data["text_seen"][0].as_py().replace(" ", "").lower() == "aharbour"
