"""Models are found in folders or at Hugging Face, and only the needed files are downloaded."""

from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from curator_models.hub import ModelError, ModelSource, read_config


class TestProblems:
    def test_a_folder_with_a_config_is_fine(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text("{}")
        source = ModelSource(str(tmp_path))
        assert source.fetch() == source.folder() == tmp_path
        assert list(source.problems()) == []

    @pytest.mark.parametrize(
        "name", ["", "/no/such/folder", "../up", "~/missing", "a/b/c", "C:\\models"]
    )
    def test_a_missing_path_is_not_looked_up_on_the_network(self, name: str) -> None:
        [problem] = ModelSource(name).problems()
        assert problem.startswith(f"model {name!r} is not a folder; give the folder of a model")

    def test_a_similar_folder_is_suggested(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "models" / "good").mkdir(parents=True)
        monkeypatch.chdir(tmp_path)
        [problem] = ModelSource("models/godo").problems()
        assert "'models/godo' is not a folder (did you mean models/good?)" in problem
        assert list(ModelSource("owner/name").problems()) == []

    def test_a_folder_without_a_model(self, tmp_path: Path) -> None:
        [problem] = ModelSource(str(tmp_path)).problems()
        assert "is a folder without config.json" in problem

    def test_missing_libraries_are_named_with_the_extra_of_the_modality(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class ImageModelSource(ModelSource):
            extra = "curator-image[clip]"

        monkeypatch.setattr("curator_core.model.optional_dependencies.find_spec", lambda name: None)
        [problem] = ImageModelSource("owner/name").problems()
        assert problem.endswith("are not installed: pip install 'curator-image[clip]'")


def test_a_config_that_cannot_be_read(tmp_path: Path) -> None:
    assert read_config(tmp_path) == {}
    (tmp_path / "config.json").write_text("{torn")
    with pytest.raises(ModelError, match=r"cannot read .*config\.json: Expecting property name"):
        read_config(tmp_path)


class Hub:
    """A stand-in for the network: records requests, and writes the files that match."""

    def __init__(self, folder: Path, files: list[str]) -> None:
        self.folder = folder
        self.files = files
        self.requests: list[dict[str, Any]] = []

    def snapshot_download(self, name: str, **options: Any) -> str:
        self.requests.append({"name": name, **options})
        self.folder.mkdir(exist_ok=True)
        for file in self.files:
            if any(fnmatch(file, pattern) for pattern in options["allow_patterns"]):
                (self.folder / file).touch()
        return str(self.folder)


@pytest.mark.parametrize(
    ("weights", "files", "downloaded"),
    [
        (True, ["model.safetensors", "pytorch_model.bin"], ["model.safetensors"]),
        (True, ["pytorch_model.bin", "training_args.bin"], ["pytorch_model.bin"]),
        (False, ["model.safetensors", "pytorch_model.bin"], []),
    ],
)
def test_only_needed_files_are_downloaded(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    weights: bool,
    files: list[str],
    downloaded: list[str],
) -> None:
    small = ["config.json", "tokenizer.json", "vocab.txt", "spm.model"]
    hub = Hub(tmp_path / "snapshot", [*small, *files, "tf_model.h5", "model.onnx", "README.md"])
    monkeypatch.setattr("huggingface_hub.snapshot_download", hub.snapshot_download)
    monkeypatch.setenv("MY_SECRET", "hf_12345")
    source = ModelSource("owner/name", "v1", str(tmp_path), "MY_SECRET")

    folder = source.fetch(weights=weights)

    assert sorted(path.name for path in folder.iterdir()) == sorted([*small, *downloaded])
    assert {request["token"] for request in hub.requests} == {"hf_12345"}
    assert {request["revision"] for request in hub.requests} == {"v1"}
    assert "hf_12345" not in repr(source)
    source.folder()
    assert hub.requests[-1]["local_files_only"], "a worker reads what was fetched for its node"
