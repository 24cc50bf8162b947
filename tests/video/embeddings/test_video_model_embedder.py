"""Video models of transformers, and models with their own code."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from curator_core import AnyStage, StageError
from curator_core.testing import check_stage, run_stage, run_stages
from curator_video.analysis.sampling import Sampling
from curator_video.embeddings.embedders import VideoModelEmbedder, pick_evenly
from curator_video.tasks import Clip

Tiny = Callable[[str], str]
Problems = Callable[[AnyStage], list[str]]

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(autouse=True)
def _code_stays_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))


def vectors(clips: list[Clip], **options: Any) -> list[np.ndarray[Any, Any]]:
    ran = run_stages([VideoModelEmbedder(device="cpu", **options)], clips)
    return [np.array(clip.data.vectors["embedding"]) for clip in ran.outputs]


@pytest.mark.parametrize(("kind", "width"), [("x_clip", 16), ("video_mae", 16)])
def test_models_of_transformers_give_unit_vectors(
    tiny: Tiny, harbour_clips: list[Clip], kind: str, width: int
) -> None:
    found = vectors(harbour_clips, model=tiny(kind))
    assert [len(one) for one in found] == [width] * 3
    assert [np.linalg.norm(one) for one in found] == pytest.approx([1, 1, 1])
    assert np.abs(found[0] - found[1]).max() > 1e-4


def test_a_model_with_its_own_code_gets_its_processors_input(
    tiny: Tiny, harbour_clips: list[Clip]
) -> None:
    """Compute the head by hand, on frames sampled by another stage."""
    from safetensors.numpy import load_file

    folder = tiny("own_code")
    [found] = vectors(harbour_clips[:1], model=folder, trust_remote_code=True)
    head = load_file(Path(folder) / "model.safetensors")
    stage = VideoModelEmbedder(model=folder)
    seen = stage.analyze(harbour_clips[0]).sampled_frames(Sampling(2.0, 448))
    means = np.concatenate([one.mean((0, 1)) / 255 for one in pick_evenly([p for _, p in seen], 4)])
    wanted = head["head.weight"] @ means + head["head.bias"]
    assert found == pytest.approx(wanted / np.linalg.norm(wanted), abs=1e-5)


def test_model_code_runs_only_if_trusted(tiny: Tiny, harbour_clips: list[Clip]) -> None:
    pattern = r"its own code \(modeling_tiny_embed\.py\).*set trust_remote_code to true"
    with pytest.raises(StageError, match=pattern):
        vectors(harbour_clips[:1], model=tiny("own_code"))


def test_frames_are_picked_evenly() -> None:
    pictures: Any = list(range(9))
    assert pick_evenly(pictures, 3) == [0, 4, 8]
    assert pick_evenly(pictures, 1) == [4]
    assert pick_evenly(pictures[:2], 4) == [0, 0, 1, 1]


def test_the_model_is_recorded_with_the_vector(tiny: Tiny, harbour_clips: list[Clip]) -> None:
    folder = tiny("x_clip")
    [found] = run_stage(VideoModelEmbedder(model=folder, device="cpu"), harbour_clips[0])
    assert str(found.scores["embedding_model"]).startswith(f"{folder} sha256:")


def test_wrong_options_are_reported(tmp_path: Path, problems: Problems) -> None:
    (tmp_path / "model").mkdir()
    stage = VideoModelEmbedder(model=str(tmp_path / "modle"), fps=0, pictures=0)
    first, *others = problems(stage)
    assert "did you mean" in first
    assert others == ["pictures is 0", "fps is 0"]


def test_stage_contract(tiny: Tiny, harbour_clips: list[Clip]) -> None:
    check_stage(VideoModelEmbedder(model=tiny("x_clip"), device="cpu"), harbour_clips[0])
