"""Faces are blurred, and the rest of the picture is unchanged."""

import io
from collections.abc import Callable

import numpy as np
import pytest
from curator_core import AnyStage, Rejected
from curator_core.testing import run_stage
from curator_image import FaceBlurrer
from drawings import batch, drawn, encoded
from PIL import Image

Problems = Callable[[AnyStage], list[str]]

BOX = [0.25, 0.25, 0.5, 0.5]


def noise() -> Image.Image:
    chance = np.random.default_rng(4)
    return Image.fromarray(chance.integers(0, 255, (128, 128, 3), np.uint8))


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def test_only_the_face_changes() -> None:
    picture = noise()
    [found] = run_stage(FaceBlurrer(), batch(encoded(picture), faces=[[BOX]]))
    before, after = np.asarray(picture).astype(int), pixels(found.data["image"][0].as_py())
    face = (slice(40, 56), slice(40, 56))
    assert after[face].std() < before[face].std() / 4
    outside = np.ones((128, 128), bool)
    outside[24:74, 24:74] = False
    assert (after[outside] == before[outside]).all()


def test_pictures_without_faces_keep_their_bytes() -> None:
    first, second = encoded(noise(), "JPEG"), encoded(drawn(1))
    task = batch(first, second, faces=[[BOX], []])
    [found] = run_stage(FaceBlurrer(), task)
    assert found.data["image"][1].as_py() == second
    assert found.data["image"][0].as_py() != first
    [same] = FaceBlurrer().process(batch(first, second, faces=[[], None]))
    assert same.data["image"].to_pylist() == [first, second]


@pytest.mark.parametrize(
    ("kind", "written"), [("JPEG", "jpeg"), ("PNG", "png"), ("WEBP", "webp"), ("TIFF", "png")]
)
def test_lossless_pictures_stay_lossless(kind: str, written: str) -> None:
    task = batch(encoded(drawn(1), kind), faces=[[BOX]]).with_columns({"extension": ["left.img"]})
    [found] = run_stage(FaceBlurrer(), task)
    image = Image.open(io.BytesIO(found.data["image"][0].as_py()))
    assert str(image.format).lower() == written
    assert found.data["extension"][0].as_py() == f"left.{written.replace('jpeg', 'jpg')}"


def test_a_damaged_picture_is_quarantined() -> None:
    task = batch(encoded(drawn(1)), b"broken", faces=[[BOX], [BOX]])
    found, rejected = FaceBlurrer().process(task)
    assert found.keys == ["a"]
    assert isinstance(rejected, Rejected)
    assert "key 'b'" in rejected.where


def test_invalid_options(problems: Problems) -> None:
    assert problems(FaceBlurrer(margin=-1, quality=0)) == [
        "margin is -1",
        "quality is 0",
    ]
