import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_core import (
    FileGroup,
    LocalExecutor,
    OutputError,
    Pipeline,
    PipelineError,
    ProcessingStage,
    RunResult,
    StageError,
)
from curator_text import (
    JsonlReader,
    ParquetReader,
    RouteByColumn,
    ScoreBuckets,
    WordCountFilter,
)

FOLDERS = ("low", "medium", "high", "other")


def raw(folder: Path, count: int = 40) -> None:
    folder.mkdir()
    for part in range(4):
        rows = [
            {"id": n, "score": None if n % 10 == 9 else n / count, "text": "word " * (n % 8)}
            for n in range(part, count, 4)
        ]
        (folder / f"{part}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def run(folder: Path, executor: Any = None, **options: Any) -> RunResult:
    stages = [
        JsonlReader(str(folder / "raw" / "*.jsonl")),
        WordCountFilter(min_words=2),
        ScoreBuckets("score", thresholds=[0.3, 0.7]),
        RouteByColumn(str(folder / "out"), **options),
    ]
    pipeline = Pipeline("route", stages=stages)
    return pipeline.run(executor or LocalExecutor(0), run_dir=str(folder / "run"))


def ids(folder: Path) -> list[int]:
    lines = [line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]
    return sorted(json.loads(line)["id"] for line in lines)


def expected(low: float, high: float) -> list[int]:
    return [n for n in range(40) if n % 10 != 9 and n % 8 > 1 and low <= n / 40 < high]


@pytest.mark.parametrize("workers", [0, 2])
def test_each_value_has_a_folder_with_its_own_manifest(tmp_path: Path, workers: int) -> None:
    raw(tmp_path / "raw")
    result = run(tmp_path, LocalExecutor(workers), dropped_path=str(tmp_path / "dropped"))

    out = tmp_path / "out"
    assert ids(out / "low") == expected(0, 0.3)
    assert ids(out / "medium") == expected(0.3, 0.7)
    assert ids(out / "high") == expected(0.7, 1)
    assert ids(out / "other") == [n for n in range(40) if n % 10 == 9 and n % 8 > 1]
    assert ids(tmp_path / "dropped") == [n for n in range(40) if n % 8 < 2]
    for name in ("low", "medium", "high", "other"):
        manifest = json.loads((out / name / "_manifest.json").read_text())
        there = sorted(path.name for path in (out / name).glob("part-*"))
        assert [entry["file"] for entry in manifest["files"]] == there
        assert manifest["items"] == len(ids(out / name))
    written = sorted(part.path for group in result for part in group.data)
    assert written == sorted(str(path) for path in out.glob("*/part-*"))
    assert not list(out.glob("*/.*staged")), "nothing is left in staging"


def test_finished_run_is_skipped(tmp_path: Path) -> None:
    raw(tmp_path / "raw")
    run(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("out/*/part-*")}
    run(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("out/*/part-*")} == before


def test_folder_with_other_data_is_refused(tmp_path: Path) -> None:
    raw(tmp_path / "raw")
    (tmp_path / "out" / "high").mkdir(parents=True)
    (tmp_path / "out" / "high" / "mine.txt").write_text("precious")
    with pytest.raises(OutputError, match=r"output folder .*/out/high already holds other data"):
        run(tmp_path)
    assert not list(tmp_path.glob("out/*/part-*"))


def test_format_and_columns_can_be_chosen(tmp_path: Path) -> None:
    raw(tmp_path / "raw")
    run(tmp_path, format="parquet", values=["high"], others="rest", fields=["id"])
    tables = [pq.read_table(path) for path in (tmp_path / "out" / "high").glob("*.parquet")]
    assert sorted(n for t in tables for n in t["id"].to_pylist()) == expected(0.7, 1)
    assert {name for table in tables for name in table.column_names} == {"id"}
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["high", "rest"]


def test_string_view_columns_are_written(tmp_path: Path) -> None:
    buckets = pa.array(["low", None, "high", "low"], pa.string_view())
    table = pa.table({"id": [0, 1, 2, 3], "bucket": buckets})
    pq.write_table(table, tmp_path / "raw.parquet")
    stages = [ParquetReader(str(tmp_path / "raw.parquet")), RouteByColumn(str(tmp_path / "out"))]
    Pipeline("views", stages=stages).run(LocalExecutor(0), run_dir=str(tmp_path / "run"))
    assert [ids(tmp_path / "out" / name) for name in FOLDERS] == [[0, 3], [], [2], [1]]


def test_values_that_are_not_folder_names_are_refused(tmp_path: Path) -> None:
    raw(tmp_path / "raw")
    with pytest.raises(PipelineError, match=r"'\.\./up' cannot be the name of a folder"):
        run(tmp_path, values=["../up"])
    with pytest.raises(PipelineError, match="it has the same name as stage"):
        run(tmp_path, values=["low", "low"])
    with pytest.raises(PipelineError, match=r"it reads column 'bukcet'.*did you mean bucket"):
        run(tmp_path, column="bukcet")


class Fragile(ProcessingStage[FileGroup, FileGroup]):
    """Fails on files with number 1 until the problem is fixed."""

    def __init__(self, sign: str) -> None:
        self.sign = sign

    def process(self, task: FileGroup) -> FileGroup:
        if not Path(self.sign).exists() and any(_held(part.path, 1) for part in task.data):
            raise ValueError("not yet")
        return task


def _held(final: str, number: int) -> bool:
    """Whether a file that is not published yet has this record."""
    [staged] = Path(final).parent.glob(f".{Path(final).name}.*.staged")
    return any(json.loads(line)["id"] == number for line in staged.read_text().splitlines())


def test_source_that_fails_later_is_published_nowhere(tmp_path: Path) -> None:
    raw(tmp_path / "raw")
    stages = [
        JsonlReader(str(tmp_path / "raw" / "*.jsonl")),
        ScoreBuckets("score", thresholds=[0.3, 0.7]),
        RouteByColumn(str(tmp_path / "out")),
        Fragile(str(tmp_path / "well")),
    ]
    pipeline = Pipeline("route", stages=stages, on_error="fail")
    run_dir = str(tmp_path / "run")
    with pytest.raises(StageError, match="not yet"):
        pipeline.run(LocalExecutor(0), run_dir=run_dir)
    published = {n for name in FOLDERS for n in ids(tmp_path / "out" / name)}
    sources = [set(range(part, 40, 4)) for part in range(4)]
    assert all(source <= published or not source & published for source in sources)
    assert 1 not in published

    (tmp_path / "well").touch()
    pipeline.run(LocalExecutor(0), run_dir=run_dir)
    found = [n for name in FOLDERS for n in ids(tmp_path / "out" / name)]
    assert sorted(found) == list(range(40)), "each once"
    assert not list(tmp_path.glob("out/*/.*staged"))
