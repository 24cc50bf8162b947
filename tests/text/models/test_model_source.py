"""Models are found without a network, in a cache of Hugging Face filled by the test."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from curator_core import DocumentBatch, StageError
from curator_core.testing import run_stage
from curator_text import SequenceClassifier
from curator_text.models.base import TextModelSource

Tiny = Callable[[str], str]


@pytest.fixture
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


def cached(cache: Path, name: str, folder: str, revision: str = "main") -> None:
    """Copy a folder to where its download would be."""
    repo = cache / f"models--{name.replace('/', '--')}"
    shutil.copytree(folder, repo / "snapshots" / ("0" * 40))
    (repo / "refs").mkdir()
    (repo / "refs" / revision).write_text("0" * 40)


@pytest.mark.usefixtures("_offline")
def test_name_is_found_in_the_cache(tiny: Tiny, tmp_path: Path) -> None:
    cached(tmp_path, "someone/labels", tiny("labels"), "v2")
    task = DocumentBatch.from_pylist([{"text": "river"}])
    stage = SequenceClassifier(
        model="someone/labels", revision="v2", cache_dir=str(tmp_path), device="cpu"
    )
    [found] = run_stage(stage, task)
    [expected] = run_stage(SequenceClassifier(model=tiny("labels"), device="cpu"), task)
    assert found.data == expected.data


@pytest.mark.usefixtures("_offline")
def test_missing_model_error_says_what_to_give(tmp_path: Path) -> None:
    stage = SequenceClassifier(model="someone/gone", cache_dir=str(tmp_path), device="cpu")
    with pytest.raises(StageError) as caught:
        run_stage(stage, DocumentBatch.from_pylist([{"text": "river"}]))
    message = str(caught.value)
    assert "stage 'sequence_classifier_tokens' could not prepare its node" in message
    assert "cannot get model 'someone/gone' from Hugging Face: " in message
    assert "set HF_HUB_OFFLINE=1" in message
    assert "token_variable" in message


def test_missing_packages_are_named_with_their_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("curator_core.model.optional_dependencies.find_spec", lambda name: None)
    [problem] = TextModelSource("owner/name").problems()
    for fact in ("'owner/name'", "torch, transformers and safetensors", "'curator-text[models]'"):
        assert fact in problem
