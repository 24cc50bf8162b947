"""Workflows with an index, run again into the same output after their input changed."""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from curator_core import LocalExecutor
from curator_dedup import ExactDeduplicationWorkflow, FuzzyDeduplicationWorkflow

Write = Callable[[Path, list[dict[str, Any]]], Path]
RecordsIn = Callable[[Path], list[dict[str, Any]]]
Run = Callable[..., list[int]]

KINDS = [ExactDeduplicationWorkflow, FuzzyDeduplicationWorkflow]


def page(number: int) -> dict[str, Any]:
    dice = random.Random(number)
    words = ("".join(dice.choices("abcdefghijkl", k=6)) for _ in range(60))
    return {"id": number, "text": " ".join(words)}


def touch(raw: Path) -> None:
    for path in raw.iterdir():
        later = path.stat().st_mtime + 5
        os.utime(path, (later, later))


def append(raw: Path, name: str = "a.jsonl") -> None:
    with (raw / name).open("a") as file:
        file.write('{"id": 100, "text": "a line that was appended"}\n')


def copy(raw: Path) -> None:
    shutil.copyfile(raw / "a.jsonl", raw / "c.jsonl")


def rename(raw: Path) -> None:
    (raw / "a.jsonl").rename(raw / "c.jsonl")


def remove(raw: Path) -> None:
    (raw / "a.jsonl").unlink()


CHANGES: dict[Callable[[Path], None], list[int]] = {
    touch: [0, 1, 2, 3, 4],
    append: [0, 1, 2, 3, 4, 100],
    copy: [0, 1, 2, 3, 4],
    rename: [0, 1, 2, 3, 4],
    remove: [3, 4],
}


@pytest.fixture(name="run")
def _run(tmp_path: Path, records_in: RecordsIn) -> Run:
    def run(
        kind: type, raw: str = "raw", out: str = "out", executor: Any = None, **options: Any
    ) -> list[int]:
        index = str(tmp_path / "index")
        workflow = kind(str(tmp_path / raw), str(tmp_path / out), index_path=index, **options)
        workflow.run(executor or LocalExecutor(workers=0), removed_inputs="prune")
        return sorted(record["id"] for record in records_in(tmp_path / out))

    return run


@pytest.fixture(autouse=True)
def raw(tmp_path: Path, write: Write) -> Path:
    write(tmp_path / "raw/a.jsonl", [page(0), page(1), page(2)])
    return write(tmp_path / "raw/b.jsonl", [page(3), page(4)]).parent


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", CHANGES)
def test_own_earlier_entries_are_ignored(
    run: Run, raw: Path, kind: type, change: Callable[[Path], None]
) -> None:
    assert run(kind) == [0, 1, 2, 3, 4]
    change(raw)
    assert run(kind) == CHANGES[change]
    assert run(kind) == CHANGES[change]


@pytest.mark.parametrize(
    "kind",
    [
        ExactDeduplicationWorkflow,
        pytest.param(FuzzyDeduplicationWorkflow, marks=pytest.mark.soak),
    ],
)
def test_workers_give_the_same_result(run: Run, raw: Path, kind: type) -> None:
    workers = LocalExecutor(workers=2)
    assert run(kind, executor=workers) == [0, 1, 2, 3, 4]
    touch(raw)
    append(raw)
    assert run(kind, executor=workers) == [0, 1, 2, 3, 4, 100]


@pytest.mark.parametrize("kind", KINDS)
def test_index_follows_changes_of_the_input(
    run: Run, raw: Path, tmp_path: Path, write: Write, kind: type
) -> None:
    run(kind)
    remove(raw)
    write(raw / "d.jsonl", [page(7)])
    assert run(kind) == [3, 4, 7]
    write(tmp_path / "next/a.jsonl", [page(0), page(3), page(7), page(8)])
    assert run(kind, "next", "next_out") == [0, 8]
    # The earlier output no longer has a document that the later one removed as its duplicate.
    (raw / "d.jsonl").unlink()
    assert run(kind) == [3, 4]
    assert run(kind, "next", "next_out") == [0, 7, 8]


@pytest.mark.parametrize("kind", KINDS)
def test_changed_input_is_compared_with_other_crawls(
    run: Run, raw: Path, tmp_path: Path, write: Write, kind: type
) -> None:
    run(kind)
    write(tmp_path / "next/a.jsonl", [page(1), page(8)])
    assert run(kind, "next", "next_out") == [8]
    write(raw / "e.jsonl", [page(8), page(9)])
    assert run(kind) == [0, 1, 2, 3, 4, 9]
    assert run(kind, "next", "next_out") == [8]


@pytest.mark.parametrize("kind", KINDS)
def test_moved_output_stays_in_the_index(
    run: Run, raw: Path, tmp_path: Path, kind: type, caplog: pytest.LogCaptureFixture
) -> None:
    run(kind)
    (tmp_path / "out").rename(tmp_path / "archive")
    touch(raw)
    append(raw)
    assert run(kind) == [100]
    assert not caplog.records
    (tmp_path / "out").rename(tmp_path / "archive2")
    touch(raw)
    assert run(kind) == []
    [warning] = [record for record in caplog.records if "kept nothing" not in record.message]
    assert str(tmp_path / "out") in warning.message
    assert str(tmp_path / "index/crawls") in warning.message


@pytest.mark.parametrize("kind", KINDS)
def test_overwritten_output_is_not_in_the_index(
    run: Run, raw: Path, tmp_path: Path, kind: type
) -> None:
    work = str(tmp_path / "work")
    run(kind, work_path=work)
    shutil.rmtree(work)
    touch(raw)
    assert run(kind, work_path=work, mode="overwrite") == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", KINDS)
def test_same_input_may_have_several_outputs(
    run: Run, tmp_path: Path, write: Write, kind: type, raw: Path
) -> None:
    assert run(kind, out="first") == run(kind, out="second") == [0, 1, 2, 3, 4]
    # Documents that only the second output still has are in the index.
    shutil.copytree(raw, tmp_path / "kept", copy_function=shutil.copy2)
    remove(raw)
    assert run(kind, out="first") == [3, 4]
    write(tmp_path / "next/a.jsonl", [page(0), page(3), page(8)])
    assert run(kind, "next", "next_out") == [8]


@pytest.fixture(scope="module")
def private_ray() -> Iterator[None]:
    pytest.importorskip("ray")
    from curator_ray.cluster.connection import connected
    from curator_ray.cluster.private import PrivateCluster

    with connected(private=PrivateCluster(cpus=2, object_store_gb=0.3)):
        yield


@pytest.mark.soak
@pytest.mark.usefixtures("private_ray")
@pytest.mark.parametrize(
    ("kind", "executor"),
    [
        (ExactDeduplicationWorkflow, "streaming"),
        (FuzzyDeduplicationWorkflow, "streaming"),
        (ExactDeduplicationWorkflow, "ray_data"),
        (ExactDeduplicationWorkflow, "actor_pool"),
    ],
)
def test_executors_on_ray_give_the_same_result(
    run: Run, raw: Path, kind: type, executor: str
) -> None:
    pytest.importorskip(f"curator_{executor}")
    assert run(kind, executor=executor) == [0, 1, 2, 3, 4]
    rename(raw)
    append(raw, "b.jsonl")
    assert run(kind, executor=executor) == [0, 1, 2, 3, 4, 100]
