from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_core.errors import InputError
from curator_core.io.readers import ParquetReader
from curator_core.io.readers.parquet import ParquetReading
from curator_core.model.documents import DocumentBatch
from curator_core.model.files import FileGroup, FilePart
from curator_core.model.tasks import Empty, Rejected
from curator_core.testing import check_stage


def write(path: Path, table: pa.Table, rows: int = 1000) -> str:
    options = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    pq.write_table(table, path, row_group_size=rows, **options)
    return str(path)


def numbered(count: int, width: int = 10) -> pa.Table:
    return pa.table({"text": [f"{i:0{width}}" for i in range(count)], "n": range(count)})


def read(*parts: str | FilePart, **options: Any) -> tuple[list[DocumentBatch], list[Rejected]]:
    group = FileGroup([FilePart(p) if isinstance(p, str) else p for p in parts])
    group.task_id = "t"
    outcomes = list(ParquetReading(**options).process(group))
    batches = [one for one in outcomes if isinstance(one, DocumentBatch)]
    return batches, [one for one in outcomes if isinstance(one, Rejected)]


def test_reading_a_file(tmp_path: Path):
    path = write(tmp_path / "a.parquet", numbered(3))
    [batch], rejected = read(path)
    assert batch.data.equals(numbered(3))
    assert batch.metadata == {"source_files": [path]}
    assert rejected == []


def test_a_range_of_row_groups(tmp_path: Path):
    path = write(tmp_path / "a.parquet", numbered(10), rows=2)
    [batch], _ = read(FilePart(path, start=1, end=3))
    assert batch.data["n"].to_pylist() == [2, 3, 4, 5]
    [rest], _ = read(FilePart(path, start=3))
    assert rest.data["n"].to_pylist() == [6, 7, 8, 9]


def test_only_some_columns_in_the_order_asked_for(tmp_path: Path):
    path = write(tmp_path / "a.parquet", numbered(2).append_column("x", pa.array(["a", "b"])))
    [batch], _ = read(path, fields=["x", "text"])
    assert batch.data.column_names == ["x", "text"]


def test_a_column_missing_in_one_file(tmp_path: Path):
    one = write(tmp_path / "a.parquet", numbered(1))
    two = write(tmp_path / "b.parquet", pa.table({"texts": ["x"]}))
    [batch], [rejected] = read(one, two, fields=["text"])
    assert batch.data["text"].to_pylist() == ["0000000000"]
    assert rejected.reason == f"{two} has no column 'text' (did you mean texts?)"


def test_the_text_is_always_plain_text(tmp_path: Path):
    kinds = [
        pa.array(["a", "b"]).dictionary_encode(),
        pa.array(["a", "b"], pa.large_string()),
        pa.array([b"a", b"b"]),
    ]
    for kind in kinds:
        path = write(tmp_path / "a.parquet", pa.table({"text": kind}))
        [batch], _ = read(path)
        assert batch.data.schema.field("text").type == pa.string()
        assert batch.data["text"].to_pylist() == ["a", "b"]


def test_values_that_cannot_become_text(tmp_path: Path):
    path = write(tmp_path / "a.parquet", pa.table({"text": [{"a": 1}]}))
    with pytest.raises(InputError, match=r"column 'text' of .* is struct<a: int64>, which cannot"):
        read(path)
    [batch], _ = read(path, text_field=None)
    assert batch.data["text"].to_pylist() == [{"a": 1}]


def test_a_large_file_becomes_several_batches(tmp_path: Path):
    path = write(tmp_path / "a.parquet", numbered(80, width=1_000_000), rows=50)
    batches, _ = read(path)
    assert sum(batch.num_items for batch in batches) == 80
    assert max(batch.num_bytes for batch in batches) < 40 * 2**20
    assert len(batches) < 6


def test_files_of_different_columns_do_not_share_a_batch(tmp_path: Path):
    one = write(tmp_path / "a.parquet", numbered(1))
    two = write(tmp_path / "b.parquet", numbered(1))
    other = write(tmp_path / "c.parquet", pa.table({"text": ["x"]}))
    batches, _ = read(one, two, other)
    assert [batch.metadata["source_files"] for batch in batches] == [[one, two], [other]]


