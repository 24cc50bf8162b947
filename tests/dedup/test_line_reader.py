"""Lines of any length are read with their positions."""

from pathlib import Path

import pytest
from curator_core import FilePart
from curator_dedup.line_reader import read_lines


@pytest.mark.parametrize("length", [20, 3000])
@pytest.mark.parametrize("ending", ["", "\n", "\n\n  \n"])
def test_each_line_has_the_position_of_its_first_byte(
    tmp_path: Path, length: int, ending: str
) -> None:
    lines = ['{"a": "' + "x" * (length + number % 7) + '"}' for number in range(400)]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join([*lines[:300], "", *lines[300:]]) + ending)
    content = path.read_bytes()
    found = []
    for piece in read_lines(FilePart(str(path), len(content))):
        for position, line in zip(piece.positions, piece.column().to_pylist(), strict=True):
            found.append(line.decode().rstrip("\n"))
            assert content[position:].startswith(line.rstrip(b"\n"))
    assert found == lines
