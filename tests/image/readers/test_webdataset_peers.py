"""The reader finds the same samples as the library webdataset, byte for byte."""

import warnings
from pathlib import Path

import pytest
from corpus.shards import write as write_shards
from tars import member, read, write

wds = pytest.importorskip("webdataset", reason="webdataset is what this is compared with")


def read_with_webdataset(path: Path) -> list[tuple[str, dict[str, bytes]]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(wds.WebDataset(str(path), shardshuffle=False, empty_check=False))
    return [
        (one["__key__"], {k: v for k, v in one.items() if not k.startswith("__")}) for one in found
    ]


def read_with_curator(path: Path) -> list[tuple[str, dict[str, bytes]]]:
    found = []
    for row in read(path, wrong_extension="keep")[0]:
        image, ending = row.pop("image"), str(row.pop("extension")).lower()
        key, _ = str(row.pop("key")), row.pop("source")
        beside = {k: v.encode() if isinstance(v, str) else v for k, v in row.items()}
        files = {ending: image} | {k: v for k, v in beside.items() if v is not None}
        found.append((key, files))
    return found  # type: ignore[return-value]


def test_shards_of_pictures_hold_the_same_samples(tmp_path: Path) -> None:
    for path in write_shards(tmp_path, 1, 80):
        expected = [
            (key, files) for key, files in read_with_webdataset(path) if all(files.values())
        ]
        assert read_with_curator(path) == expected


def test_long_names_and_folders_give_the_same_keys(tmp_path: Path) -> None:
    names = [
        "./a/b.jpg",
        "./a/b.txt",
        f"{'l' * 120}/{'n' * 90}.jpg",
        "v1.0/x.seg.png",
        "v1.0/x.jpg",
    ]
    path = write(tmp_path / "a.tar", [member(name, b"some text") for name in names])
    assert read_with_curator(path) == read_with_webdataset(path)
