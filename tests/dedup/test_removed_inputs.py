"""Deduplication of files that were renamed or removed since the last run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from curator_core import LocalExecutor, RemovedInputsError
from curator_dedup import ExactDeduplicationWorkflow

HERE = LocalExecutor(workers=0)
Record = dict[str, Any]
Write = Callable[[Path, list[Record]], Path]
RecordsIn = Callable[[Path], list[Record]]


def workflow(folder: Path) -> ExactDeduplicationWorkflow:
    """Return a workflow for which each file is a block."""
    return ExactDeduplicationWorkflow(
        str(folder / "raw"), str(folder / "out"), input_blocksize=100, report=False
    )


@pytest.fixture(name="done")
def _done(tmp_path: Path, write: Write) -> Path:
    """Deduplicate three files with a text in common, which is kept in the first."""
    for number, name in enumerate("abc"):
        rows = [{"id": f"{name}{n}", "text": f"{'shared' if n == 0 else name * n}"} for n in (0, 1)]
        write(tmp_path / f"raw/{name}.jsonl", [*rows, {"id": name, "text": "x" * 40 * number}])
    workflow(tmp_path).run(HERE)
    return tmp_path


def ids(records: list[Record]) -> list[str]:
    return sorted(record["id"] for record in records)


def test_renamed_file_is_compared_again(done: Path, records_in: RecordsIn) -> None:
    (done / "raw/a.jsonl").rename(done / "raw/z.jsonl")
    counts = workflow(done).run(HERE).metadata
    assert (counts["documents"], counts["removed"]) == (9, 2)
    assert ids(records_in(done / "out")) == ["a", "a1", "b", "b0", "b1", "c", "c1"]


def test_removed_file_is_refused_or_its_output_pruned(done: Path, records_in: RecordsIn) -> None:
    (done / "raw/a.jsonl").unlink()
    with pytest.raises(RemovedInputsError):
        workflow(done).run(HERE)
    assert ids(records_in(done / "out")) == ["a", "a0", "a1", "b", "b1", "c", "c1"]
    workflow(done).run(HERE, removed_inputs="prune")
    assert ids(records_in(done / "out")) == ["b", "b0", "b1", "c", "c1"]
