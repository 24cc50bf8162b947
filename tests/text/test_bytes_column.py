import pyarrow as pa
from curator_text.text_columns import BytesColumn
from hypothesis import given
from hypothesis import strategies as st


@given(values=st.lists(st.none() | st.binary(max_size=40)), expected=st.integers(0, 50))
def test_bytes_are_returned_unchanged(values: list[bytes | None], expected: int) -> None:
    column = BytesColumn(expected)
    for value in values:
        column.append(value)
    array = column.array()
    array.validate(full=True)
    assert array.to_pylist() == values
    assert array.type == pa.binary()


def test_views_are_not_kept() -> None:
    column = BytesColumn()
    held = bytearray(b"xhellox")
    column.append(memoryview(held)[1:6])
    held.clear()  # fails while a view exists
    assert column.array().to_pylist() == [b"hello"]


def test_bytes_can_become_a_string_column() -> None:
    column = BytesColumn()
    for text in ("é", "", "bc"):
        column.append(text.encode())
    assert column.array(pa.string()).to_pylist() == ["é", "", "bc"]
