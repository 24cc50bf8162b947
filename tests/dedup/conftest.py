"""Corpora small enough to see through, and what came of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Record = dict[str, Any]


def write(path: Path, records: list[Record]) -> Path:
    """A file of the format that its name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), path, row_group_size=3)
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def records_in(folder: Path) -> list[Record]:
    """Everything in a folder, whatever the format, in no order that counts."""
    found: list[Record] = []
    for path in sorted(folder.glob("part-*")):
        if path.suffix == ".parquet":
            found += pq.read_table(path).to_pylist()
        else:
            found += [json.loads(line) for line in path.read_text().splitlines()]
    return found


@pytest.fixture(name="write")
def _write() -> Callable[[Path, list[Record]], Path]:
    return write


@pytest.fixture(name="records_in")
def _records_in() -> Callable[[Path], list[Record]]:
    return records_in