def test_a_damaged_row_group_does_not_hide_the_others(tmp_path: Path):
    path = write(tmp_path / "a.parquet", numbered(30, width=1000), rows=10)
    content = bytearray(Path(path).read_bytes())
    middle = content.index(b"%01000d" % 10)
    content[middle - 20 : middle - 8] = b"\xff" * 12  # the header of a page
    Path(path).write_bytes(content)
    batches, [rejected] = read(path)
    assert [n for batch in batches for n in batch.data["n"].to_pylist()] == [
        *range(10),
        *range(20, 30),
    ]
    assert rejected.where == f"{path} row group 1"
    assert rejected.reason.startswith("damaged Parquet: ")
    assert rejected.items == 10


def test_a_flipped_bit_is_noticed_where_pages_have_checksums(tmp_path: Path):
    path = tmp_path / "a.parquet"
    pq.write_table(numbered(10), path, compression="none", write_page_checksum=True)
    content = bytearray(path.read_bytes())
    content[content.index(b"0000000003")] ^= 1
    path.write_bytes(content)
    batches, [rejected] = read(str(path))
    assert batches == []
    assert rejected.reason.startswith("damaged Parquet: ")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no Parquet at all" * 100])
def test_a_file_that_is_not_parquet(tmp_path: Path, content: bytes):
    path = tmp_path / "a.parquet"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(str(path))
    assert str(caught.value).startswith(f"cannot read {path}: damaged Parquet: ")


def test_a_truncated_file(tmp_path: Path):
    path = Path(write(tmp_path / "a.parquet", numbered(100)))
    path.write_bytes(path.read_bytes()[:-20])
    good = write(tmp_path / "b.parquet", numbered(1))
    [batch], [rejected] = read(str(path), good)
    assert batch.num_items == 1
    assert rejected.reason.startswith(f"cannot read {path}: damaged Parquet: ")


def test_ids_continue_over_batches(tmp_path: Path):
    path = write(tmp_path / "a.parquet", numbered(3), rows=1)
    [batch], _ = read(path, add_id="doc")
    assert batch.data["doc"].to_pylist() == ["t-0", "t-1", "t-2"]


def test_a_reader_divides_a_large_file_between_row_groups(tmp_path: Path):
    path = write(tmp_path / "a.parquet", numbered(100, width=1000), rows=10)
    listing, reading = ParquetReader(str(tmp_path), blocksize="30kB").decompose()
    groups = list(listing.process(Empty()))
    assert len(groups) == 5
    numbers = [n for g in groups for b in reading.process(g) for n in b.data["n"].to_pylist()]
    assert numbers == list(range(100))
    assert groups[0].paths == [path]


def test_columns_are_known_and_checked_before_anything_runs(tmp_path: Path):
    write(tmp_path / "a.parquet", numbered(1))
    _, reading = ParquetReader(str(tmp_path), add_id=True).decompose()
    assert reading.columns_after(None) == {"text", "n", "id"}
    _, wrong = ParquetReader(str(tmp_path), fields=["txt"]).decompose()
    assert list(wrong.check()) == ["a.parquet has no field 'txt' (did you mean text?)"]


def test_an_object_store_is_read_the_same_way():
    from curator_core.io.filesystems import open_filesystem

    fs, _ = open_filesystem("memory://parquet")
    sink = pa.BufferOutputStream()
    pq.write_table(numbered(3), sink)
    fs.pipe_file("/parquet/a.parquet", sink.getvalue().to_pybytes())
    listing, reading = ParquetReader("memory://parquet").decompose()
    [group] = listing.process(Empty())
    [batch] = reading.process(group)
    assert batch.data["n"].to_pylist() == [0, 1, 2]


def test_it_passes_check_stage(tmp_path: Path):
    path = write(tmp_path / "a.parquet", numbered(3))
    check_stage(ParquetReading(), FileGroup.of([path]))
