import pyarrow as pa
import pytest
from curator_text.sources.columns import BytesColumn, Columns
from hypothesis import given
from hypothesis import strategies as st


@given(values=st.lists(st.none() | st.binary(max_size=40)), expected=st.integers(0, 50))
def test_bytes_come_out_as_they_went_in(values: list[bytes | None], expected: int) -> None:
    column = BytesColumn(expected)
    for value in values:
        column.append(value)
    array = column.array()
    array.validate(full=True)
    assert array.to_pylist() == values
    assert array.type == pa.binary()


def test_nothing_is_kept_of_what_was_looked_at() -> None:
    column = BytesColumn()
    held = bytearray(b"xhellox")
    column.append(memoryview(held)[1:6])
    held.clear()  # refused while anybody looks at it
    assert column.array().to_pylist() == [b"hello"]


def test_rows_become_a_table_of_about_the_size_that_is_told() -> None:
    schema = pa.schema({"url": pa.string(), "status": pa.int16(), "content": pa.binary()})
    columns = Columns(schema, 8)
    columns.add(("a", 200, b"x" * 1000))
    columns.add((None, None, memoryview(b"y")))
    assert 1002 < columns.size < 1300
    assert columns.table().to_pylist() == [
        {"url": "a", "status": 200, "content": b"x" * 1000},
        {"url": None, "status": None, "content": b"y"},
    ]


def test_a_row_has_a_value_for_each_column() -> None:
    columns = Columns(pa.schema({"url": pa.string(), "content": pa.binary()}), 8)
    with pytest.raises(ValueError, match="shorter"):
        columns.add(("a",))
