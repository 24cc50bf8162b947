"""Exchanges: all records of a key are in one partition, exactly once, even after interruptions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_core import (
    DocumentBatch,
    InputError,
    JsonlReader,
    LocalExecutor,
    Pipeline,
    PipelineError,
    StageError,
)
from curator_core.io.shuffle import (
    ExchangeReader,
    ExchangeWriter,
    concat_tables,
    partition_column,
    split_by_partition,
)
from curator_core.plugins.registry import plugins
from hypothesis import given
from hypothesis import strategies as st

HERE = LocalExecutor(workers=0)


def exchange(folder: Path, batches: list[list[dict[str, Any]]], **options: Any) -> Path:
    tasks = [DocumentBatch.from_pylist(records) for records in batches]
    writer = ExchangeWriter(str(folder), key="key", **options)
    Pipeline("write", stages=[writer]).run(HERE, tasks)
    return folder


def partitions_in(folder: Path, executor: LocalExecutor = HERE, **options: Any) -> list[pa.Table]:
    reader = ExchangeReader(str(folder), **options)
    return [task.data for task in Pipeline("read", stages=[reader]).run(executor)]


@pytest.mark.parametrize("workers", [0, 2])
def test_all_records_of_a_key_come_together(tmp_path: Path, workers: int) -> None:
    batches = [[{"key": f"k{(n + b) % 13}", "n": 100 * b + n} for n in range(50)] for b in range(4)]
    exchange(tmp_path / "ex", batches, partitions=5)
    tables = partitions_in(tmp_path / "ex", LocalExecutor(workers), partitions=5)
    seen = [key for table in tables for key in set(table["key"].to_pylist())]
    assert sorted(seen) == sorted(f"k{n}" for n in range(13))
    numbers = [n for table in tables for n in table["n"].to_pylist()]
    assert sorted(numbers) == sorted(100 * b + n for b in range(4) for n in range(50))
    assert len(tables) > 2
    assert len(list((tmp_path / "ex").glob("part-*.parquet"))) == 4


def test_a_partition_can_be_read_in_small_batches(tmp_path: Path) -> None:
    batches = [[{"key": "same", "n": n} for n in range(100)] for _ in range(2)]
    exchange(tmp_path / "ex", batches, partitions=3)
    [whole] = partitions_in(tmp_path / "ex", partitions=3)
    assert whole.num_rows == 200
    small = partitions_in(tmp_path / "ex", partitions=3, batch_size_bytes=400, fields=["n"])
    assert all(table.nbytes <= 400 for table in small)
    assert [n for table in small for n in table["n"].to_pylist()] == [*range(100)] * 2


KEYS = st.one_of(
    st.lists(st.one_of(st.none(), st.text(st.characters(codec="utf-8")))),
    st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))),
    st.lists(st.one_of(st.none(), st.booleans())),
    st.lists(st.one_of(st.none(), st.binary(min_size=16, max_size=16))),
)


@given(KEYS, st.integers(1, 40))
def test_equal_keys_have_the_same_partition_in_any_table(keys: list[Any], partitions: int) -> None:
    table = pa.table({"k": pa.array(keys)})
    places = partition_column(table, ["k"], partitions).to_pylist()
    assert all(0 <= place < partitions for place in places)
    alone = [
        partition_column(table.slice(row, 1), ["k"], partitions)[0].as_py()
        for row in range(len(keys))
    ]
    assert places == alone
    rows = table.append_column("row", pa.array(range(len(keys)), pa.int64()))
    parts = split_by_partition(rows, pa.array(places, pa.uint64()), partitions)
    assert len(parts) == partitions
    for number, part in enumerate(parts):
        there = [row for row, place in enumerate(places) if place == number]
        assert part["row"].to_pylist() == there


@pytest.mark.parametrize(("plain", "view"), [("string", "string_view"), ("binary", "binary_view")])
def test_views_have_the_partition_of_their_values(plain: str, view: str) -> None:
    keys = ["a", None, "", "b", "a"] if plain == "string" else [b"\xff", None, b"", b"b", b"\xff"]
    table, views = (pa.table({"k": pa.array(keys, getattr(pa, kind)())}) for kind in (plain, view))
    places = partition_column(table, ["k"], 40)
    assert partition_column(views, ["k"], 40) == places
    assert [part.to_pylist() for part in split_by_partition(views, places, 40)] == [
        part.to_pylist() for part in split_by_partition(table, places, 40)
    ]


@given(st.lists(st.one_of(st.none(), st.binary(min_size=16, max_size=16))), st.integers(0, 3))
def test_the_beginning_of_a_hash_chooses_the_partition(
    hashes: list[bytes | None], cut: int
) -> None:
    table = pa.table({"k": pa.array(hashes, pa.binary(16))}).slice(cut)
    places = partition_column(table, ["k"], 7, hashed=True).to_pylist()
    expected = [int.from_bytes((raw or b"\0" * 4)[4:8], "little") * 7 >> 32 if raw else 0
                for raw in hashes[cut:]]  # fmt: skip
    assert places == expected


def test_keys_are_spread_and_several_count_together(tmp_path: Path) -> None:
    table = pa.table(
        {"a": [n // 100 for n in range(10_000)], "b": [n % 100 for n in range(10_000)]}
    )
    together = partition_column(table, ["a", "b"], 10).to_pylist()
    assert all(850 < together.count(place) < 1150 for place in range(10))
    swapped = partition_column(table, ["b", "a"], 10).to_pylist()
    assert swapped != together
    same = pa.table({"a": ["x", "y"], "b": ["x", "y"]})
    assert partition_column(same, ["a", "b"], 4096).to_pylist() != [0, 0]


def test_a_killed_write_resumes_without_duplicates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    for number in range(3):
        (raw / f"{number}.jsonl").write_text(f'{{"key": "a", "n": {number}}}\n')
    stages = [JsonlReader(str(raw)), ExchangeWriter(str(tmp_path / "ex"), key="key", partitions=2)]
    pipeline = Pipeline("write", stages=stages, on_error="fail")
    write: Callable[..., None] = ExchangeWriter.write
    calls = []

    def breaking(self: ExchangeWriter, tables: Any, file: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("power failure")
        write(self, tables, file)

    with monkeypatch.context() as patched:
        patched.setattr(ExchangeWriter, "write", breaking)
        with pytest.raises(StageError, match="power failure"):
            pipeline.run(HERE)
    pipeline.run(HERE)
    [table] = partitions_in(tmp_path / "ex", partitions=2)
    assert sorted(table["n"].to_pylist()) == [0, 1, 2]


def test_another_number_of_partitions_is_refused(tmp_path: Path) -> None:
    exchange(tmp_path / "ex", [[{"key": "a"}]], partitions=4)
    with pytest.raises(StageError, match="was written for 4 partitions, not for 8; give reader"):
        Pipeline(stages=[ExchangeReader(str(tmp_path / "ex"), 8)], on_error="fail").run(HERE)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    exchange(tmp_path / "ex", [[{"key": "a"}]], partitions=1)
    [file] = (tmp_path / "ex").glob("part-*")
    file.write_bytes(b"PAR1 nothing")
    with pytest.raises(StageError, match=rf"cannot read {file}: damaged Parquet"):
        Pipeline(stages=[ExchangeReader(str(tmp_path / "ex"), 1)], on_error="fail").run(HERE)


def test_wrong_options_are_reported_before_the_run(tmp_path: Path) -> None:
    writer = ExchangeWriter(
        str(tmp_path), key=["a", ""], partitions=5000, hashed=True, partition_by="a", fields=["a"]
    )
    message = "\n".join(writer.check())
    assert "partitions is 5000, but must be from 1 to 4096" in message
    assert "key is empty; name the column by which records are grouped" in message
    assert "partition_by makes folders, which an exchange does not read" in message
    assert "hashed is for one key" in message
    assert "fields leaves out the key ''" in message
    with pytest.raises(PipelineError, match="batch_size_bytes is 'big', but must be a size"):
        Pipeline(stages=[ExchangeReader(str(tmp_path), 0, None, "big")]).build()


def test_a_column_that_is_not_a_hash_is_refused() -> None:
    table = pa.table({"key": ["text"]})
    with pytest.raises(InputError, match="hashed says that 'key' holds hashes, but it is string"):
        partition_column(table, ["key"], 2, hashed=True)


def test_columns_of_two_types_are_refused() -> None:
    with pytest.raises(Exception, match="give a column the same type in all batches"):
        concat_tables([pa.table({"a": ["x"]}), pa.table({"a": [[1]]})])
    assert concat_tables([pa.table({"a": [1]}), pa.table({"b": [2]})]).column_names == ["a", "b"]


def test_object_stores_hold_exchanges_too() -> None:
    writer = ExchangeWriter("memory://exchanges/ex", key="key", partitions=3)
    tasks = [DocumentBatch.from_pylist([{"key": n % 5, "n": n} for n in range(20)])]
    Pipeline("w", stages=[writer]).run(HERE, tasks)
    reader = ExchangeReader("memory://exchanges/ex", partitions=3)
    tables = [task.data for task in Pipeline("r", stages=[reader]).run(HERE)]
    assert sorted(n for table in tables for n in table["n"].to_pylist()) == list(range(20))


def test_recipes_can_name_them() -> None:
    stages = plugins().stages
    assert stages.load("core.exchange_reader") is ExchangeReader
    assert stages.load("core.exchange_writer") is ExchangeWriter


def test_row_groups_are_partitions(tmp_path: Path) -> None:
    exchange(tmp_path / "ex", [[{"key": n} for n in range(100)]], partitions=6)
    [file] = (tmp_path / "ex").glob("part-*")
    assert pq.ParquetFile(file).num_row_groups == 6


def test_only_columns_that_may_repeat_get_a_dictionary(tmp_path: Path) -> None:
    digests = pa.array([n.to_bytes(16) for n in range(50)], pa.binary(16))
    table = pa.table({"key": digests, "row": range(50), "file": ["a.jsonl"] * 50})
    writer = ExchangeWriter(str(tmp_path / "ex"), hashed=True, partitions=1)
    Pipeline("write", stages=[writer]).run(HERE, [DocumentBatch(table)])
    [path] = (tmp_path / "ex").glob("part-*")
    group = pq.ParquetFile(path).metadata.row_group(0)
    columns = [group.column(place) for place in range(3)]
    found = {one.path_in_schema: one.has_dictionary_page for one in columns}
    assert found == {"key": False, "row": False, "file": True}
    assert pq.read_table(path).equals(table)
