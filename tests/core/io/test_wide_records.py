"""Records with ever more keys: batches stay within limits, and nothing is lost."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from curator_core.io.readers.json_records import MAX_KEYS
from curator_core.io.readers.jsonl import JsonlReading
from curator_core.io.readers.tables import (
    MAX_CELLS,
    TooWideError,
    _dense_columns,
    _sparse_columns,
    split_columns,
    to_columns,
    to_table,
)
from curator_core.model.documents import DocumentBatch
from curator_core.model.files import FileGroup, FilePart
from curator_core.model.tasks import Rejected
from hypothesis import given
from hypothesis import strategies as st


def read(
    folder: Path, *files: list[Any], **options: Any
) -> tuple[list[DocumentBatch], list[Rejected]]:
    parts = []
    for number, records in enumerate(files):
        path = folder / f"{number}.jsonl"
        path.write_bytes(b"\n".join(map(orjson.dumps, records)))
        parts.append(FilePart(str(path)))
    outcomes = list(JsonlReading(**options).process(FileGroup(parts)))
    batches = [one for one in outcomes if isinstance(one, DocumentBatch)]
    return batches, [one for one in outcomes if isinstance(one, Rejected)]


def keys(first: int, count: int) -> dict[str, int]:
    return {f"k{number}": number for number in range(first, first + count)}


def test_a_new_key_in_each_line_makes_batches_within_bounds(tmp_path: Path) -> None:
    count = 6000
    batches, rejected = read(tmp_path, [{"text": "x", f"k{n}": n} for n in range(count)])
    assert not rejected
    assert len(batches) > 1
    assert all(batch.num_items * len(batch.columns()) <= MAX_CELLS for batch in batches)
    number = 0
    for batch in batches:
        for row in (0, batch.num_items - 1):
            assert batch.data.column(f"k{number + row}")[row].as_py() == number + row
            assert batch.data.column(f"k{number + row}").null_count == batch.num_items - 1
        number += batch.num_items
    assert number == count


def test_a_record_with_too_many_keys_only_rejects_itself(tmp_path: Path) -> None:
    records = [{"text": "a"}, {"text": "b", **keys(0, MAX_KEYS)}, {"text": "c"}]
    batches, rejected = read(tmp_path, records)
    assert [batch.data.to_pydict() for batch in batches] == [{"text": ["a", "c"]}]
    (one,) = rejected
    assert "10,001 keys" in one.reason
    assert one.where is not None
    assert one.where.endswith("0.jsonl line 2")


def test_fields_are_read_from_any_record(tmp_path: Path) -> None:
    records = [{"text": "a"}, {"text": "b", **keys(0, MAX_KEYS)}]
    (batch,), rejected = read(tmp_path, records, fields=["text", "k7"])
    assert batch.data.to_pydict() == {"text": ["a", "b"], "k7": [None, 7]}
    assert not rejected


def test_files_with_different_keys_are_not_batched_together(tmp_path: Path) -> None:
    files = [[{"text": "a", **keys(start, 6000)}] for start in (0, 3000, 6000)]
    batches, rejected = read(tmp_path, *files)
    assert [len(batch.columns()) for batch in batches] == [9001, 6001]
    assert not rejected


def test_a_table_that_would_be_too_wide_is_refused() -> None:
    records = [keys(0, 6000), keys(6000, 6000)]
    with pytest.raises(TooWideError, match="12,000 different keys"):
        to_columns(records)
    portions = split_columns(records)
    assert [len(portion.arrays) for portion in portions] == [6000, 6000]
    with pytest.raises(TooWideError):
        to_table(portions)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=3),
    st.lists(st.integers(0, 9), max_size=2),
    st.dictionaries(st.sampled_from("ab"), st.integers(0, 9), max_size=2),
)


@given(st.lists(st.dictionaries(st.sampled_from(["text", "a", "b", "c"]), VALUES), max_size=12))
def test_columns_with_few_values_are_those_with_many(records: list[dict[str, Any]]) -> None:
    records = [{k: v for k, v in one.items() if type(v) is not int or abs(v) < 2**63} for one in
               records]  # fmt: skip
    names = dict.fromkeys(name for record in records for name in record)
    sparse, dense = _sparse_columns(records, names, "text"), _dense_columns(records, names, "text")
    assert sparse.rows == dense.rows
    assert sparse.arrays.keys() == dense.arrays.keys()
    for name, (kind, array) in sparse.arrays.items():
        assert (kind, array.type) == (dense.arrays[name][0], dense.arrays[name][1].type)
        assert array.equals(dense.arrays[name][1])
