"""Batches of records: Arrow tables all the way."""

import pyarrow as pa
import pytest
from curator_core import DocumentBatch, Dropped
from hypothesis import given
from hypothesis import strategies as st

cells = st.fixed_dictionaries(
    {
        "text": st.none() | st.text(),
        "n": st.none() | st.integers(-(2**63), 2**63 - 1),
        "score": st.none() | st.floats(allow_nan=False),
        "tags": st.none() | st.lists(st.text(), max_size=2),
        "raw": st.none() | st.binary(max_size=4),
    }
)
SCHEMA = pa.schema(
    [
        ("text", pa.string()),
        ("n", pa.int64()),
        ("score", pa.float64()),
        ("tags", pa.list_(pa.string())),
        ("raw", pa.binary()),
    ]
)


def texts(*values: str | None) -> DocumentBatch:
    return DocumentBatch(pa.table({"text": pa.array(values, pa.string())}), "web", {"page": 1})


class TestPayload:
    @given(st.lists(cells, max_size=4), st.text(), st.dictionaries(st.text(), st.integers()))
    def test_survives_a_round_trip(
        self, records: list[dict[str, object]], name: str, metadata: dict[str, int]
    ) -> None:
        batch = DocumentBatch(pa.Table.from_pylist(records, schema=SCHEMA), name, metadata)

        again = DocumentBatch.from_payload(batch.to_payload())

        assert again == batch
        assert again.data.schema == SCHEMA

    def test_keeps_dictionaries_structs_and_the_schemas_own_notes(self) -> None:
        table = pa.table(
            {
                "lang": pa.array(["de", "en", "de"]).dictionary_encode(),
                "meta": pa.array([{"a": 1}, None, {"a": 3}]),
            }
        ).replace_schema_metadata({"made_by": "us"})

        again = DocumentBatch.from_payload(DocumentBatch(table).to_payload())

        assert again.data.equals(table, check_metadata=True)

    def test_of_a_slice_is_at_most_the_size_of_the_slice(self) -> None:
        large = pa.table({"n": pa.array(range(100_000), pa.int64())})

        assert len(DocumentBatch(large.slice(5, 10)).to_payload()) < 2_000


class TestKeep:
    def test_reports_how_many_were_dropped_and_why(self) -> None:
        kept, note = texts("a", "b", "c").keep([True, False, True], "too short")

        assert isinstance(kept, DocumentBatch)
        assert kept.to_pylist() == [{"text": "a"}, {"text": "c"}]
        assert kept.metadata == {"page": 1}
        assert isinstance(note, Dropped)
        assert (note.reason, note.items) == ("too short", 1)

    def test_returns_dropped_records_on_request(self) -> None:
        _, note = texts("a", "b", "c").keep([True, False, False], "short")

        assert isinstance(note, Dropped)
        assert callable(note.records)
        assert note.records().data.to_pylist() == [{"text": "b"}, {"text": "c"}]

    def test_returns_the_same_batch_if_all_are_kept(self) -> None:
        batch = texts("a", "b")

        assert batch.keep([True, True], "short") == [batch]

    def test_chooses_among_views_too(self) -> None:
        names = pa.array(["a", None, "c"], pa.string_view())
        batch = DocumentBatch(pa.table({"text": names, "n": [1, 2, 3]}))

        kept, note = batch.keep([True, False, True], "short")

        assert isinstance(kept, DocumentBatch)
        assert isinstance(note, Dropped)
        assert callable(note.records)
        assert kept.data.schema == batch.data.schema
        assert kept.to_pylist() == [{"text": "a", "n": 1}, {"text": "c", "n": 3}]
        assert note.records().to_pylist() == [{"text": None, "n": 2}]

    def test_treats_null_as_false(self) -> None:
        mask = pa.array([True, None, False])

        kept, note = texts("a", "b", "c").keep(mask, "odd")

        assert isinstance(kept, DocumentBatch)
        assert isinstance(note, Dropped)
        assert callable(note.records)
        assert (kept.num_items, note.items, note.records().num_items) == (1, 2, 2)

    @given(st.lists(st.sampled_from([True, False, None]), max_size=6), st.booleans())
    def test_loses_no_row(self, answers: list[bool | None], chunked: bool) -> None:
        mask = pa.array(answers, pa.bool_())
        batch = texts(*map(str, range(len(answers))))

        results = batch.keep(pa.chunked_array([mask]) if chunked else mask, "no")

        rows = [r.num_items if isinstance(r, DocumentBatch) else r.items for r in results]
        assert sum(rows) == len(answers)


class TestShape:
    def test_counts_rows_and_bytes_and_names_columns(self) -> None:
        batch = texts("abc", None)

        assert batch.num_items == 2
        assert batch.num_bytes == batch.data.nbytes
        assert batch.columns() == ("text",)

    def test_takes_records_with_holes(self) -> None:
        batch = DocumentBatch.from_pylist([{"a": 1, "b": None}, {"a": 2, "b": "x"}])

        assert batch.to_pylist() == [{"a": 1, "b": None}, {"a": 2, "b": "x"}]

    def test_converts_to_pandas_and_back(self) -> None:
        pytest.importorskip("pandas")
        batch = texts("a", "b")

        assert DocumentBatch.from_pandas(batch.to_pandas(), "web").to_pylist() == batch.to_pylist()


def test_the_size_is_that_of_the_data_it_holds_now() -> None:
    batch = texts("a" * 100)
    assert 100 < batch.num_bytes < 200
    batch.data = texts("a" * 1000).data
    assert 1000 < batch.num_bytes < 1100


def test_records_with_invalid_utf8_can_be_described() -> None:
    texts = pa.array([b"good", b"bad \xff", None], pa.binary()).view(pa.string())
    batch = DocumentBatch(pa.table({"text": texts, "n": [1, 2, 3]}))
    assert batch.describe_items() == [
        {"text": "good", "n": 1},
        {"text": "bad \ufffd", "n": 2},
        {"text": None, "n": 3},
    ]
