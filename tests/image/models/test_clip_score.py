"""Texts and pictures are compared as transformers compares them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from curator_core import StageError
from curator_core.model.stages import flatten
from curator_core.testing import check_stage, run_stage
from curator_image.models.clip_score import ClipScoreFilter
from curator_image.models.embedder import ImageEmbedder
from curator_models.transformers_compat import import_transformers
from drawings import batch, drawn, encoded

Tiny = Callable[[str], str]
TEXTS = ["a red circle", "photo of a dog", None, "  ", "blue square " * 20]


def task() -> object:
    return batch(*[encoded(drawn(number, (64, 64))) for number in range(5)], txt=TEXTS)


def test_the_score_is_the_cosine_of_both(tiny: Tiny) -> None:
    library, folder = import_transformers(), tiny("clip")
    [found] = run_stage(ClipScoreFilter(model=folder, min_score=None, device="cpu"), task())
    scores = found.data["clip_score"].to_pylist()
    assert scores[2:4] == [None, None]

    model = library.CLIPModel.from_pretrained(folder)
    tokens = library.AutoTokenizer.from_pretrained(folder)(TEXTS[1], return_tensors="pt")
    seen = library.CLIPImageProcessor.from_pretrained(folder)(
        images=[drawn(1, (64, 64))], return_tensors="pt"
    )
    with torch.inference_mode():
        both = model(**tokens, **seen)
    cosine = torch.nn.functional.cosine_similarity(both.image_embeds, both.text_embeds)
    assert scores[1] == pytest.approx(float(cosine), abs=1e-4)
    assert not [name for name in found.columns() if name.startswith("_")]


def test_pictures_with_other_texts_are_dropped(tiny: Tiny) -> None:
    [scored] = run_stage(ClipScoreFilter(model=tiny("clip"), min_score=None, device="cpu"), task())
    scores = [s for s in scored.data["clip_score"].to_pylist() if s is not None]
    limit = sorted(scores)[1]
    stage = ClipScoreFilter(model=tiny("clip"), min_score=limit, device="cpu")
    [kept] = run_stage(stage, task())
    assert kept.data["clip_score"].to_pylist() == [s for s in scores if s >= limit]


def test_existing_vectors_are_used(tiny: Tiny) -> None:
    [embedded] = run_stage(ImageEmbedder(model=tiny("clip"), device="cpu"), task())
    stage = ClipScoreFilter(
        model=tiny("clip"), embedding_field="embedding", min_score=None, device="cpu"
    )
    assert [part.name for part in flatten([stage])] == ["clip_score_filter"]
    [found] = run_stage(stage, embedded)
    [expected] = run_stage(
        ClipScoreFilter(model=tiny("clip"), min_score=None, device="cpu"), task()
    )
    assert found.data["clip_score"] == expected.data["clip_score"]


def test_vectors_of_another_model_are_refused(tiny: Tiny) -> None:
    other = batch(encoded(drawn(1)), txt=["a dog"], embedding=[[1.0, 2.0]])
    stage = ClipScoreFilter(model=tiny("clip"), embedding_field="embedding", device="cpu")
    with pytest.raises(StageError, match=r"have 2 numbers, but .* makes 12"):
        run_stage(stage, other)


def test_the_parts_pass_the_stage_checks(tiny: Tiny) -> None:
    check_stage(ClipScoreFilter(model=tiny("clip"), min_score=-1.0, device="cpu"), task())


def test_a_folder_without_a_tokenizer_is_refused(tiny: Tiny, tmp_path: Path) -> None:
    bare = shutil.copytree(tiny("clip"), tmp_path / "bare")
    for file in [*bare.glob("*token*"), *bare.glob("vocab*"), *bare.glob("merges*")]:
        file.unlink()
    stage = ClipScoreFilter(model=str(bare), device="cpu")
    with pytest.raises(StageError, match=r"cannot load a tokenizer from .*bare"):
        run_stage(stage, task())
