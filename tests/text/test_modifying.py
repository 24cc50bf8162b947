import pytest
from curator_core import DocumentBatch
from curator_text import NewlineNormalizer, TextModifier, UnicodeNormalizer, WhitespaceNormalizer


def modified(stage: TextModifier, text: str | None) -> str | None:
    batch = stage.process(DocumentBatch.from_pylist([{"text": text}, {"text": "other"}]))
    [row, _] = batch.to_pylist()
    return row["text"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a\r\nb\rc\nd", "a\nb\nc\nd"),
        ("a\n\nb", "a\n\nb"),
        ("a\n\n\n\n\nb", "a\n\nb"),
        ("a\r\n\r\n\r\nb", "a\n\nb"),
    ],
)
def test_newlines(text: str, clean: str) -> None:
    assert modified(NewlineNormalizer(), text) == clean


def test_unicode_forms() -> None:
    assert modified(UnicodeNormalizer(), "cafe\u0301 \ufb01") == "caf\u00e9 \ufb01"
    assert modified(UnicodeNormalizer("NFKC"), "\ufb01\uff21") == "fiA"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a  b\t\tc", "a b c"),
        ("a\u00a0\u2003b\u200bc\ufeff", "a b c"),
        ("  a  \n   b  \n\n c ", "a\nb\n\nc"),
        (" \n ", ""),
        ("好\u3000的", "好 的"),
    ],
)
def test_white_space(text: str, clean: str) -> None:
    assert modified(WhitespaceNormalizer(), text) == clean


@pytest.mark.parametrize("kind", [NewlineNormalizer, UnicodeNormalizer, WhitespaceNormalizer])
def test_a_missing_text_stays_missing(kind: type[TextModifier]) -> None:
    assert modified(kind(), None) is None


def test_the_other_columns_and_the_given_batch_stay_as_they_are() -> None:
    batch = DocumentBatch.from_pylist([{"id": 1, "text": "a  b", "url": "u"}])
    changed = WhitespaceNormalizer().process(batch)
    assert changed.to_pylist() == [{"id": 1, "text": "a b", "url": "u"}]
    assert changed.columns() == ("id", "text", "url")
    assert batch.to_pylist() == [{"id": 1, "text": "a  b", "url": "u"}]
