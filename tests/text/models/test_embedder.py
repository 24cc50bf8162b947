from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_models as made
import torch
from curator_core import DocumentBatch, StageError
from curator_core.testing import check_stage, run_stage
from curator_models.transformers_compat import import_transformers
from curator_text import TextEmbedder

Tiny = Callable[[str], str]
TEXTS = ["river mountain wind", "buy now", None, "casino " * 20]


def vectors_of(folder: str, **options: Any) -> list[list[float] | None]:
    stage = TextEmbedder(model=folder, device="cpu", **options)
    [out] = run_stage(stage, DocumentBatch.from_pylist([{"text": text} for text in TEXTS]))
    return list(out.data["embedding"].to_pylist())


def by_hand(folder: str, text: str, pooling: str, length: int = 6) -> torch.Tensor:
    tokens = import_transformers().AutoTokenizer.from_pretrained(folder)(
        text, return_tensors="pt", truncation=True, max_length=length
    )
    model = import_transformers().BertModel.from_pretrained(folder, add_pooling_layer=False).eval()
    with torch.inference_mode():
        hidden = model(tokens["input_ids"]).last_hidden_state[0]
    return {"mean": hidden.mean(dim=0), "cls": hidden[0], "last_token": hidden[-1]}[pooling]


def test_sentence_transformers_settings_are_used(tiny: Tiny) -> None:
    folder = tiny("sentences")
    for found, text in zip(vectors_of(folder), TEXTS, strict=True):
        if text is None:
            assert found is None
            continue
        expected = by_hand(folder, text, "mean")
        assert found == pytest.approx((expected / expected.norm()).tolist(), abs=1e-5)


@pytest.mark.parametrize("pooling", ["cls", "last_token", "mean"])
def test_pooling_and_normalization_can_be_set(tiny: Tiny, pooling: str) -> None:
    folder = tiny("sentences")
    [found, *_] = vectors_of(folder, pooling=pooling, normalize=False)
    assert found == pytest.approx(by_hand(folder, TEXTS[0] or "", pooling).tolist(), abs=1e-5)


def test_prefix_is_added_to_every_text(tiny: Tiny) -> None:
    [found, *_] = vectors_of(tiny("sentences"), prefix="slow ", normalize=False, max_seq_length=9)
    expected = by_hand(tiny("sentences"), f"slow {TEXTS[0]}", "mean", 9)
    assert found == pytest.approx(expected.tolist(), abs=1e-5)


@pytest.mark.parametrize(
    ("settings", "pooling"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_lasttoken": True}, "last_token"),
        ({"pooling_mode": "lasttoken"}, "last_token"),
    ],
)
def test_pooling_is_read_from_the_folder(
    tmp_path: Path, settings: dict[str, bool], pooling: str
) -> None:
    folder = str(made.save_sentence_model(tmp_path / "m", settings, normalize=False))
    [found, *_] = vectors_of(folder)
    assert found == pytest.approx(by_hand(folder, TEXTS[0] or "", pooling).tolist(), abs=1e-5)


def test_unsupported_parts_and_pooling_are_refused(tmp_path: Path) -> None:
    folder = made.save_sentence_model(
        tmp_path / "m", {"pooling_mode_max_tokens": True}, normalize=False
    )
    with pytest.raises(
        StageError, match=r"unsupported pooling \(pooling_mode_max_tokens\); set pooling"
    ):
        vectors_of(str(folder))
    listed = folder / "modules.json"
    listed.write_text(listed.read_text().replace("models.Pooling", "models.Dense"))
    with pytest.raises(StageError, match="part of type 'Dense', which needs sentence-transformers"):
        vectors_of(str(folder))


def test_stage_fulfills_the_stage_contract(tiny: Tiny) -> None:
    sample = DocumentBatch.from_pylist([{"text": text} for text in TEXTS])
    check_stage(TextEmbedder(model=tiny("sentences"), device="cpu"), sample)
