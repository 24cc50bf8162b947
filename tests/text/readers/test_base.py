import pyarrow as pa
import pytest
from curator_text.readers.base import RowBuffer


def test_rows_become_a_table_of_about_the_reported_size() -> None:
    schema = pa.schema({"url": pa.string(), "status": pa.int16(), "content": pa.binary()})
    columns = RowBuffer(schema, 8)
    columns.add(("a", 200, b"x" * 1000))
    columns.add((None, None, memoryview(b"y")))
    assert 1002 < columns.size < 1300
    assert columns.table().to_pylist() == [
        {"url": "a", "status": 200, "content": b"x" * 1000},
        {"url": None, "status": None, "content": b"y"},
    ]


def test_row_must_have_a_value_for_each_column() -> None:
    columns = RowBuffer(pa.schema({"url": pa.string(), "content": pa.binary()}), 8)
    with pytest.raises(ValueError, match="shorter"):
        columns.add(("a",))
