"""Finding models, with no network: the real cache of Hugging Face, filled by hand."""

import shutil
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from curator_core import DocumentBatch, StageError
from curator_core.testing import run_stage
from curator_models.locating import ModelError, settings_in
from curator_text import SequenceClassifier
from curator_text.models.locating import ModelSource

Tiny = Callable[[str], str]


@pytest.fixture
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


def cached(cache: Path, name: str, folder: str, revision: str = "main") -> None:
    """Put a folder where a download of it would be."""
    repo = cache / f"models--{name.replace('/', '--')}"
    shutil.copytree(folder, repo / "snapshots" / ("0" * 40))
    (repo / "refs").mkdir()
    (repo / "refs" / revision).write_text("0" * 40)


@pytest.mark.usefixtures("_offline")
def test_a_name_is_looked_up_in_the_cache(tiny: Tiny, tmp_path: Path) -> None:
    cached(tmp_path, "someone/labels", tiny("labels"), "v2")
    task = DocumentBatch.from_pylist([{"text": "river"}])
    stage = SequenceClassifier(
        model="someone/labels", revision="v2", cache_dir=str(tmp_path), device="cpu"
    )
    [found] = run_stage(stage, task)
    [expected] = run_stage(SequenceClassifier(model=tiny("labels"), device="cpu"), task)
    assert found.data == expected.data


@pytest.mark.usefixtures("_offline")
def test_what_is_not_there_says_what_to_give(tmp_path: Path) -> None:
    stage = SequenceClassifier(model="someone/gone", cache_dir=str(tmp_path), device="cpu")
    with pytest.raises(StageError) as caught:
        run_stage(stage, DocumentBatch.from_pylist([{"text": "river"}]))
    told = str(caught.value)
    assert "stage 'sequence_classifier_tokens' could not prepare its node" in told
    assert "model 'someone/gone' cannot be had from Hugging Face: " in told
    assert "give the folder of a model, or its name at Hugging Face, such as 'owner/name'" in told
    assert "set HF_HUB_OFFLINE=1" in told
    assert "token_variable" in told


def test_a_folder_needs_no_cache(tiny: Tiny) -> None:
    source = ModelSource(tiny("labels"))
    assert source.fetch() == source.folder() == Path(tiny("labels"))
    assert list(source.problems()) == []


@pytest.mark.parametrize("name", ["", "/no/such/folder", "../up", "~/gone", "a/b/c", "C:\\models"])
def test_paths_that_are_not_there_are_not_asked_of_the_network(name: str) -> None:
    [problem] = ModelSource(name).problems()
    assert problem.startswith(f"model {name!r} is no folder; give the folder of a model")


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    [problem] = ModelSource(str(tmp_path)).problems()
    assert "is a folder without config.json" in problem


def test_what_lacks_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("curator_core.model.optional_dependencies.find_spec", lambda name: None)
    [problem] = ModelSource("owner/name").problems()
    assert problem == (
        "model 'owner/name' needs torch, transformers and safetensors, which are not installed: "
        "pip install 'curator-text[models]'"
    )


def test_settings_that_cannot_be_read(tmp_path: Path) -> None:
    assert settings_in(tmp_path) == {}
    (tmp_path / "config.json").write_text("{torn")
    with pytest.raises(ModelError, match=r"cannot read .*config\.json: Expecting property name"):
        settings_in(tmp_path)


def test_a_folder_that_is_misspelt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models" / "good").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    [problem] = ModelSource("models/godo").problems()
    assert problem.startswith(
        "model 'models/godo' is no folder (did you mean models/good?); give the folder of a model"
    )
    assert list(ModelSource("owner/name").problems()) == []


class Hub:
    """Stands for the network: notes what is asked for, and lays down the files that match."""

    def __init__(self, folder: Path, files: list[str]) -> None:
        self.folder = folder
        self.files = files
        self.asked: list[dict[str, Any]] = []

    def snapshot_download(self, name: str, **options: Any) -> str:
        self.asked.append({"name": name, **options})
        self.folder.mkdir(exist_ok=True)
        for file in self.files:
            if any(fnmatch(file, pattern) for pattern in options["allow_patterns"]):
                (self.folder / file).touch()
        return str(self.folder)


@pytest.mark.parametrize(
    ("weights", "files", "taken"),
    [
        (True, ["model.safetensors", "pytorch_model.bin"], ["model.safetensors"]),
        (True, ["pytorch_model.bin", "training_args.bin"], ["pytorch_model.bin"]),
        (False, ["model.safetensors", "pytorch_model.bin"], []),
    ],
)
def test_only_needed_files_are_fetched(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    weights: bool,
    files: list[str],
    taken: list[str],
) -> None:
    small = ["config.json", "tokenizer.json", "vocab.txt", "spm.model"]
    hub = Hub(tmp_path / "snapshot", [*small, *files, "tf_model.h5", "model.onnx", "README.md"])
    monkeypatch.setattr("huggingface_hub.snapshot_download", hub.snapshot_download)
    monkeypatch.setenv("MY_SECRET", "hf_12345")
    source = ModelSource("owner/name", "v1", str(tmp_path), "MY_SECRET")

    folder = source.fetch(weights=weights)

    assert sorted(path.name for path in folder.iterdir()) == sorted([*small, *taken])
    assert {asked["token"] for asked in hub.asked} == {"hf_12345"}
    assert {asked["revision"] for asked in hub.asked} == {"v1"}
    assert "hf_12345" not in repr(source)
    source.folder()
    assert hub.asked[-1]["local_files_only"], "a worker reads what was fetched for its node"
