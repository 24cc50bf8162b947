from dataclasses import dataclass

import pyarrow as pa
import pytest
from curator_core import DocumentBatch, StageError
from curator_core.testing import check_stage, run_stage, run_stages
from curator_text import (
    BoilerPlateStringModifier,
    ControlCharacterRemover,
    FastTextLabelModifier,
    HtmlEntityDecoder,
    LineRemover,
    MarkdownRemover,
    NewlineNormalizer,
    QuotationRemover,
    RepeatedLinesRemover,
    RepeatedParagraphsRemover,
    Slicer,
    TextModifier,
    TextRewriter,
    UnicodeNormalizer,
    UnicodeReformatter,
    UrlRemover,
    WhitespaceNormalizer,
)
from hypothesis import given
from hypothesis import strategies as st

MODIFIERS: list[TextModifier | TextRewriter] = [
    BoilerPlateStringModifier(),
    ControlCharacterRemover(),
    FastTextLabelModifier("__label__hq"),
    HtmlEntityDecoder(),
    LineRemover(["home"]),
    MarkdownRemover(),
    NewlineNormalizer(),
    QuotationRemover(),
    RepeatedLinesRemover(),
    RepeatedParagraphsRemover(),
    Slicer(1, "."),
    UnicodeNormalizer(),
    UnicodeReformatter(),
    UrlRemover(),
    WhitespaceNormalizer(),
]
LONG = 300_000
HOSTILE = {
    "NUL": "\x00" * LONG,
    "combining marks": "e" + "\u0301\u0327" * LONG,
    "right to left": "שלום עולם " * 1000,
    "no spaces": "好" * LONG,
    "brackets": "[" * LONG,
    "stars": "*_" * LONG,
    "ampersands": "&" * LONG,
    "digits of an entity": "&#" + "9" * LONG + ";",
    "one line": "word " * LONG,
    "lines": "\n" * LONG,
    "quotation marks": '"' * LONG,
    "addresses": "http://" * (LONG // 7),
}
KINDS = [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
every_modifier = pytest.mark.parametrize("stage", MODIFIERS, ids=lambda stage: stage.name)


def texts_after(stage: TextModifier | TextRewriter, texts: list[str | None]) -> list[str | None]:
    batch = DocumentBatch.from_pylist([{"text": text} for text in texts])
    [changed] = run_stage(stage, batch)
    assert isinstance(changed, DocumentBatch)
    return changed.data.column("text").to_pylist()  # type: ignore[no-any-return]


@every_modifier
def test_modifier_fulfills_the_stage_contract(stage: TextModifier | TextRewriter) -> None:
    rows = [{"text": "A & B.\n\nhome\n*so* www.a.example"}, {"text": None}, {"text": ""}]
    check_stage(stage, DocumentBatch.from_pylist(rows))


@every_modifier
@pytest.mark.parametrize("beside", [[], ["text"]])
def test_missing_text_stays_missing(
    stage: TextModifier | TextRewriter, beside: list[str | None]
) -> None:
    assert texts_after(stage, [None, *beside])[0] is None


@every_modifier
@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_texts_are_modified_quickly(stage: TextModifier | TextRewriter, text: str) -> None:
    [after] = texts_after(stage, [text])
    assert after is not None
    assert len(after) <= 2 * len(text) + 20


@every_modifier
@given(text=st.text())
def test_every_text_can_be_modified(stage: TextModifier | TextRewriter, text: str) -> None:
    [after] = texts_after(stage, [text])
    assert after is not None


@every_modifier
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_text_may_have_any_arrow_type(
    stage: TextModifier | TextRewriter, kind: pa.DataType
) -> None:
    table = pa.table({"text": pa.array(["One.", None]).cast(kind)})
    [changed] = run_stage(stage, DocumentBatch(table))
    assert changed.data.column("text").to_pylist() == texts_after(stage, ["One.", None])


@every_modifier
def test_column_of_another_type_is_named(stage: TextModifier | TextRewriter) -> None:
    expected = "column 'text' holds int64, but must hold text; name the column of text in text_fie"
    with pytest.raises(StageError, match=expected):
        run_stage(stage, DocumentBatch.from_pylist([{"text": 7}]))


def test_other_columns_and_the_input_are_unchanged() -> None:
    batch = DocumentBatch.from_pylist([{"id": 1, "text": "a  b", "url": "u"}])
    [changed] = run_stage(WhitespaceNormalizer(), batch)
    assert isinstance(changed, DocumentBatch)
    assert changed.to_pylist() == [{"id": 1, "text": "a b", "url": "u"}]
    assert changed.columns() == ("id", "text", "url")
    assert batch.to_pylist() == [{"id": 1, "text": "a  b", "url": "u"}]


@dataclass
class Reciprocal(TextRewriter):
    def rewrite(self, text: str) -> str:
        return "\ud800" if text == "half" else str(1 / int(text))


def test_text_that_fails_is_quarantined_alone() -> None:
    rows = [{"text": text} for text in ("4", "0", None, "half", "2")]
    run = run_stages([Reciprocal()], [DocumentBatch.from_pylist(rows)], on_error="quarantine")
    [left] = run.outputs
    assert [row["text"] for row in left.to_pylist()] == ["0.25", None, "0.5"]
    assert run.counts.items_rejected == 2
    [first, second] = run.report.quarantined
    assert first.reason.startswith("ZeroDivisionError: division by zero (test_base.py:")
    assert first.where.startswith("row 1 of ")
    assert "surrogates not allowed" in second.reason


def test_quarantined_record_is_complete() -> None:
    batch = DocumentBatch.from_pylist([{"id": 1, "text": "0"}, {"id": 2, "text": "1"}])
    run = run_stages([Reciprocal()], [batch], on_error="quarantine")
    subtask = run.report.quarantined[0].subtask
    assert subtask is not None
    assert DocumentBatch.from_payload(subtask).to_pylist() == [{"id": 1, "text": "0"}]


@dataclass
class Counting(TextRewriter):
    def rewrite(self, text: str) -> str:
        return len(text)  # type: ignore[return-value]


def test_modifier_must_return_a_text() -> None:
    expected = "rewrite returned 3, but must return a text"
    with pytest.raises(StageError, match=expected):
        run_stage(Counting(), DocumentBatch.from_pylist([{"text": "abc"}]))


@every_modifier
def test_invalid_utf8_is_quarantined_alone(stage: TextModifier | TextRewriter) -> None:
    raw = pa.array([b"One.", b"\xff\xfe", None]).view(pa.string())
    run = run_stages([stage], [DocumentBatch(pa.table({"text": raw}))], on_error="quarantine")
    [left] = run.outputs
    assert [row["text"] for row in left.to_pylist()] == texts_after(stage, ["One.", None])  # type: ignore[attr-defined]
    [record] = run.report.quarantined
    assert record.where.startswith("row 1 of ")
    assert "'utf-8' codec can't decode byte 0xff" in record.reason
