import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_core import JsonlReader, LocalExecutor, Pipeline, processing_stage
from curator_core.io.atomic_write import publish
from curator_core.io.filesystems import open_filesystem
from curator_core.io.writers import JsonlWriter, ParquetWriter, dropped
from curator_core.model.documents import DocumentBatch
from curator_core.model.files import FileGroup
from curator_core.model.resources import WorkerInfo
from curator_core.model.tasks import StagedFile
from curator_report.run_record import read_run


def documents(*records: dict[str, Any]) -> DocumentBatch:
    return DocumentBatch.from_pylist(records)


def sink_of(writer: JsonlWriter | ParquetWriter):
    sink = writer.drop_sink(WorkerInfo(run_token="run1"))
    assert sink is not None
    return sink


def published(files: list[StagedFile]) -> list[Path]:
    for file in files:
        publish(open_filesystem(file.final)[0], file)
    return [Path(file.final) for file in files]


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@processing_stage(name="long_texts")
def long_texts(task: DocumentBatch) -> DocumentBatch:
    return task.keep([len(text) > 3 for text in task.data["text"].to_pylist()], reason="short")


def test_nothing_is_kept_by_default(tmp_path: Path):
    assert JsonlWriter(str(tmp_path)).drop_sink(WorkerInfo()) is None


def test_dropped_records_are_kept_with_stage_and_reason(tmp_path: Path):
    sink = sink_of(JsonlWriter(str(tmp_path / "out"), dropped_path=str(tmp_path / "drop")))
    sink.add("word_count", "too short", documents({"text": "a"}, {"text": "b"}))
    sink.add("language", "not English", documents({"text": "c", "lang": "de"}))
    [file] = sink.finish("s1.0")
    assert file.dropped
    assert file.items == 3
    assert file.final == f"{tmp_path}/drop/dropped-s1.0.jsonl"
    [path] = published([file])
    assert lines_of(path) == [
        {"text": "a", "_dropped_by": "word_count", "_dropped_because": "too short"},
        {"text": "b", "_dropped_by": "word_count", "_dropped_because": "too short"},
        {"text": "c", "lang": "de", "_dropped_by": "language", "_dropped_because": "not English"},
    ]


def test_a_call_that_drops_nothing_leaves_no_file(tmp_path: Path):
    sink = sink_of(JsonlWriter(str(tmp_path / "out"), dropped_path=str(tmp_path / "drop")))
    assert sink.finish("s1.0") == []
    assert not (tmp_path / "drop").exists()


def test_records_dropped_again_get_the_new_reason(tmp_path: Path):
    sink = sink_of(JsonlWriter(str(tmp_path / "out"), dropped_path=str(tmp_path / "drop")))
    sink.add("b", "new", documents({"text": "a", "_dropped_by": "a", "_dropped_because": "old"}))
    [path] = published(sink.finish("s1.0"))
    assert lines_of(path) == [{"text": "a", "_dropped_by": "b", "_dropped_because": "new"}]


def test_a_dropped_task_without_records_is_named(tmp_path: Path):
    sink = sink_of(JsonlWriter(str(tmp_path / "out"), dropped_path=str(tmp_path / "drop")))
    group = FileGroup.of(["/in/a.jsonl"])
    group.task_id = "s1"
    sink.add("jsonl_reader", "dropped", group)
    [path] = published(sink.finish("s1.0"))
    assert lines_of(path) == [
        {
            "task": "FileGroup",
            "task_id": "s1",
            "identity": '[["/in/a.jsonl",0,"",0,null]]',
            "_dropped_by": "jsonl_reader",
            "_dropped_because": "dropped",
        }
    ]


def test_many_dropped_records_become_several_files(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(dropped, "_PART_BYTES", 1000)
    sink = sink_of(
        JsonlWriter(str(tmp_path / "out"), compression="gz", dropped_path=str(tmp_path / "drop"))
    )
    for _ in range(5):
        sink.add("s", "r", documents({"text": "x" * 600}))
    files = sink.finish("s1.0")
    assert [Path(file.final).name for file in files] == [
        "dropped-s1.0.jsonl.gz",
        "dropped-s1.0-1.jsonl.gz",
        "dropped-s1.0-2.jsonl.gz",
    ]
    assert [file.items for file in files] == [2, 2, 1]


def test_parquet_keeps_records_of_different_columns_apart(tmp_path: Path):
    sink = sink_of(ParquetWriter(str(tmp_path / "out"), dropped_path=str(tmp_path / "drop")))
    sink.add("a", "x", documents({"text": "1"}))
    sink.add("b", "y", documents({"text": "2", "n": 1}))
    sink.add("c", "z", documents({"text": "3"}))
    one, two = published(sink.finish("s1.0"))
    assert pq.read_table(one)["_dropped_by"].to_pylist() == ["a", "c"]
    assert pq.read_table(two)["n"].to_pylist() == [1]


@pytest.mark.parametrize("writer", [JsonlWriter, ParquetWriter])
def test_an_empty_batch_writes_no_record(tmp_path: Path, writer: type[JsonlWriter]):
    sink = sink_of(writer(str(tmp_path / "out"), dropped_path=str(tmp_path / "drop")))
    sink.add("a", "x", DocumentBatch(pa.table({"text": pa.array([], pa.string())})))
    assert sink.finish("s1.0") == []


def test_a_run_lists_files_of_dropped_records_separately(tmp_path: Path):
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n{"text": "long enough"}\n')
    writer = JsonlWriter(str(tmp_path / "out"), dropped_path=str(tmp_path / "drop"))
    stages = [JsonlReader(str(tmp_path / "in.jsonl")), long_texts, writer]
    result = Pipeline("p", stages=stages).run(LocalExecutor(workers=0))

    assert [Path(file).parent.name for file in result.files] == ["out"]
    assert [Path(file).parent.name for file in result.dropped_files] == ["drop"]
    assert result.run_dir is not None
    for in_short in (False, True):
        record = read_run(result.run_dir, in_short=in_short)
        assert record.folders == {str(tmp_path / "out"): 1}
        assert record.dropped_folders == {str(tmp_path / "drop"): 1}
