"""Deduplication of files that were renamed or removed since it ran last."""

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
    """Each file is a block of its own."""
    return ExactDeduplicationWorkflow(
        str(folder / "raw"), str(folder / "out"), input_blocksize=100, report=False
    )


@pytest.fixture(name="done")
def _done(tmp_path: Path, write: Write) -> Path:
    """Three files with a text in common, which is kept in the first."""
    for number, name in enumerate("abc"):
        rows = [{"id": f"{name}{n}", "text": f"{'shared' if n == 0 else name * n}"} for n in (0, 1)]
        write(tmp_path / f"raw/{name}.jsonl", [*rows, {"id": name, "text": "x" * 40 * number}])
    workflow(tmp_path).run(HERE)
    return tmp_path


def ids(records: list[Record]) -> list[str]:
    return sorted(record["id"] for record in records)


def test_a_renamed_file_keeps_its_duplicates_out(done: Path, records_in: RecordsIn) -> None:
    (done / "raw/a.jsonl").rename(done / "raw/z.jsonl")
    told = workflow(done).run(HERE).metadata
    assert (told["documents"], told["removed"]) == (9, 2)
    assert ids(records_in(done / "out")) == ["a", "a1", "b", "b0", "b1", "c", "c1"]


def test_a_removed_file_stops_it_or_takes_its_output_back(
    done: Path, records_in: RecordsIn
) -> None:
    (done / "raw/a.jsonl").unlink()
    with pytest.raises(RemovedInputsError):
        workflow(done).run(HERE)
    assert ids(records_in(done / "out")) == ["a", "a0", "a1", "b", "b1", "c", "c1"]
    workflow(done).run(HERE, removed_inputs="prune")
    assert ids(records_in(done / "out")) == ["b", "b0", "b1", "c", "c1"]
