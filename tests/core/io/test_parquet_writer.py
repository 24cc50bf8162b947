from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_core.io.atomic_write import publish
from curator_core.io.filesystems import open_filesystem
from curator_core.io.readers.parquet import ParquetReading
from curator_core.io.writers import ParquetWriter
from curator_core.model.arrow import is_json, json_field
from curator_core.model.documents import DocumentBatch
from curator_core.model.files import FileGroup
from curator_core.testing import check_stage


def batch(table: pa.Table) -> DocumentBatch:
    made = DocumentBatch(table)
    made.task_id = "t.0"
    return made


def published(written: FileGroup) -> Path:
    [staged] = written.staged
    publish(open_filesystem(staged.final)[0], staged)
    return Path(staged.final)


@pytest.mark.parametrize("compression", [*ParquetWriter.compressions, None])
def test_a_batch_becomes_a_file(tmp_path: Path, compression: str | None):
    table = pa.table({"text": ["a", None], "tags": [["x"], []]})
    final = published(ParquetWriter(str(tmp_path), compression=compression).process(batch(table)))
    assert final.name == "part-t.0.parquet"
    assert pq.read_table(final).equals(table)
    used = pq.ParquetFile(final).metadata.row_group(0).column(0).compression
    assert used == (compression or "uncompressed").upper()


def test_it_compresses_with_zstd_by_default(tmp_path: Path):
    assert ParquetWriter(str(tmp_path)).compression == "zstd"


def test_only_some_fields(tmp_path: Path):
    writer = ParquetWriter(str(tmp_path), fields=["b"])
    final = published(writer.process(batch(pa.table({"a": [1], "b": [2]}))))
    assert pq.read_schema(final).names == ["b"]


def test_json_columns_stay_json_when_read_again(tmp_path: Path):
    table = pa.table([pa.array(['{"a":1}'])], schema=pa.schema([json_field("meta")]))
    final = published(ParquetWriter(str(tmp_path)).process(batch(table)))
    [again] = ParquetReading().process(FileGroup.of([str(final)]))
    assert isinstance(again, DocumentBatch)
    assert is_json(again.data.schema.field("meta"))


def test_a_wrong_compression_is_reported(tmp_path: Path):
    [problem] = ParquetWriter(str(tmp_path), compression="zst").check()
    assert problem == "compression is 'zst' (did you mean zstd?)"


def test_it_passes_check_stage(tmp_path: Path):
    check_stage(ParquetWriter(str(tmp_path / "out")), batch(pa.table({"text": ["a"]})))
