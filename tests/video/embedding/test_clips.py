"""Models that look at several pictures at once, whoever wrote their code."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from curator_core import StageError
from curator_core.testing import check_stage, run_stage, run_stages
from curator_video.analysis.wants import Sampling
from curator_video.clips import Clip
from curator_video.embedding.clips import VideoModelEmbedder
from curator_video.models.sampling import spread

Tiny = Callable[[str], str]

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(autouse=True)
def _code_stays_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))


def vectors(clips: list[Clip], **options: Any) -> list[np.ndarray[Any, Any]]:
    ran = run_stages([VideoModelEmbedder(device="cpu", **options)], clips)
    return [np.array(clip.data.vectors["embedding"]) for clip in ran.outputs]


@pytest.mark.parametrize(("kind", "width"), [("x_clip", 16), ("video_mae", 16)])
def test_models_that_transformers_knows(
    tiny: Tiny, harbour_clips: list[Clip], kind: str, width: int
) -> None:
    found = vectors(harbour_clips, model=tiny(kind))
    assert [len(one) for one in found] == [width] * 3
    assert [np.linalg.norm(one) for one in found] == pytest.approx([1, 1, 1])
    assert np.abs(found[0] - found[1]).max() > 1e-4


def test_a_model_with_code_of_its_own_is_shown_what_its_processor_makes(
    tiny: Tiny, harbour_clips: list[Clip]
) -> None:
    """The head is worked out by hand, of pictures that are found by another stage."""
    from safetensors.numpy import load_file

    folder = tiny("brought")
    [found] = vectors(harbour_clips[:1], model=folder, trust_remote_code=True)
    head = load_file(Path(folder) / "model.safetensors")
    stage = VideoModelEmbedder(model=folder)
    seen = stage.findings(harbour_clips[0]).pictures(Sampling(2.0, 448))
    means = np.concatenate([one.mean((0, 1)) / 255 for one in spread([p for _, p in seen], 4)])
    wanted = head["head.weight"] @ means + head["head.bias"]
    assert found == pytest.approx(wanted / np.linalg.norm(wanted), abs=1e-5)


def test_its_code_runs_only_where_somebody_trusts_it(tiny: Tiny, harbour_clips: list[Clip]) -> None:
    with pytest.raises(StageError, match=r"brings code of its own \(modeling_tiny_embed\.py\).*set "
                       "trust_remote_code to true if you trust it"):  # fmt: skip
        vectors(harbour_clips[:1], model=tiny("brought"))


def test_pictures_are_spread_over_the_clip() -> None:
    pictures: Any = list(range(9))
    assert spread(pictures, 3) == [0, 4, 8]
    assert spread(pictures, 1) == [4]
    assert spread(pictures[:2], 4) == [0, 0, 1, 1]


def test_the_model_stands_beside_the_vector(tiny: Tiny, harbour_clips: list[Clip]) -> None:
    folder = tiny("x_clip")
    [found] = run_stage(VideoModelEmbedder(model=folder, device="cpu"), harbour_clips[0])
    assert str(found.scores["embedding_model"]).startswith(f"{folder} sha256:")


def test_mistakes_are_told_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    told = list(VideoModelEmbedder(model=str(tmp_path / "modle"), fps=0, pictures=0).check())
    assert "did you mean" in told[0]
    assert told[1:] == [
        "pictures is 0, but must be 1 or more", "fps is 0, but must be more than 0",
    ]  # fmt: skip


def test_it_keeps_what_every_stage_promises(tiny: Tiny, harbour_clips: list[Clip]) -> None:
    check_stage(VideoModelEmbedder(model=tiny("x_clip"), device="cpu"), harbour_clips[0])
