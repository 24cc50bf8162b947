"""Aesthetic and NSFW heads score CLIP vectors."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from curator_core import StageError
from curator_core.errors import PipelineError
from curator_core.model.stages import flatten
from curator_core.testing import run_stage
from curator_image.models.aesthetic import AestheticFilter
from curator_image.models.embedder import ImageEmbedder
from curator_image.models.heads import load_head
from curator_image.models.nsfw import NSFWFilter
from curator_models.hub import ModelError
from drawings import batch, drawn, encoded
from safetensors.torch import load_file

Tiny = Callable[[str], str]


def pictures() -> list[bytes]:
    return [encoded(drawn(number)) for number in range(5)]


def test_an_aesthetic_head_has_linear_layers_only(tiny: Tiny) -> None:
    folder = Path(tiny("head"))
    state = load_file(folder / "model.safetensors")
    vectors = np.random.default_rng(1).normal(size=(4, 12)).astype(np.float32)
    values = torch.from_numpy(vectors)
    for place in (0, 2, 10):  # by number: 10 comes behind 2
        values = values @ state[f"layers.{place}.weight"].T + state[f"layers.{place}.bias"]
    for name in ("model.safetensors", "head.pth"):
        found = load_head(folder / name, "linear").scores(vectors)
        assert found == pytest.approx(values[:, 0].numpy(), abs=1e-6)


def test_an_nsfw_head_has_relus_and_returns_a_probability(tiny: Tiny) -> None:
    folder = Path(tiny("detector"))
    state = load_file(folder / "model.safetensors")
    vectors = np.random.default_rng(1).normal(size=(4, 12)).astype(np.float32)
    values = (torch.from_numpy(vectors) - state["norm.mean"]) / state["norm.variance"].sqrt()
    values = torch.relu(values @ state["linear_1.weight"].T + state["linear_1.bias"])
    values = torch.sigmoid(values @ state["linear_2.weight"].T + state["linear_2.bias"])
    found = load_head(folder / "model.safetensors", "relu_sigmoid").scores(vectors)
    assert found == pytest.approx(values[:, 0].numpy(), abs=1e-5)


def test_pictures_are_kept_by_their_score(tiny: Tiny) -> None:
    options = {"clip": tiny("clip"), "head_weights": tiny("head"), "device": "cpu"}
    [scored] = run_stage(AestheticFilter(**options, min_score=None), batch(*pictures()))
    scores = scored.data["aesthetic_score"].to_pylist()
    limit = sorted(scores)[2]
    [kept] = run_stage(AestheticFilter(**options, min_score=limit), batch(*pictures()))
    assert kept.data["aesthetic_score"].to_pylist() == [s for s in scores if s >= limit]
    assert "_curator_clip_vectors" not in kept.columns()
    assert kept.data["aesthetic_model"][0].as_py().startswith("model.safetensors sha256:")


def test_existing_vectors_are_not_computed_again(tiny: Tiny) -> None:
    [embedded] = run_stage(ImageEmbedder(model=tiny("clip"), device="cpu"), batch(*pictures()))
    stage = AestheticFilter(
        embedding_field="embedding", head_weights=tiny("head"), min_score=None, device="cpu"
    )
    assert [part.name for part in flatten([stage])] == ["aesthetic_filter"]
    [found] = run_stage(stage, embedded)
    both = AestheticFilter(
        clip=tiny("clip"), head_weights=tiny("head"), min_score=None, device="cpu"
    )
    [expected] = run_stage(both, batch(*pictures()))
    assert found.data["aesthetic_score"] == expected.data["aesthetic_score"]
    assert "embedding" in found.columns()


def test_vectors_of_another_model_are_refused(tiny: Tiny) -> None:
    task = batch(*pictures(), embedding=[[1.0, 2.0]] * 5)
    stage = AestheticFilter(embedding_field="embedding", head_weights=tiny("head"), device="cpu")
    with pytest.raises(StageError, match="have 2 numbers, but the head expects 12"):
        run_stage(stage, task)


def test_a_file_that_is_not_a_head(tmp_path: Path) -> None:
    file = tmp_path / "head.pth"
    torch.save({"weight": torch.zeros(3, 4), "bias": torch.zeros(3)}, file)
    with pytest.raises(ModelError, match="is not a head that turns a vector into one number"):
        load_head(file, "linear")
    file.write_bytes(b"PK broken")
    with pytest.raises(ModelError, match="contains more than weights, and is not read for safety"):
        load_head(file, "linear")
    broken = tmp_path / "head.safetensors"
    broken.write_bytes(b"broken")
    with pytest.raises(ModelError, match=r"cannot read the weights in .*safetensors"):
        load_head(broken, "linear")


def test_an_nsfw_head(tiny: Tiny) -> None:
    stage = NSFWFilter(
        clip=tiny("clip"), head_weights=tiny("detector"), max_score=None, device="cpu"
    )
    [found] = run_stage(stage, batch(*pictures()))
    assert all(0 < score < 1 for score in found.data["nsfw_score"].to_pylist())


def test_vectors_without_a_head_are_a_mistake() -> None:
    with pytest.raises(PipelineError, match="embedding_field needs a head over CLIP"):
        NSFWFilter(embedding_field="embedding")
