import pytest
from curator_core import DocumentBatch, StageError
from curator_core.testing import check_stage, run_stage, run_stages
from curator_text import DocumentJoiner, DocumentSplitter
from curator_text.segments import JOINED
from hypothesis import given
from hypothesis import strategies as st

ROWS = [
    {"id": "a", "text": "one\n\ntwo\n\nthree", "url": "u"},
    {"id": "b", "text": None, "url": "v"},
    {"id": "c", "text": "", "url": None},
    {"id": "d", "text": "alone", "url": "w"},
]


def rows(batch: object) -> list[dict[str, object]]:
    assert isinstance(batch, DocumentBatch)
    return batch.to_pylist()


def test_splitter_makes_a_row_of_each_part() -> None:
    [parts] = run_stage(DocumentSplitter("\n\n"), DocumentBatch.from_pylist(ROWS))
    found = [(row["id"], row["text"], row["segment_id"], row["url"]) for row in rows(parts)]
    assert found == [
        ("a", "one", 0, "u"),
        ("a", "two", 1, "u"),
        ("a", "three", 2, "u"),
        ("b", None, 0, "v"),
        ("c", "", 0, None),
        ("d", "alone", 0, "w"),
    ]


def test_stage_fulfills_the_stage_contract() -> None:
    batch = DocumentBatch.from_pylist(ROWS)
    check_stage(DocumentSplitter("\n\n"), batch)
    [parts] = run_stage(DocumentSplitter("\n\n"), batch)
    check_stage(DocumentJoiner(), parts)
    check_stage(DocumentJoiner(max_length=7, drop_segment_id_field=False), parts)


texts = st.one_of(st.none(), st.text(st.sampled_from("ab|\n"), max_size=12))


@given(st.lists(texts, min_size=1, max_size=6))
def test_split_and_join_restores_the_text(found: list[str | None]) -> None:
    batch = DocumentBatch.from_pylist([{"id": i, "text": text} for i, text in enumerate(found)])
    run = run_stages([DocumentSplitter("|"), DocumentJoiner("|")], [batch])
    assert rows(run.outputs[0]) == batch.to_pylist()


def test_joined_segments_count_as_dropped() -> None:
    run = run_stages(
        [DocumentSplitter("\n\n"), DocumentJoiner()], [DocumentBatch.from_pylist(ROWS)]
    )
    assert (run.counts.items_in, run.counts.items_out) == (4, 6)
    joiner = run.report.of(1)
    assert (joiner.items_in, joiner.items_out, joiner.reasons) == (6, 4, {JOINED: 2})
    assert run.counts.tasks_out == joiner.tasks_out == 1


def test_segments_are_joined_in_segment_order() -> None:
    parts = [
        {"id": 1, "segment_id": 2, "text": "c"},
        {"id": 2, "segment_id": 0, "text": "x"},
        {"id": 1, "segment_id": 0, "text": "a"},
        {"id": 1, "segment_id": 1, "text": None},
    ]
    [joined, _] = DocumentJoiner(" ").process(DocumentBatch.from_pylist(parts))
    assert rows(joined) == [{"id": 1, "text": "a c"}, {"id": 2, "text": "x"}]


def test_rows_without_an_id_are_not_joined() -> None:
    parts = [{"id": None, "segment_id": 0, "text": text} for text in "ab"]
    [joined] = DocumentJoiner().process(DocumentBatch.from_pylist(parts))
    assert [row["text"] for row in rows(joined)] == ["a", "b"]


def test_segments_of_different_batches_are_not_joined() -> None:
    one = DocumentBatch.from_pylist([{"id": 1, "segment_id": 0, "text": "a"}])
    two = DocumentBatch.from_pylist([{"id": 1, "segment_id": 1, "text": "b"}])
    assert [rows(batch)[0]["text"] for batch in run_stage(DocumentJoiner(), one, two)] == ["a", "b"]


@pytest.mark.parametrize(
    ("most", "made"),
    [(100, ["aa-bbb-c"]), (6, ["aa-bbb", "c"]), (5, ["aa", "bbb-c"]), (1, ["aa", "bbb", "c"])],
)
def test_max_length_splits_documents(most: int, made: list[str]) -> None:
    parts = [{"id": 1, "segment_id": i, "text": text} for i, text in enumerate(["aa", "bbb", "c"])]
    stage = DocumentJoiner("-", max_length=most, drop_segment_id_field=False)
    joined = stage.process(DocumentBatch.from_pylist(parts))[0]
    assert [row["text"] for row in rows(joined)] == made
    assert [row["segment_id"] for row in rows(joined)] == list(range(len(made)))


def test_length_field_replaces_characters() -> None:
    parts = [{"id": 1, "segment_id": i, "text": "x", "tokens": 4} for i in range(3)]
    stage = DocumentJoiner("-", max_length=9, length_field="tokens")
    joined = stage.process(DocumentBatch.from_pylist(parts))[0]
    assert [(row["text"], row["tokens"]) for row in rows(joined)] == [("x-x", 9), ("x", 4)]


def test_existing_segment_column_is_not_overwritten() -> None:
    with pytest.raises(StageError, match=r"column 'segment_id' already .*segment_id_field"):
        run_stage(DocumentSplitter("|"), DocumentBatch.from_pylist([{"text": "", "segment_id": 1}]))


@pytest.mark.parametrize(
    ("stage", "problem"),
    [
        (DocumentSplitter(""), "separator is empty"),
        (DocumentSplitter(" ", segment_id_field="text"), "segment_id_field is 'text'"),
        (DocumentJoiner(max_length=0), "max_length is 0, but must be 1 or more"),
        (DocumentJoiner(length_field="n"), "length_field has no effect without max_length"),
    ],
)
def test_invalid_options_are_problems_of_the_plan(
    stage: DocumentSplitter | DocumentJoiner, problem: str
) -> None:
    [found] = stage.check()
    assert problem in found


@pytest.mark.timeout(20)
def test_text_of_separators_only() -> None:
    [parts] = run_stage(DocumentSplitter("\n"), DocumentBatch.from_pylist([{"text": "\n" * 10**6}]))
    assert parts.num_items == 10**6 + 1
