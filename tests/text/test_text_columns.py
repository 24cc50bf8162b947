"""Texts in every Arrow type."""

from typing import Any

import pyarrow as pa
import pytest
from curator_core import DocumentBatch, Dropped, Rejected
from curator_core.testing import run_stages
from curator_text import (
    C4QualityFilter,
    DocumentSplitter,
    NewlineNormalizer,
    WordCountFilter,
)
from curator_text.compiled.engine import VARIABLE

KINDS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.large_string()),
    pa.dictionary(pa.int32(), pa.string_view()),
    pa.dictionary(pa.int32(), pa.binary()),
]
LINE = "It is a line of more than a few words, and ends as it should."
TEXTS = ["one two three", None, "one", "\n".join([LINE] * 6), "", "\u00fc \u6587 x"]
ENGINES = ["python", "compiled"]


def column(texts: list[str | None], kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        indices = [None if text is None else place for place, text in enumerate(texts)]
        known = column([text or "" for text in texts], kind.value_type)
        return pa.DictionaryArray.from_arrays(pa.array(indices, kind.index_type), known)
    is_text = kind in (pa.string(), pa.large_string(), pa.string_view())
    return pa.array([text if text is None or is_text else text.encode() for text in texts], kind)


def batch(kind: pa.DataType, texts: list[str | None] = TEXTS) -> DocumentBatch:
    """Return a batch with the texts in one chunk or two, and a string view."""
    chunks = [column(texts, kind), column(texts[:2], kind), column(texts[2:], kind)]
    numbers = range(2 * len(texts))
    urls = pa.array([f"http://a/{number}" for number in numbers], pa.string_view())
    return DocumentBatch(pa.table({"n": numbers, "text": pa.chunked_array(chunks), "url": urls}))


@pytest.fixture(params=ENGINES, autouse=True)
def _engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setenv(VARIABLE, request.param)


def numbers(task: Any) -> list[int]:
    return list(task.data["n"].to_pylist())


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_filters_accept_any_text_type(kind: pa.DataType) -> None:
    stages = [WordCountFilter(2, score_field="words"), WordCountFilter(3)]
    [kept] = run_stages(stages, [batch(kind)]).outputs
    assert isinstance(kept, DocumentBatch)
    assert numbers(kept) == [0, 3, 5, 6, 9, 11]
    assert kept.data["words"].to_pylist()[0] == 3
    assert kept.data["url"].type == pa.string_view()
    assert kept.data["url"].to_pylist()[1] == "http://a/3"


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_dropped_documents_can_be_saved(kind: pa.DataType) -> None:
    _, dropped = WordCountFilter(2).process(batch(kind))
    assert isinstance(dropped, Dropped)
    assert callable(dropped.records)
    assert numbers(dropped.records()) == [1, 2, 4, 7, 8, 10]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_edits_modifiers_and_splitters_accept_any_text_type(kind: pa.DataType) -> None:
    [edited] = run_stages([C4QualityFilter()], [batch(kind)]).outputs
    assert numbers(edited) == [3, 9]
    [changed] = run_stages([NewlineNormalizer()], [batch(kind)]).outputs
    assert changed.data["text"].to_pylist()[:6] == TEXTS
    [parts] = run_stages([DocumentSplitter("\n")], [batch(kind)]).outputs
    assert numbers(parts) == [0, 1, 2, *[3] * 6, 4, 5, 6, 7, 8, *[9] * 6, 10, 11]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()], ids=str)
def test_invalid_utf8_quarantines_only_its_row(kind: pa.DataType) -> None:
    table = pa.table({"text": pa.array([b"one two", b"\xff\xfe", None], kind)})
    kept, *notes = WordCountFilter(1).process(DocumentBatch(table))
    assert isinstance(kept, DocumentBatch)
    assert kept.to_pylist() == [{"text": b"one two"}]
    [rejected] = [note for note in notes if isinstance(note, Rejected)]
    assert rejected.reason == "its text is no UTF-8: invalid start byte at byte 0"
