"""Crawls are compared with the hashes of earlier ones in an index."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from curator_cli.app import call
from curator_core import InputError, LocalExecutor, ResumeError
from curator_core.run.locks import LockedFolder, lock_folder
from curator_dedup import ExactDeduplicationWorkflow, FuzzyDeduplicationWorkflow

Write = Callable[[Path, list[dict[str, Any]]], Path]
RecordsIn = Callable[[Path], list[dict[str, Any]]]

HERE = LocalExecutor(workers=0)


@pytest.fixture(name="crawl")
def _crawl(tmp_path: Path, records_in: RecordsIn) -> Callable[..., list[int]]:
    def crawl(day: str, out: str, **options: Any) -> list[int]:
        index = str(tmp_path / "index")
        workflow = ExactDeduplicationWorkflow(
            str(tmp_path / day), str(tmp_path / out), index_path=index, **options
        )
        workflow.run(HERE)
        assert workflow.run(HERE).did_nothing
        return sorted(record["id"] for record in records_in(tmp_path / out))

    return crawl


@pytest.fixture(autouse=True)
def days(tmp_path: Path, write: Write) -> None:
    def pages(first: int, numbers: list[int]) -> list[dict[str, Any]]:
        return [{"id": first + at, "text": f"page {n}"} for at, n in enumerate(numbers)]

    write(tmp_path / "monday/a.jsonl", [*pages(0, [0, 1, 2, 2]), {"id": 9, "text": ""}])
    write(tmp_path / "tuesday/a.parquet", pages(10, [1, 2, 3, 4]))
    write(tmp_path / "wednesday/a.jsonl", [*pages(20, [2, 3, 4, 5, 5]), {"id": 29, "text": ""}])


def test_later_crawls_are_compared_with_earlier_ones(
    crawl: Callable[..., list[int]], tmp_path: Path, write: Write
) -> None:
    assert crawl("monday", "1") == [0, 1, 2, 9]
    shutil.move(tmp_path / "monday", tmp_path / "moved")
    assert crawl("tuesday", "2") == [12, 13]
    assert crawl("wednesday", "3") == [23, 29]
    shutil.move(tmp_path / "moved", tmp_path / "monday")
    # Again: neither its own entries in the index nor those of later crawls make it a duplicate.
    assert crawl("monday", "4") == [0, 1, 2, 9]
    write(tmp_path / "monday/b.jsonl", [{"id": 5, "text": "page 1"}, {"id": 6, "text": "new"}])
    assert crawl("monday", "5") == [0, 1, 2, 6, 9]


@pytest.mark.parametrize(("keep", "kept"), [("none", [13]), ("mark", [10, 11, 12, 13])])
def test_documents_of_earlier_crawls_are_duplicates(
    crawl: Callable[..., list[int]], tmp_path: Path, write: Write, keep: str, kept: list[int],
    records_in: RecordsIn,
) -> None:  # fmt: skip
    write(tmp_path / "tuesday/a.parquet", [
        {"id": 10 + at, "text": f"page {n}"} for at, n in enumerate([1, 3, 3, 4])
    ])  # fmt: skip
    crawl("monday", "1")
    assert crawl("tuesday", "2", keep=keep) == kept
    if keep == "mark":
        marks = {row["id"]: (row["is_duplicate"], row["cluster_size"])
                 for row in records_in(tmp_path / "2")}  # fmt: skip
        assert marks == {10: (True, 1), 11: (False, 2), 12: (True, 2), 13: (False, 1)}


def test_index_has_each_hash_once(crawl: Callable[..., list[int]], tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    for at, day in enumerate(("monday", "tuesday", "wednesday")):
        crawl(day, str(at))
    files = (tmp_path / "index/crawls").rglob("*.parquet")
    rows = [row for file in files for row in pq.read_table(file)["hash"].to_pylist()]
    assert len(rows) == len(set(rows)) == 6


def test_command_prints_the_output_folder_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    places = [str(tmp_path / name) for name in ("monday", "out")]
    options = ["--index-path", str(tmp_path / "index"), "--executor", "local", "--workers", "0"]
    assert call(["dedup", "exact", *places, *options]) == 0
    files = [line for line in capsys.readouterr().out.splitlines() if line.startswith("files ")]
    assert [line.split()[-1] for line in files] == [str(tmp_path / "out")]


def test_index_refuses_other_options(crawl: Callable[..., list[int]]) -> None:
    crawl("monday", "1")
    with pytest.raises(InputError, match="was made with normalize=False, not True; give the same"):
        crawl("tuesday", "2", normalize=True)
    with pytest.raises(InputError, match=r"partitions is 3, but the index .* has 16; leave part"):
        crawl("tuesday", "3", partitions=3)


def test_concurrent_crawls_are_refused(crawl: Callable[..., list[int]], tmp_path: Path) -> None:
    message = r"^index .*/index is in use by process .*; wait for .* this one another index_path$"
    lock = lock_folder(LockedFolder(str(tmp_path / "index")))
    with pytest.raises(ResumeError, match=message):
        crawl("monday", "1")
    lock.release()
    message = r"^work directory .*/1/\.curator/exact_.* is in use by process .* another work_path$"
    lock = lock_folder(LockedFolder(str(tmp_path / "1/.curator/exact_deduplication")))
    with pytest.raises(ResumeError, match=message):
        crawl("monday", "1")
    lock.release()
    assert crawl("monday", "1") == [0, 1, 2, 9]


def test_index_can_be_on_any_file_system() -> None:
    import fsspec

    fs = fsspec.filesystem("memory")
    for day, texts in (("1", "ab"), ("2", "bcc")):
        lines = "".join(f'{{"text": "{text}"}}\n' for text in texts)
        fs.pipe_file(f"/indexed/raw{day}/a.jsonl", lines.encode())
    kept = []
    for day in "12":
        workflow = ExactDeduplicationWorkflow(
            f"memory://indexed/raw{day}", f"memory://indexed/out{day}",
            index_path="memory://indexed/index",
        )  # fmt: skip
        kept.append(workflow.run(HERE).metadata["kept"])
    assert kept == [2, 1]


def test_index_of_another_workflow_is_refused(
    crawl: Callable[..., list[int]], tmp_path: Path
) -> None:
    crawl("monday", "1")
    index = str(tmp_path / "index")
    workflow = FuzzyDeduplicationWorkflow(
        str(tmp_path / "tuesday"), str(tmp_path / "2"), index_path=index
    )
    with pytest.raises(InputError, match="another kind of workflow: exact, not fuzzy; give anothe"):
        workflow.run(HERE)


def test_incomplete_index_without_crawls_is_created_again(
    crawl: Callable[..., list[int]], tmp_path: Path
) -> None:
    (tmp_path / "index").mkdir()
    (tmp_path / "index/index.json").write_text('{"format": 1, "ki')
    assert crawl("monday", "1") == [0, 1, 2, 9]


def test_index_without_its_options_is_refused(
    crawl: Callable[..., list[int]], tmp_path: Path
) -> None:
    crawl("monday", "1")
    (tmp_path / "index/index.json").write_text("")
    with pytest.raises(InputError, match=r"index\.json is missing or incomplete"):
        crawl("tuesday", "2")
