"""Small corpora and their results, and workflows that are killed while they run."""

import json
import multiprocessing
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_core import LocalExecutor, Workflow
from curator_dedup.fuzzy.minhash import ENGINE_VARIABLE

Record = dict[str, Any]


def write(path: Path, records: list[Record]) -> Path:
    """Write records as JSON Lines or Parquet, as the ending says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), path, row_group_size=3)
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def records_in(folder: Path) -> list[Record]:
    """Return all records of a folder, in any format and in no particular order."""
    found: list[Record] = []
    for path in sorted(folder.glob("part-*")):
        if path.suffix == ".parquet":
            found += pq.read_table(path).to_pylist()
        else:
            found += [json.loads(line) for line in path.read_text().splitlines()]
    return found


KilledAt = Callable[[Workflow, Sequence[str]], int]

_FORKS = multiprocessing.get_context("forkserver")
_PRELOADED = ("exact", "fuzzy.workflow", "passages.workflow", "semantic.workflow")


@pytest.fixture(scope="session")
def _forks() -> None:
    """Start a process with everything imported, from which children are forked quickly."""
    modules = (f"curator_dedup.{name}" for name in _PRELOADED)
    _FORKS.set_forkserver_preload(["__main__", "pyarrow.parquet", *modules])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENGINE_VARIABLE, "numpy")  # nothing is compiled in them
        forkserver.ensure_running()


@pytest.fixture(name="killed_at")
def _killed_at(_forks: None) -> KilledAt:
    """Return a function that runs a workflow in a process once per mark.

    The process is killed when a file matches the mark, a pattern in its work directory. The
    function returns how often the process was still running.
    """

    def killed_at(workflow: Workflow, marks: Sequence[str]) -> int:
        killed = 0
        for mark in marks:
            child = _FORKS.Process(target=workflow.run, args=(LocalExecutor(workers=0),))
            child.start()
            until = time.monotonic() + 60
            while child.is_alive() and time.monotonic() < until:
                if any(Path(workflow.work_dir).glob(mark)):
                    break
                time.sleep(0.002)
            child.kill()
            child.join()
            killed += child.exitcode == -signal.SIGKILL
        return killed

    return killed_at


@pytest.fixture(name="write", scope="session")
def _write() -> Callable[[Path, list[Record]], Path]:
    return write


@pytest.fixture(name="records_in", scope="session")
def _records_in() -> Callable[[Path], list[Record]]:
    return records_in
