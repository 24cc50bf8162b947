"""Folders that a workflow refuses before it compares anything."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from curator_core import CuratorError, LocalExecutor
from curator_dedup import ExactDeduplicationWorkflow

HERE = LocalExecutor(workers=0)
Write = Callable[[Path, list[dict[str, Any]]], Path]


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ({"output_path": "raw"}, "output_path is .*raw, which is read as input"),
        ({"output_path": "raw/out"}, "output_path is .*raw/out, which is read as input"),
        ({"work_path": "raw/work"}, "work_path is .*, which is read as input"),
        ({"index_path": "raw/index"}, "index_path is .*, which is read as input"),
        ({"work_path": "out"}, "work_path is output_path"),
        ({"output_path": "taken"}, r"taken already holds other data \(mine.txt\)"),
    ],
)
def test_unusable_folders_are_refused_before_the_run(
    tmp_path: Path, write: Write, places: dict[str, str], message: str
) -> None:
    source = write(tmp_path / "raw/a.jsonl", [{"id": 1, "text": "a"}]).parent
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/mine.txt").write_text("mine")
    full = {name: str(tmp_path / place) for name, place in {"output_path": "out", **places}.items()}
    with pytest.raises(CuratorError, match=message):
        ExactDeduplicationWorkflow(str(source), **full).run(HERE)
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "a.jsonl", "mine.txt", "raw", "taken"
    ]  # fmt: skip
