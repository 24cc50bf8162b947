"""File slices are read late, and shrinking files are reported."""

from pathlib import Path

import pytest
from curator_core.errors import InputError
from curator_image.samples import FileSlice, OpenFile, binary_array


def test_file_slices_read_their_bytes(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"0123456789")
    with path.open("rb") as file:
        there = OpenFile(file, str(path))
    extents = [FileSlice(there, 2, 3, b"2"), FileSlice(there, 7, 2, b"7")]
    assert [bytes(one) for one in extents] == [b"234", b"78"]
    assert binary_array(extents).to_pylist() == [b"234", b"78"]


def test_a_shrinking_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "shard.tar"
    path.write_bytes(bytes(10))
    with path.open("rb") as file:
        extent = FileSlice(OpenFile(file, str(path)), 0, 10, b"")
    path.write_bytes(bytes(4))
    with pytest.raises(InputError, match=r"shard\.tar was truncated while it was being read"):
        binary_array([extent])
    with pytest.raises(InputError, match="was truncated"):
        bytes(extent)
