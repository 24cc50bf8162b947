"""Corpora on disk, and the results of workflows."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Corpus = Callable[..., Path]


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """Write a folder of JSON lines with a number of documents and files."""

    def write(name: str, documents: int, files: int = 1, text: str = "") -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        for place in range(files):
            rows = [
                {"text": text or f"{name.rpartition('/')[2]} {number}", "number": number}
                for number in range(place, documents, files)
            ]
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / f"{place:02d}.jsonl").write_text(lines)
        return folder

    return write


def rows_of(folder: Path | str) -> list[dict[str, Any]]:
    """Return all rows of a result, in the order of file names."""
    return [
        json.loads(line)
        for path in sorted(Path(folder).rglob("*.jsonl"))
        if ".curator" not in path.parts
        for line in path.read_text().splitlines()
    ]


@pytest.fixture(name="rows_of")
def _rows_of() -> Callable[[Path | str], list[dict[str, Any]]]:
    return rows_of
