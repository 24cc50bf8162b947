"""Formats: by name where it says enough, else by the first bytes."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest
from curator_cli.inspection.files import find_input
from curator_cli.inspection.formats import extension_of, format_by_content, format_by_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.jsonl", "JSON Lines file"),
        ("a.jsonl.gz", "JSON Lines file"),
        ("A.PARQUET", "Parquet file"),
        ("a.csv.zst", "CSV file"),
        ("crawl.warc.gz", "WARC file"),
        ("crawl.warc.wet.gz", "WET file"),
        ("a.JPG", "picture"),
        ("a.wav", "recording"),
        ("a.mp4", "video"),
    ],
)
def test_names(name: str, expected: str) -> None:
    found = format_by_name(name)
    assert found
    assert found.name == expected


def test_other_names_say_nothing() -> None:
    assert format_by_name("a.xyz") is None
    assert format_by_name("README") is None


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"text": "a"}\n{"text": "b"}\n', "JSON Lines file"),
        (b'{"audio_filepath": "a.wav", "text": "a"}\n', "audio manifest"),
        (gzip.compress(b'{"text": "a"}\n', mtime=0), "JSON Lines file"),
        (b'{"text": "' + b"long " * 3000, "JSON Lines file"),
        (b"PAR1....", "Parquet file"),
        (b"WARC/1.0\r\n", "WARC file"),
        (b"\xff\xd8\xff\xe0", "picture"),
        (b"RIFF....WAVEfmt ", "recording"),
        (b"RIFF....WEBPVP8 ", "picture"),
        (b"....ftypisom", "video"),
        (b"[\n  1, 2\n]", None),
        (b'{\n  "text": "pretty"\n}', None),
        (b"\x00\x01\x02", None),
        (b"", None),
    ],
)
def test_contents(tmp_path: Path, content: bytes, expected: str | None) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    found = format_by_content(str(path))
    assert (found.name if found else None) == expected


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (["a.jpg", "a.txt", "b.jpg"], "picture shard"),
        (["a.flac", "a.json"], "audio shard"),
        (["a.mp4"], "video shard"),
        (["a.txt"], None),
    ],
)
def test_shards_are_what_is_in_them(
    tmp_path: Path, members: list[str], expected: str | None
) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for name in members:
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    found = format_by_content(str(path))
    assert (found.name if found else None) == expected


def test_the_extension_includes_that_of_a_compression() -> None:
    assert extension_of("in/a.b.jsonl.gz") == ".jsonl.gz"
    assert extension_of("in/a.GZ") == ".gz"
    assert extension_of("README") == ""


def test_texts_beside_pictures_are_no_documents(tmp_path: Path) -> None:
    for name in ("a.jpg", "a.txt", "a.json", "other.txt"):
        (tmp_path / name).write_bytes(b"\xff\xd8\xff")
    found = find_input(str(tmp_path))
    assert {Path(path).name for path in found.sidecar_paths} == {"a.txt", "a.json"}
    assert {group.format.name: len(group.paths) for group in found.groups} == {
        "picture": 1,
        "text file": 1,
    }
