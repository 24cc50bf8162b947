import sys
from pathlib import Path

import pytest
from curator_core.errors import CuratorError
from curator_core.io.filesystems import (
    base_name,
    full_path,
    is_local,
    join,
    local_path,
    nearest_folder,
    open_filesystem,
    parent_of,
)


def test_a_plain_path_is_local_and_absolute(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fs, path = open_filesystem("data/a.jsonl")
    assert is_local(fs)
    assert path == str(tmp_path / "data" / "a.jsonl")
    assert full_path(fs, path) == path


@pytest.mark.parametrize("prefix", ["", "file://", "local://"])
def test_a_local_url_is_the_plain_path(prefix: str):
    assert local_path(f"{prefix}/data/a.jsonl") == "/data/a.jsonl"


def test_a_remote_path_is_not_local_and_keeps_its_protocol():
    assert local_path("memory://bucket/a") is None
    fs, path = open_filesystem("memory://bucket/a")
    assert not is_local(fs)
    again, same = open_filesystem(full_path(fs, path))
    assert (again, same) == (fs, path)


@pytest.mark.parametrize(
    ("path", "protocol", "library"),
    [
        ("s3://bucket/a", "s3", "s3fs"),
        ("simplecache::gs://bucket/a", "gs", "gcsfs"),
        ("https://host/a", "https", "aiohttp"),
        ("sftp://host/a", "sftp", "paramiko"),
    ],
)
def test_a_protocol_whose_library_is_missing_says_what_to_install(
    path: str, protocol: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, "fsspec.implementations.sftp", raising=False)
    with pytest.raises(CuratorError) as error:
        open_filesystem(path)
    message = str(error.value)
    assert message.startswith(f"cannot open {path}: {protocol}:// needs ")
    assert f"{library}, which is not installed: pip install " in message
    assert message.endswith(library)


@pytest.mark.parametrize(
    ("folder", "joined"),
    [("/out", "/out/a"), ("/out/", "/out/a"), ("s3://b/out/", "s3://b/out/a"), ("/", "//a")],
)
def test_join(folder: str, joined: str):
    assert join(folder, "a") == joined


def test_names_and_parents():
    assert base_name("/data/in/") == "in"
    assert parent_of("/data/in/") == "/data"
    assert parent_of("/data") == "/"
    assert parent_of("/") == "/"
    assert parent_of("data") == ""


def test_the_nearest_folder_that_exists(tmp_path: Path):
    (tmp_path / "data").mkdir()
    fs, path = open_filesystem(str(tmp_path / "data" / "none" / "deeper"))
    assert nearest_folder(fs, path) == str(tmp_path / "data")


def test_the_nearest_folder_of_an_object_store():
    fs, path = open_filesystem("memory://nearest/in/none/x.jsonl")
    fs.pipe_file("/nearest/in/a.jsonl", b"")
    assert nearest_folder(fs, path) == "memory:///nearest/in"
