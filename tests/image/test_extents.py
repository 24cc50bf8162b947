from pathlib import Path

import pytest
from curator_core.errors import InputError
from curator_image.extents import Extent, OpenFile
from curator_image.samples import binary_array


def test_bytes_come_from_their_place(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"0123456789")
    with path.open("rb") as file:
        there = OpenFile(file, str(path))
    extents = [Extent(there, 2, 3, b"2"), Extent(there, 7, 2, b"7")]
    assert [bytes(one) for one in extents] == [b"234", b"78"]
    assert binary_array(extents).to_pylist() == [b"234", b"78"]


def test_a_file_that_shrinks_is_told(tmp_path: Path) -> None:
    path = tmp_path / "shard.tar"
    path.write_bytes(bytes(10))
    with path.open("rb") as file:
        extent = Extent(OpenFile(file, str(path)), 0, 10, b"")
    path.write_bytes(bytes(4))
    with pytest.raises(InputError, match=r"shard\.tar has become shorter while it was read"):
        binary_array([extent])
    with pytest.raises(InputError, match="has become shorter"):
        bytes(extent)
